//! [I/O] Measures what a user waits for: the first request and the report, and the size of the binary, which must be downloaded.

use std::{fs, time::Duration};

use super::setup::Bench;
use crate::{
    error::BenchError,
    figures::{Budget, Figures, count, median},
    parts::{Part, ReportResult, ReportSpec},
    program,
};
use capacity::{
    child_messages::ServerSpec,
    children::{self, Server},
    server::Pace,
};

/// Number of starts that are measured, and of reports. Each figure is the median.
const TRIES: usize = 5;
/// Time limit for a start or a report.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let starts = (0..TRIES).map(|_| first_request(bench)).collect::<Result<Vec<_>, _>>()?;
    let title = "start of the process to the first request, readiness probe included";
    figures.add("start.firstRequest", title, "ms", median(&starts), Budget::at_most(500.0, 50.0));
    let requests = bench.scale.report;
    let reports = (0..TRIES).map(|_| report(bench, requests)).collect::<Result<Vec<_>, _>>()?;
    let title = format!("report of {} requests, all files", count(requests));
    figures.add(&format!("report{requests}"), &title, "ms", median(&reports), Budget::at_most(2_000.0, 200.0));
    if !cfg!(debug_assertions) {
        let bytes = fs::metadata(&bench.program)?.len();
        figures.add("binary", "the binary", "MB", bytes as f64 / 1e6, Budget::at_most(27.0, 20.0));
    }
    Ok(())
}

/// The time from the start of `benchwright run` until its first request arrives, in milliseconds.
fn first_request(bench: &Bench) -> Result<f64, BenchError> {
    let server = Server::start(ServerSpec { pace: Pace::default(), core: bench.cores.server })?;
    let file = bench.folder.join("run.yaml");
    fs::write(&file, run_file(server.port))?;
    let begun = clock::monotonic();
    let arguments = ["run", "--no-results", "--plain", "-f", &file.display().to_string()];
    program::run(&bench.program, &arguments, LIMIT)?;
    let truth = server.end()?;
    let [first] = truth.requests.as_slice() else {
        return Err(BenchError::Program(format!("a run of one request sent {}", truth.requests.len())));
    };
    Ok(Duration::from_nanos(first.arrived_ns).saturating_sub(begun).as_secs_f64() * 1e3)
}

/// The time to write a report, in milliseconds.
fn report(bench: &Bench, requests: u64) -> Result<f64, BenchError> {
    let file = bench.folder.join("run.yaml");
    fs::write(&file, run_file(1))?;
    let spec = ReportSpec { file, folder: bench.folder.join("reports"), requests };
    let result: ReportResult = children::run(&Part::Report(spec), LIMIT)?;
    Ok(result.wall_ns as f64 / 1e6)
}

/// A BenchmarkRun with a single request, which is sent immediately.
fn run_file(port: u16) -> String {
    format!(
        "apiVersion: benchwright.dev/v1alpha1\n\
         kind: BenchmarkRun\n\
         metadata: {{name: bench}}\n\
         spec:\n  \
           target: {{url: 'http://127.0.0.1:{port}'}}\n  \
           validity: {{maxSendLagP99Milliseconds: 60000}}\n  \
           profile:\n    \
             inline: |\n      \
               load: {{type: concurrent, stages: [{{concurrency_level: 1, num_requests: 1}}]}}\n      \
               api: {{type: completion, streaming: true}}\n      \
               data: {{type: random, input_distribution: {{min: 10, max: 10, mean: 10, std_dev: 0}}, \
                       output_distribution: {{min: 4, max: 4, mean: 4, std_dev: 0}}}}\n"
    )
}
