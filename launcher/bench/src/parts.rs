//! The work of this bench's child processes, as JSON: a part of a trial, or one of two further tasks. Pure.

use std::path::PathBuf;

use capacity::child_messages;
use serde::{Deserialize, Serialize};

/// The work of a child process. It is the argument of a hidden subcommand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Run a load with the bare hyper client.
    Bare(BareSpec),
    /// Write the report of a run.
    Report(ReportSpec),
    /// Do a part of a trial.
    #[serde(untagged)]
    Trial(child_messages::Part),
}

/// A closed loop for the bare client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BareSpec {
    /// The port of the server.
    pub port: u16,
    /// Number of connections. Each always has one request in flight.
    pub streams: u32,
    /// Number of requests on each connection.
    pub rounds: u32,
    /// Number of tokens in each answer.
    pub tokens: u32,
    /// The core on which the process runs; `None` for any core.
    pub core: Option<usize>,
}

/// A report that is to be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportSpec {
    /// The path of a BenchmarkRun file.
    pub file: PathBuf,
    /// The folder for the report.
    pub folder: PathBuf,
    /// Number of requests in the report.
    pub requests: u64,
}

/// The result of writing a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportResult {
    /// Time from the end of the load to the complete results folder.
    pub wall_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use capacity::{child_messages::EngineSpec, loads, server::Pace};
    use measurement::recorder::Keep;

    fn check(part: Part) {
        let text = serde_json::to_string(&part).unwrap();
        assert_eq!(crds::json::read::<Part>(&text).unwrap(), part, "{text}");
    }

    #[test]
    fn a_part_is_read_as_it_was_written() {
        check(Part::Bare(BareSpec { port: 1, streams: 2, rounds: 3, tokens: 4, core: Some(0) }));
        check(Part::Report(ReportSpec { file: "run.yaml".into(), folder: "reports".into(), requests: 5 }));
        check(Part::Trial(child_messages::Part::Server(child_messages::ServerSpec {
            pace: Pace::default(),
            core: None,
        })));
        let workload = loads::closed(2, 4, 8);
        let spec = EngineSpec { port: 1, workload, keep: Keep::Records, run: None, threads: 1, core: Some(1) };
        check(Part::Trial(child_messages::Part::Engine(Box::new(spec))));
    }
}
