//! [I/O] Handles runs that this release cannot parse, for example because a newer release has added a value. The operator leaves them unchanged, and
//! reports the reason to the user.

use std::time::Duration;

use crds::{
    BenchmarkRun, Reason, benchmark_run,
    reason::Word as _,
    status::{Condition, ConditionStatus},
};
use jiff::{Timestamp, Unit};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    runtime::controller::Action,
};
use serde_json::{Value, json};
use tracing::warn;

use crate::{
    apply::{STATUS_MANAGER, exactly},
    context::Context,
    error::Error,
    events::News,
    plan::status::{set_condition, truncate, truncate_message},
};

/// Delay before the next attempt to report, after the API server refused the report.
pub const RETRY: Duration = Duration::from_secs(300);
/// Maximum length of an event's note, in bytes.
const MAX_NOTE: usize = 1_000;

/// Reports to the user that a run cannot be parsed: with a log line, an event, and conditions. If the run has a phase, another release has written
/// its status. The conditions are then left unchanged.
///
/// # Errors
/// The error of the API server.
pub async fn leave_alone(context: &Context, namespace: &str, name: &str) -> Result<Action, Error> {
    let resource = ApiResource::erase::<BenchmarkRun>(&());
    let runs: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), namespace, &resource);
    let Some(run) = runs.get_opt(name).await? else { return Ok(Action::await_change()) };
    let Some(problem) = problem(&run) else {
        // The run has changed in the meantime, and this change starts the next reconciliation.
        return Ok(Action::await_change());
    };
    let message = message(&problem);
    warn!(run = %format!("{namespace}/{name}"), %problem, "a run cannot be read and is left alone");
    if run.data["status"]["phase"].is_null() && run.metadata.deletion_timestamp.is_none() {
        write_conditions(context, &runs, &run, &message).await?;
    }
    context.events.publish(News {
        about: run.object_ref(&resource),
        warning: true,
        reason: Reason::Unreadable.name().to_owned(),
        note: truncate(&message, MAX_NOTE),
        // The generation is the occasion, so a restarted operator does not report the same problem again.
        occasion: run.metadata.generation.unwrap_or_default().to_string(),
    });
    Ok(Action::await_change())
}

/// The unreadable part of a run: field, value and the values that this release accepts. `None` if the whole run can be parsed.
pub fn problem(run: &DynamicObject) -> Option<String> {
    let whole = serde_json::to_value(run).unwrap_or_default();
    serde_path_to_error::deserialize::<Value, BenchmarkRun>(whole).err().map(|it| it.to_string())
}

/// The message for the status: this release, what it cannot parse, and the remedy.
pub fn message(problem: &str) -> String {
    format!(
        "benchwright-operator {} cannot read this run and leaves it alone: {problem}; install the release that knows this value, or create the run anew without it",
        env!("CARGO_PKG_VERSION")
    )
}

/// The status fields to write if the run has no phase.
pub fn status(run: &DynamicObject, message: &str, now: Timestamp) -> Value {
    let mut conditions: Vec<Condition> =
        serde_json::from_value(run.data["status"]["conditions"].clone()).unwrap_or_default();
    let generation = run.metadata.generation.unwrap_or_default();
    for (kind, value) in [("Ready", ConditionStatus::False), ("Stalled", ConditionStatus::True)] {
        let message = truncate_message(message);
        set_condition(&mut conditions, generation, now, kind, (value, Reason::Unreadable, message));
    }
    json!({"observedGeneration": generation, "conditions": conditions})
}

async fn write_conditions(
    context: &Context,
    runs: &Api<DynamicObject>,
    run: &DynamicObject,
    message: &str,
) -> Result<(), Error> {
    let status = status(run, message, Timestamp::now().round(Unit::Second).unwrap_or_default());
    if status["conditions"] == run.data["status"]["conditions"] {
        return Ok(());
    }
    let patch = json!({
        "apiVersion": format!("{}/{}", benchmark_run::GROUP, benchmark_run::VERSION),
        "kind": benchmark_run::KIND,
        "metadata": exactly(run),
        "status": status,
    });
    context.metrics.write("patch", "benchmarkruns/status");
    let params = PatchParams::apply(STATUS_MANAGER).force();
    runs.patch_status(&run.name_any(), &params, &Patch::Apply(&patch)).await?;
    Ok(())
}
