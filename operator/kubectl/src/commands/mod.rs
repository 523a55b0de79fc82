//! One file per command.

pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod gate;
pub(crate) mod logs;
pub(crate) mod modelservice;
pub(crate) mod release;
pub(crate) mod rerun;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod wait;

use std::path::{Path, PathBuf};

use clap::Args;
use crds::{BenchmarkRun, Reason, benchmark_run::GROUP, status::ConditionStatus, units::Span, wording::one_line};
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use crate::{
    connection::Connection,
    console,
    deadline::Deadline,
    failure::{self, Failure, Right},
    follow, junit_file, table,
};

pub(crate) const GET_RUN: Right = Right::new("get", GROUP, "benchmarkruns", "view");
pub(crate) const CREATE_RUN: Right = Right::new("create", GROUP, "benchmarkruns", "edit");

/// Flags of the commands that follow a run to its end.
#[derive(Args, Clone, Debug)]
pub(crate) struct FollowArgs {
    /// Maximum time to wait for the end, such as 90s, 45m or 2h; then the exit code is 124, and the run continues [default: no limit]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Write validity and objectives as JUnit XML, which CI systems display
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
}

/// Which results are accepted.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct TrustArgs {
    /// Accept unverified figures: measured by a custom image, read from a results folder, or restored
    #[arg(long)]
    allow_unverified: bool,
}

impl FollowArgs {
    /// Starts the timer of `--timeout`. Checks for problems that would otherwise appear only after the end of the run.
    pub(crate) fn begin(&self) -> Result<Deadline, Failure> {
        if let Some(path) = &self.junit {
            junit_file::check(path)?;
        }
        Ok(Deadline::after(self.timeout.map(|it| it.0)))
    }

    /// Waits for the end, prints the figures, and returns the exit code.
    pub(crate) async fn follow(
        &self,
        connection: &Connection,
        name: &str,
        uid: Option<&str>,
        deadline: &Deadline,
    ) -> Result<u8, Failure> {
        let run = follow::follow(connection, name, uid, deadline).await?;
        console::print(table::text(&run));
        Ok(code(&run, self.trust, self.junit.as_deref()))
    }
}

/// Returns why the figures of a run are unverified. `None` if the operator's own image measured them. Statuses from older releases lack the condition
/// Verified. Then the run's reason and its `launcher.image` decide.
fn unverified(run: &BenchmarkRun) -> Option<String> {
    let status = run.status.as_ref()?;
    match status.conditions.iter().find(|it| it.kind == "Verified") {
        Some(it) if it.status == ConditionStatus::True => None,
        Some(it) => Some(format!("{}: {}", it.reason, it.message)),
        None if status.reason == Reason::Restored => Some(Reason::Restored.to_string()),
        None => run.spec.launcher.image.as_ref().map(|it| format!("the run names the image {it}")),
    }
}

/// Returns the exit code of a finished run. If `junit` is set, also writes the run's JUnit test cases. If the file cannot be written, the error is
/// printed, and the exit code changes only if the run passed.
pub(crate) fn code(run: &BenchmarkRun, trust: TrustArgs, junit: Option<&Path>) -> u8 {
    let outcome = run.status.as_ref().and_then(|it| it.outcome);
    let mut code = outcome.map_or(failure::ERROR, |it| it.gate_code());
    if let Some(why) = unverified(run).filter(|_| code == 0 && !trust.allow_unverified) {
        code = failure::ERROR;
        console::say(format_args!(
            "kubectl benchwright: {} passed, but its figures are unverified ({}); use --allow-unverified to accept them",
            run.name_any(),
            one_line(&why)
        ));
    }
    let Some(Err(failure)) = junit.map(|path| junit_file::write(run, path)) else { return code };
    console::say(format_args!("kubectl benchwright: {failure}"));
    if code == 0 { failure.code } else { code }
}

/// Reads a run.
pub(crate) async fn get(connection: &Connection, name: &str) -> Result<BenchmarkRun, Failure> {
    let runs: Api<BenchmarkRun> = Api::namespaced(connection.client.clone(), &connection.namespace);
    runs.get(name).await.map_err(|it| failure::refused(&it, GET_RUN, name, &connection.namespace))
}

/// Creates a run as written, and returns it as the API server stored it. Unknown fields cause an error instead of being dropped.
pub(crate) async fn create(connection: &Connection, object: &Value) -> Result<BenchmarkRun, Failure> {
    let namespace = &connection.namespace;
    let path = format!("/apis/{GROUP}/{}/namespaces/{namespace}/benchmarkruns", crds::benchmark_run::VERSION);
    let body = serde_json::to_vec(object).map_err(|it| Failure::error(it.to_string()))?;
    let request = http::Request::post(format!("{path}?fieldManager=kubectl-benchwright&fieldValidation=Strict"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body)
        .map_err(|_| {
            Failure::error(format!("namespace {namespace:?} is not a valid name; give another one with -n"))
        })?;
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let run: BenchmarkRun = connection.client.request(request).await.map_err(|error| match failure::code_of(&error) {
        Some(409) => Failure::error(format!(
            "benchmarkrun {name} exists in namespace {namespace}; `kubectl benchwright rerun {name}` runs it again under another name; or write metadata.generateName instead of metadata.name"
        )),
        None if failure::is_unanswered(&error) => Failure::error(format!(
            "{}; `kubectl get benchmarkruns -n {namespace}` shows whether the run was created",
            failure::unreachable(&error)
        )),
        _ => failure::refused(&error, CREATE_RUN, name, namespace),
    })?;
    console::say(format_args!("benchmarkrun {} created in namespace {namespace}", run.name_any()));
    Ok(run)
}
