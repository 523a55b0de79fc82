//! [I/O] The profiler of the simulated server. Writes a trace in PyTorch's format, with one range from start to stop. The trace contains no kernels,
//! because the simulator computes nothing.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

/// The current recording, if any.
#[derive(Debug, Default)]
pub(super) struct Profiler(Mutex<Option<Begun>>);

#[derive(Clone, Copy, Debug)]
struct Begun {
    at: Duration,
    wall: jiff::Timestamp,
    /// Number of requests before the recording began.
    requests: u64,
}

impl Profiler {
    /// Starts a recording. Has no effect if one is already running, as in vLLM.
    pub(super) fn start(&self, requests: u64) {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        begun.get_or_insert_with(|| Begun { at: clock::monotonic(), wall: clock::now(), requests });
    }

    /// Stops the recording, and writes the trace into the folder, which is created if it is missing. Has no effect if there is no recording.
    pub(super) fn stop(&self, folder: &Path, requests: u64) -> io::Result<()> {
        let Some(begun) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        let length = clock::monotonic().saturating_sub(begun.at);
        let event = json!({
            "ph": "X", "cat": "user_annotation", "name": "simulated engine", "pid": 0, "tid": 0,
            "ts": begun.wall.as_microsecond(), "dur": length.as_micros(),
            "args": {"requests": requests.saturating_sub(begun.requests)},
        });
        let trace = json!({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [event]});
        fs::create_dir_all(folder)?;
        let name = format!("simulator.{}.pt.trace.json", begun.wall.as_nanosecond());
        fs::write(folder.join(name), trace.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_of_the_time_between_start_and_stop() {
        let folder = std::env::temp_dir().join(format!("benchwright-profiler-{}", std::process::id()));
        let profiler = Profiler::default();
        profiler.stop(&folder, 1).unwrap();
        assert!(!folder.exists(), "nothing was recorded");
        profiler.start(3);
        profiler.start(5);
        profiler.stop(&folder, 10).unwrap();
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
        let trace: serde_json::Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!(trace["traceEvents"][0]["args"]["requests"], 7);
        assert_eq!(trace["traceEvents"].as_array().unwrap().len(), 1);
    }
}
