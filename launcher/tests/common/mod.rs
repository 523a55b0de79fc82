//! A temporary folder for each test, the binary running in it, and a simulator process.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    time::{Duration, SystemTime},
};

use document::ReportDocument;
use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::{Field, Row},
};
use rustix::process::{Pid, Signal, kill_process};

/// The beginning of every BenchmarkRun file in the tests.
pub const HEAD: &str = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: chat}\n";

/// A profile with this rate in requests per second, for this number of seconds, with short prompts and answers.
pub fn profile(rate: u32, seconds: u32) -> String {
    format!(
        "{{load: {{type: constant, stages: [{{rate: {rate}, duration: {seconds}}}]}}, \
          api: {{type: completion, streaming: true}}, \
          data: {{type: random, input_distribution: {{min: 10, max: 30, mean: 20, std_dev: 5}}, \
                  output_distribution: {{min: 5, max: 15, mean: 10, std_dev: 2}}}}}}"
    )
}

/// Disables the limits on how late the launcher may be, because a machine that runs tests is busy.
pub const LATE: &str = "  validity: {maxSendLagP99Milliseconds: 60000, maxReceiveDelayP99Milliseconds: 60000, \
                    maxCpuShare: '1', maxThrottledShare: '1', maxStealShare: '1', maxCoalescedReadShare: '1', \
                    maxStalledShare: '1', maxClockStepMilliseconds: 86400000}\n";

/// A run file for a profile with the embedded simulator as its target.
pub fn simulated(profile: &str) -> String {
    let target = "{simulator: {preset: Tiny}}";
    format!("{HEAD}spec:\n  target: {target}\n  profile: {{inline: {}}}\n{LATE}", json(profile))
}

/// A run file for a profile with a URL as its target.
pub fn at(url: &str, ready_seconds: u32, profile: &str) -> String {
    let target = format!("{{url: '{url}', readiness: {{timeoutSeconds: {ready_seconds}}}}}");
    format!("{HEAD}spec:\n  target: {target}\n  profile: {{inline: {}}}\n{LATE}", json(profile))
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A temporary folder that is deleted when the test ends.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    pub fn benchwright(&self, arguments: &[&str]) -> assert_cmd::Command {
        assert_cmd::Command::from_std(self.command(arguments))
    }

    /// Starts the binary, and leaves it running. Its standard output is discarded.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        Running { child, stderr, seen: String::new() }
    }

    /// Returns the report.json of the latest run. Checks that reading the file and writing it again results in the same bytes.
    pub fn report(&self) -> serde_json::Value {
        let text = fs::read_to_string(self.path("results/latest/report.json")).unwrap();
        let mut again = Vec::new();
        ReportDocument::read(&text).unwrap().write(&mut again).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), text);
        serde_json::from_str(&text).unwrap()
    }

    /// Returns the number of requests of the latest run that each server received, according to requests.parquet.
    pub fn requests_by_replica(&self) -> Vec<u64> {
        let file = fs::File::open(self.path("results/latest/requests.parquet")).unwrap();
        let mut counts = Vec::new();
        for row in SerializedFileReader::new(file).unwrap().get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let Some((_, Field::Long(replica))) = row.get_column_iter().find(|(name, _)| *name == "replica") else {
                continue;
            };
            let replica = usize::try_from(*replica).unwrap();
            counts.resize(counts.len().max(replica + 1), 0);
            counts[replica] += 1;
        }
        counts
    }

    /// Returns, for each request of the latest run, when it was due (in nanoseconds after the first) and the prompt and output lengths that it
    /// requested.
    pub fn plan(&self) -> Vec<[i64; 3]> {
        let file = fs::File::open(self.path("results/latest/requests.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let number = |field: &Field| match field {
            Field::Int(it) => i64::from(*it),
            Field::UInt(it) => i64::from(*it),
            Field::Long(it) => *it,
            Field::ULong(it) => i64::try_from(*it).unwrap(),
            other => panic!("no number: {other:?}"),
        };
        let row = |row: Row| {
            ["scheduled_ns", "asked_input_tokens", "asked_output_tokens"].map(|name| {
                row.get_column_iter().find(|(column, _)| *column == name).map(|(_, it)| number(it)).unwrap()
            })
        };
        let mut rows: Vec<[i64; 3]> = reader.get_row_iter(None).unwrap().map(|it| row(it.unwrap())).collect();
        rows.sort_unstable();
        let first = rows[0][0];
        rows.iter_mut().for_each(|it| it[0] -= first);
        rows
    }
}

/// A launcher that was started, and what it has written to standard error so far.
pub struct Running {
    child: Child,
    stderr: ChildStderr,
    pub seen: String,
}

impl Running {
    /// Waits until standard error contains these words.
    pub fn wait_for(&mut self, words: &str) {
        let mut buffer = [0; 1024];
        while !self.seen.contains(words) {
            let read = self.stderr.read(&mut buffer).unwrap();
            assert!(read > 0, "it ended early: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    }

    /// Ends the process with SIGTERM, like Kubernetes, and returns its exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.stderr.read_to_string(&mut self.seen).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Running {
    /// Kills the process, and waits for its end. Processes that it has started live on.
    pub fn kill(&mut self) {
        // The process may have ended already. This is not an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns a port on which nothing listened just before.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Adds the folder of a run that finished some days ago to the results.
pub fn put_finished(results: &Path, name: &str, days_ago: u32) {
    let folder = results.join(name);
    fs::create_dir_all(&folder).unwrap();
    let report = folder.join("report.json");
    fs::write(&report, "{\n  \"format\": \"benchwright.dev/report/v1\"").unwrap();
    let finished = SystemTime::from(clock::now()) - Duration::from_secs(86_400) * days_ago;
    fs::File::options().write(true).open(&report).unwrap().set_modified(finished).unwrap();
}

/// A simulator in a process of its own. It ends with the test.
pub struct Sim {
    child: Child,
    pub url: String,
}

impl Sim {
    /// Starts the simulator on a free port. The first line on its stdout contains the URL.
    pub fn start(arguments: &[&str]) -> Sim {
        let mut child = Command::new(env!("CARGO_BIN_EXE_benchwright"))
            .args(["sim", "--port", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|it| it.starts_with("http://")).expect("it prints its URL").to_owned();
        Sim { child, url }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // The process may have ended already. This is not an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
