//! The file formats of DataFusion, written so that a file is there as a whole or not at all.
//!
//! Left to itself DataFusion completes the file when the rows end, also when they end with an error: a
//! COPY that fails in the middle would replace a good file by half of a new one.

use std::collections::HashMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, GetExt, Result, Statistics, internal_err};
use datafusion::datasource::file_format::arrow::{ArrowFormat, ArrowFormatFactory};
use datafusion::datasource::file_format::csv::{CsvFormat, CsvFormatFactory};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::{JsonFormat, JsonFormatFactory};
use datafusion::datasource::file_format::parquet::ParquetFormatFactory;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::{FileOutputMode, FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::{LexOrdering, LexRequirement};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, TryStreamExt};

use super::arrange::in_fixed_order;
use super::losses::{Losses, Lossy};
use super::own_texts::with_own_texts;
use super::staged_store::StagedStore;
use super::{SinkError, StagedFile};

/// The formats of DataFusion that can be written, each as a whole file or none.
pub fn whole_file_formats() -> Vec<Arc<dyn FileFormatFactory>> {
    let inner: [Arc<dyn FileFormatFactory>; 4] = [
        Arc::new(CsvFormatFactory::new()),
        Arc::new(JsonFormatFactory::new()),
        Arc::new(ParquetFormatFactory::new()),
        Arc::new(ArrowFormatFactory::new()),
    ];
    inner.into_iter().map(|inner| Arc::new(WholeFileFactory { inner }) as _).collect()
}

/// Makes a [`WholeFile`] of what another factory makes.
#[derive(Debug)]
struct WholeFileFactory {
    inner: Arc<dyn FileFormatFactory>,
}

impl GetExt for WholeFileFactory {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }
}

impl FileFormatFactory for WholeFileFactory {
    fn create(&self, state: &dyn Session, options: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        Ok(Arc::new(WholeFile { inner: self.inner.create(state, options)? }))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(WholeFile { inner: FileFormatFactory::default(self.inner.as_ref()) })
    }
}

/// A format that is read as ever. One file is written beside its target, and takes its place at the end;
/// its rows have the order of the files that they come from, where the query works row by row.
#[derive(Debug)]
struct WholeFile {
    inner: Arc<dyn FileFormat>,
}

#[async_trait]
impl FileFormat for WholeFile {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.inner.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.inner.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.inner.infer_schema(state, store, objects).await
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        self.inner.infer_stats(state, store, schema, object).await
    }

    async fn infer_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        self.inner.infer_ordering(state, store, schema, object).await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.create_physical_plan(state, config).await
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        mut config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(target) = single_file(&config) else {
            return self.inner.create_writer_physical_plan(input, state, config, order).await;
        };
        let (input, order) = in_fixed_order(input, order)?;
        let url = without_glob(&config, &target)?;
        config.table_paths = vec![url.clone()];
        config.file_output_mode = FileOutputMode::SingleFile;
        let writer =
            self.inner.create_writer_physical_plan(Arc::clone(&input), state, config, order.clone()).await?;
        let metrics = ExecutionPlanMetricsSet::new();
        let own_texts = self.inner.downcast_ref::<ArrowFormat>().is_some();
        let sink = WholeFileSink { writer, target, url, lossy: self.lossy(), own_texts, metrics };
        sink.inner()?;
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), order)))
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        self.inner.file_source(schema)
    }
}

impl WholeFile {
    /// What the format cannot say.
    fn lossy(&self) -> Option<Lossy> {
        if let Some(csv) = self.inner.downcast_ref::<CsvFormat>() {
            // With another text for NULL it can.
            return csv
                .options()
                .null_value
                .as_deref()
                .unwrap_or_default()
                .is_empty()
                .then_some(Lossy::EmptyTexts);
        }
        self.inner.downcast_ref::<JsonFormat>().map(|_| Lossy::Nonfinite)
    }
}

/// The local file that is to be written, if it is one.
fn single_file(config: &FileSinkConfig) -> Option<PathBuf> {
    let [url] = config.table_paths.as_slice() else { return None };
    if url.scheme() != "file" || !config.table_partition_cols.is_empty() {
        return None;
    }
    if url.get_glob().is_none() {
        let one = config.file_output_mode.single_file_output(url);
        return one.then(|| url.get_url().to_file_path().ok()).flatten();
    }
    // Brackets and stars choose files to read; the name of a file to write just has them. DataFusion would
    // write into the directory in front of them, under a name of its own.
    let path = Path::new(&config.original_url);
    let one = match config.file_output_mode {
        FileOutputMode::SingleFile => true,
        FileOutputMode::Directory => false,
        FileOutputMode::Automatic => !config.original_url.ends_with('/') && path.extension().is_some(),
    };
    one.then(|| std::path::absolute(path).ok()).flatten()
}

/// The address of the target, in which nothing chooses files.
fn without_glob(config: &FileSinkConfig, target: &Path) -> Result<ListingTableUrl> {
    let Some(url) = config.table_paths.first() else { return internal_err!("no target") };
    let mut url = url.get_url().clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        let names = target.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        });
        segments.clear().extend(names);
    }
    ListingTableUrl::try_new(url, None)
}

/// Lets another sink write a staged file, and publishes it.
#[derive(Debug)]
struct WholeFileSink {
    /// A [`DataSinkExec`] that writes to the address; only its sink is used.
    writer: Arc<dyn ExecutionPlan>,
    target: PathBuf,
    url: ListingTableUrl,
    /// What the format cannot say.
    lossy: Option<Lossy>,
    /// Whether the format writes columns as they are, with all that they share with others.
    own_texts: bool,
    metrics: ExecutionPlanMetricsSet,
}

impl WholeFileSink {
    fn inner(&self) -> Result<&dyn DataSink> {
        match self.writer.downcast_ref::<DataSinkExec>() {
            Some(writer) => Ok(writer.sink()),
            None => internal_err!("expected a sink, got {}", self.writer.name()),
        }
    }
}

impl DisplayAs for WholeFileSink {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().map_err(|_| fmt::Error)?.fmt_as(kind, f)
    }
}

#[async_trait]
impl DataSink for WholeFileSink {
    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.inner().ok()?.metrics().unwrap_or_default();
        for metric in self.metrics.clone_inner().iter() {
            metrics.push(Arc::clone(metric));
        }
        Some(metrics)
    }

    fn schema(&self) -> &SchemaRef {
        match self.inner() {
            Ok(inner) => inner.schema(),
            Err(_) => self.writer.properties().equivalence_properties().schema(),
        }
    }

    async fn write_all(&self, data: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let target = self.target.clone();
        // When this fails, or is given up, the staged file goes with it.
        let file = blocking(move || StagedFile::create(&target)).await?;
        let store = StagedStore::new(&file).map_err(external)?;
        let failure = store.failure();
        let context = &store.in_place_of(&self.url, context);
        let losses = self.lossy.map(|kind| Arc::new(Mutex::new(Losses::new(kind))));
        let data = match &losses {
            Some(losses) => watched(data, Arc::clone(losses)),
            None => data,
        };
        let data = if self.own_texts { apart(data) } else { data };
        let written = self.inner()?.write_all(data, context).await;
        let rows = written.map_err(|e| failure.take().map_or(e, external))?;
        // Whatever the writer made of it, what was not written must not be published.
        if let Some(failure) = failure.take() {
            return Err(external(failure));
        }
        blocking(move || file.publish()).await?;
        if let Some(losses) = losses {
            let (name, count) = losses.lock().unwrap_or_else(PoisonError::into_inner).remark();
            if count > 0 {
                MetricBuilder::new(&self.metrics).counter(name, 0).add(count);
            }
        }
        Ok(rows)
    }
}

/// The same rows; what is lost of them is counted as they go by.
fn watched(data: SendableRecordBatchStream, losses: Arc<Mutex<Losses>>) -> SendableRecordBatchStream {
    let schema = data.schema();
    let rows = data.inspect_ok(move |batch| {
        losses.lock().unwrap_or_else(PoisonError::into_inner).add(batch);
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// The same rows, each batch with its own texts only.
fn apart(data: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let schema = data.schema();
    let rows = data.map(|batch| Ok(with_own_texts(&batch?)?));
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// Works on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SinkError> + Send + 'static,
) -> Result<T> {
    let done = SpawnedTask::spawn_blocking(work).join().await;
    let done = done.map_err(|e| DataFusionError::ExecutionJoin(Box::new(e)))?;
    done.map_err(external)
}

fn external(error: SinkError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
