//! The file beside a target, as the place that DataFusion writes to.
//!
//! DataFusion's own store for files writes under another name, and renames at the end, on a thread that
//! nobody stops: when the writing is given up at that moment, the file appears after all was cleaned up.
//! This one writes through a handle, so that whoever comes late writes to a file that is gone.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::TaskContext;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};

use super::{SinkError, StagedFile};

/// A store with one file, whatever the path.
#[derive(Debug)]
pub(super) struct StagedStore {
    handle: Handle,
}

/// The handle of the file. Clones are the same.
#[derive(Debug, Clone)]
struct Handle {
    written: Arc<Mutex<Written>>,
    /// The target, which errors name.
    target: Arc<std::path::Path>,
}

#[derive(Debug)]
struct Written {
    file: File,
    /// Why the first write failed that did.
    failure: Option<SinkError>,
}

/// Tells why a write failed, of which what DataFusion says may not be more than that one did.
#[derive(Debug)]
pub(super) struct WriteFailure(Handle);

impl WriteFailure {
    /// The error of the first write that failed, once.
    pub(super) fn take(&self) -> Option<SinkError> {
        self.0.lock().failure.take()
    }
}

impl StagedStore {
    /// Of a file that is being written.
    ///
    /// # Errors
    /// When the system has no more handles.
    pub(super) fn new(staged: &StagedFile) -> Result<Self, SinkError> {
        let written = Arc::new(Mutex::new(Written { file: staged.handle()?, failure: None }));
        Ok(Self { handle: Handle { written, target: staged.target().into() } })
    }

    /// Where to ask when something fails.
    pub(super) fn failure(&self) -> WriteFailure {
        WriteFailure(self.handle.clone())
    }

    /// A context that differs from another one in that what is written to an address goes here.
    pub(super) fn in_place_of(self, url: &ListingTableUrl, context: &TaskContext) -> Arc<TaskContext> {
        let stores = DefaultObjectStoreRegistry::new();
        stores.register_store(url.get_url(), Arc::new(self));
        let runtime =
            RuntimeEnv { object_store_registry: Arc::new(stores), ..context.runtime_env().as_ref().clone() };
        Arc::new(TaskContext::new(
            context.task_id(),
            context.session_id(),
            context.session_config().clone(),
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            Arc::new(runtime),
        ))
    }
}

impl fmt::Display for StagedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file beside its target")
    }
}

#[async_trait]
impl ObjectStore for StagedStore {
    async fn put_opts(&self, _: &Path, payload: PutPayload, _: PutOptions) -> Result<PutResult> {
        self.handle.clone().write_at(0, payload).await?;
        Ok(WRITTEN)
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Ok(Box::new(Parts { handle: self.handle.clone(), end: 0 }))
    }

    async fn get_opts(&self, _: &Path, _: GetOptions) -> Result<GetResult> {
        Err(only_written("get"))
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        stream::once(async { Err(only_written("delete")) }).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::once(async { Err(only_written("list")) }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(only_written("list"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(only_written("copy"))
    }
}

/// What there is to say of a file that was written.
const WRITTEN: PutResult = PutResult { e_tag: None, version: None };

fn only_written(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.to_owned(), implementer: "StagedStore".to_owned() }
}

/// A file that is written in parts, each behind the one before.
#[derive(Debug)]
struct Parts {
    handle: Handle,
    end: u64,
}

#[async_trait]
impl MultipartUpload for Parts {
    fn put_part(&mut self, part: PutPayload) -> UploadPart {
        let start = self.end;
        self.end += part.content_length() as u64;
        self.handle.clone().write_at(start, part).boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        Ok(WRITTEN)
    }

    async fn abort(&mut self) -> Result<()> {
        // The file goes with whoever has it.
        Ok(())
    }
}

impl Handle {
    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes on a thread that may block.
    async fn write_at(self, start: u64, data: PutPayload) -> Result<()> {
        let write = move || {
            let Written { file, failure } = &mut *self.lock();
            let done = file.seek(SeekFrom::Start(start));
            let done = done.and_then(|_| data.iter().try_for_each(|piece| file.write_all(piece)));
            done.map_err(|e| {
                let kind = e.kind();
                failure.get_or_insert(SinkError::io(&self.target, "write it")(e));
                kind.into()
            })
        };
        let done = match tokio::task::spawn_blocking(write).await {
            Ok(done) => done,
            Err(e) => Err(io::Error::other(e)),
        };
        done.map_err(|e| Error::Generic { store: "file", source: Box::new(e) })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use datafusion::object_store::ObjectStoreExt;

    use super::*;

    fn staged(target: &std::path::Path) -> (StagedFile, StagedStore) {
        let staged = StagedFile::create(target).expect("created");
        let store = StagedStore::new(&staged).expect("a handle");
        (staged, store)
    }

    #[tokio::test]
    async fn parts_come_one_behind_the_other() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("x.csv");
        let (staged, store) = staged(&target);
        let mut parts = store.put_multipart(&Path::from("any")).await.expect("begun");
        let (first, second) = (parts.put_part("one, ".into()), parts.put_part("two".into()));
        // Whichever is written first.
        second.await.expect("written");
        first.await.expect("written");
        parts.complete().await.expect("complete");
        staged.publish().expect("published");
        assert_eq!(fs::read_to_string(&target).expect("there"), "one, two");
    }

    #[tokio::test]
    async fn who_writes_after_it_was_given_up_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let (staged, store) = staged(&dir.path().join("x.csv"));
        let mut parts = store.put_multipart(&Path::from("any")).await.expect("begun");
        drop(staged);
        parts.put_part("late".into()).await.expect("written to what is gone");
        parts.complete().await.expect("complete");
        store.put(&Path::from("any"), "later".into()).await.expect("written to what is gone");
        assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 0);
    }
}
