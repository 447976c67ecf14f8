//! The `construct.json` of many units, of which most are alike: ranks and steps of one model list the
//! same calls, byte for byte. So what was made of the last few is kept, and what is read is compared
//! with it before anything is made of it again.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::source::{Finding, Host, ReadError};

use super::construct_json::Construct;
use super::feed::Feed;
use super::micro_step::MicroSteps;

/// How many different files are kept: the stages of a pipeline have one each.
const KEPT: usize = 4;

/// Size of the largest file that is kept, and of all together, in bytes. What is made of them takes about
/// twice as much.
const MOST_BYTES: u64 = 4 << 20;
const MOST_BYTES_KEPT: usize = 8 << 20;

/// What was made of the files that were read last.
#[derive(Debug, Default)]
pub(super) struct Constructs {
    known: Mutex<Vec<Arc<Known>>>,
}

#[derive(Debug)]
struct Known {
    bytes: Vec<u8>,
    steps: Arc<MicroSteps>,
}

/// The micro-steps of a file, and the faults of single keys.
pub(super) type Placed = (Arc<MicroSteps>, Vec<Finding>);

impl Constructs {
    /// Reads a file. What makes it unusable is a finding.
    ///
    /// # Errors
    /// When the host stops the reading.
    pub(super) fn read(&self, path: &Path, host: &dyn Host) -> Result<Result<Placed, Finding>, ReadError> {
        let mut feed = match Feed::open(path, host) {
            Ok(feed) => feed,
            Err(e) => return Ok(Err(e.into_finding(path)?)),
        };
        let mut bytes = None;
        if feed.len() <= MOST_BYTES {
            let whole = match feed.whole(host) {
                Ok(whole) => whole,
                Err(e) => return Ok(Err(e.into_finding(path)?)),
            };
            if let Some(known) = self.find(whole) {
                host.reserve(known.allocated())?;
                return Ok(Ok((known, Vec::new())));
            }
            bytes = Some(whole.to_vec());
        }
        let construct = match Construct::read(&mut feed, path, host)? {
            Ok(construct) => construct,
            Err(finding) => return Ok(Err(finding)),
        };
        let (steps, faults) = MicroSteps::new(construct, path);
        host.reserve(steps.allocated())?;
        let steps = Arc::new(steps);
        // What is to be said about a file names it, so a file with something to say is not kept.
        if let Some(bytes) = bytes
            && faults.is_empty()
            && !steps.is_marked()
        {
            self.keep(bytes, &steps);
        }
        Ok(Ok((steps, faults)))
    }

    fn find(&self, bytes: &[u8]) -> Option<Arc<MicroSteps>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.iter().find(|known| known.bytes == bytes).map(|known| Arc::clone(&known.steps))
    }

    fn keep(&self, bytes: Vec<u8>, steps: &Arc<MicroSteps>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have read an equal one at the same time.
        if known.iter().all(|known| known.bytes != bytes) {
            known.insert(0, Arc::new(Known { bytes, steps: Arc::clone(steps) }));
            let mut total = 0;
            known.retain(|known| {
                total += known.bytes.len();
                total <= MOST_BYTES_KEPT
            });
            known.truncate(KEPT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::micro_step::Found;
    use super::super::quiet::Quiet;
    use super::*;

    #[test]
    fn files_that_are_alike_are_read_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let constructs = Constructs::default();
        let read = |path: &Path| constructs.read(path, &Quiet).expect("not stopped").expect("readable");
        let one = read(&file("1", r#"{"Module.a.0": null, "T.b.0": "Module.a.0"}"#)).0;
        let same = read(&file("2", r#"{"Module.a.0": null, "T.b.0": "Module.a.0"}"#)).0;
        assert!(Arc::ptr_eq(&one, &same));
        // Of the same length, but with another parent.
        let other = read(&file("3", r#"{"Module.a.0": null, "T.b.0": "Module.a.1"}"#)).0;
        assert_eq!(one.find("T.b.0"), Found::At { micro: 0, index: 0 });
        assert_eq!(other.find("T.b.0"), Found::Rootless);
        // What is wrong with a file is told each time, and under its own name.
        let circle = r#"{"a": "b", "b": "a"}"#;
        for name in ["4", "5"] {
            let path = file(name, circle);
            let faults = read(&path).1;
            assert!(!faults.is_empty() && faults.iter().all(|f| f.file == path));
        }
        // Only the last few are kept, and the first one is read again then.
        (10..20).for_each(|n| drop(read(&file("6", &format!(r#"{{"Module.a.{n}": null}}"#)))));
        let again = read(&dir.path().join("1")).0;
        assert!(!Arc::ptr_eq(&one, &again));
        assert_eq!(again.find("T.b.0"), Found::At { micro: 0, index: 0 });
    }
}
