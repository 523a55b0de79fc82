//! Test objects for GitOps tools: a run in each phase and in each special case, and schedules, with the status that the operator writes. They are
//! stored in e2e/tests/gitops/runs.jsonl, and `cargo test -p e2e --test tests gitops::` passes them to the tools. `UPDATE_GOLDEN=1` rewrites the
//! file.

use std::{env, fmt::Write as _, fs, path::Path};

use crds::{
    BenchmarkRun, BenchmarkSchedule, Met, Outcome, Reason, benchmark_schedule::BenchmarkScheduleSpec, status::Phase,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::DynamicObject;
use operator::{
    plan::{Ended, InputError, Observed, Turn, finished::FINISHED, plan},
    schedules::decide::{OwnRun, RunState, decide},
    unreadable,
};
use serde_json::{Value, json};

use crate::behaviour::fixture::*;

const RUNS: &str = "../e2e/tests/gitops/runs.jsonl";
const OBJECTIVES: &str = "objectives: [{name: a, metric: ttft, stat: p99, max: 500ms}]";

/// The run after the operator has made one decision.
fn decided(run: &BenchmarkRun, observed: &Observed) -> BenchmarkRun {
    let settings = settings();
    after(run, &plan(run, observed, &Turn { settings: &settings, now: at(61) }))
}

fn refused(reason: Reason, message: &str) -> BenchmarkRun {
    let error = InputError { reason, message: message.into() };
    decided(&run(SIMULATOR), &Observed { input: Some(Err(error)), ..Observed::default() })
}

/// A run whose launcher has reported this result.
fn reported(spec: &str, outcome: Outcome, reason: &str) -> BenchmarkRun {
    decided(&in_phase(spec, Phase::Running), &ended(said(&envelope(outcome, reason))))
}

/// A run with one objective. Its launcher reported that the objective is missed or undecided.
fn judged(enforcement: &str, outcome: Outcome, reason: &str, met: Met) -> BenchmarkRun {
    let spec = format!("{{target: {{simulator: {{}}}}, slo: {{enforcement: {enforcement}, {OBJECTIVES}}}}}");
    let envelope = with_objectives(outcome, reason, &[("a", met, "812ms")]);
    decided(&in_phase(&spec, Phase::Running), &ended(said(&envelope)))
}

fn restored(outcome: &str, reason: &str) -> BenchmarkRun {
    let mark = json!({"name": "chat", "uid": "before", "outcome": outcome, "reason": reason, "time": zero().to_string(), "folder": ""});
    let mut run = run(SIMULATOR);
    run.metadata.annotations = Some([(FINISHED.to_owned(), mark.to_string())].into());
    decided(&run, &Observed::default())
}

/// A run that this release cannot parse and that has no phase, after the operator has reported that.
fn unreadable() -> Value {
    let mut object = serde_json::to_value(run(SIMULATOR)).unwrap();
    object["spec"]["harness"] = json!("harness-of-tomorrow");
    let read: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let problem = unreadable::problem(&read).expect("no release knows this harness");
    // The version is replaced, so that the file does not change with each release.
    let message = unreadable::message(&problem).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    object["status"] = unreadable::status(&read, &message, zero());
    object
}

fn in_each_phase() -> Vec<(&'static str, BenchmarkRun)> {
    let fresh = run(SIMULATOR);
    let starting = in_phase(SIMULATOR, Phase::Starting);
    let mut collecting = started();
    collecting.job.complete = true;
    let suspended = "{target: {simulator: {}}, suspend: true}";
    let cancelled = "{target: {simulator: {}}, cancel: Graceful}";
    let crashed = Ended { exit_code: 1, reason: "Error".into(), ..Ended::default() };
    vec![
        ("Pending, its profile is missing", refused(Reason::ProfileNotFound, "there is no ConfigMap")),
        ("Suspended before it began", decided(&run(suspended), &Observed::default())),
        ("Suspended in the middle", decided(&in_phase(suspended, Phase::Preparing), &Observed::default())),
        ("Preparing", decided(&fresh, &nothing(&fresh))),
        ("Starting", decided(&starting, &started())),
        ("Running", decided(&starting, &measuring())),
        ("Running, asked to cancel", decided(&in_phase(cancelled, Phase::Running), &measuring())),
        ("Collecting", decided(&starting, &collecting)),
        ("Succeeded, Passed", reported(SIMULATOR, Outcome::Passed, "RunSucceeded")),
        ("Succeeded, objectives met", judged("Fail", Outcome::Passed, "RunSucceeded", Met::True)),
        (
            "Succeeded, an objective missed, enforcement Report",
            judged("Report", Outcome::Passed, "RunSucceeded", Met::False),
        ),
        ("Failed, an objective missed (SLOViolated)", judged("Fail", Outcome::SLOViolated, "SLOViolated", Met::False)),
        (
            "Failed, an objective undecided (Inconclusive)",
            judged("Fail", Outcome::Inconclusive, "SLOInconclusive", Met::Inconclusive),
        ),
        ("Failed, Invalid", reported(SIMULATOR, Outcome::Invalid, "TooManyErrors")),
        ("Failed, Error of the launcher", reported(NO_RETRY, Outcome::Error, "TargetUnavailable")),
        ("Failed, Error without a result", decided(&in_phase(NO_RETRY, Phase::Running), &ended(crashed))),
        ("Failed, a spec that cannot be run", refused(Reason::InvalidSpec, "target.url: is x")),
        ("Failed, refused by the policy", refused(Reason::PolicyDenied, "launcher.image: is x")),
        ("Cancelled before it began", decided(&run(cancelled), &Observed::default())),
        ("Cancelled with figures", reported(cancelled, Outcome::Cancelled, "Cancelled")),
        ("Restored, had Passed", restored("Passed", "RunSucceeded")),
        ("Restored, had missed an objective", restored("SLOViolated", "SLOViolated")),
        ("Restored, had been Cancelled", restored("Cancelled", "Cancelled")),
    ]
}

/// Schedules in all states that the operator writes.
fn schedules() -> Vec<(String, Value)> {
    let schedule = |edit: fn(&mut BenchmarkScheduleSpec), runs: &[OwnRun], refused: Option<&str>| {
        let mut spec = BenchmarkScheduleSpec::default();
        edit(&mut spec);
        let mut schedule = BenchmarkSchedule::new("nightly", spec);
        schedule.metadata.namespace = Some("bench".into());
        schedule.metadata.uid = Some("uid-2".into());
        schedule.metadata.generation = Some(1);
        schedule.metadata.creation_timestamp = Some(Time(zero()));
        // The first decision records a start, and the second one carries it out.
        for refused in [None, refused] {
            let runs: Vec<OwnRun> = match &schedule.status.as_ref().and_then(|it| it.starting.as_ref()) {
                Some(start) => runs.iter().map(|it| OwnRun { name: start.name.clone(), ..it.clone() }).collect(),
                None => Vec::new(),
            };
            schedule.status = Some(decide(&schedule, &runs, refused, at(1)).status);
        }
        serde_json::to_value(schedule).unwrap()
    };
    let run = |state: RunState| {
        [OwnRun { name: String::new(), uid: "uid-3".into(), created: Some(at(1)), is_going: false, state }]
    };
    let ended = |outcome: Outcome| run(RunState::Finished { outcome: Some(outcome), time: Some(at(1)) });
    let nightly = |it: &mut BenchmarkScheduleSpec| it.schedule = Some("0 3 * * *".into());
    let suspended = |it: &mut BenchmarkScheduleSpec| {
        (it.schedule, it.suspend) = (Some("0 3 * * *".into()), true);
    };
    let trigger = |it: &mut BenchmarkScheduleSpec| it.trigger = Some("r1".into());
    let wrong = |it: &mut BenchmarkScheduleSpec| it.schedule = Some("61 * * * *".into());
    [
        ("waits for its next time", schedule(nightly, &[], None)),
        ("suspended", schedule(suspended, &[], None)),
        ("its fields cannot be read", schedule(wrong, &[], None)),
        ("its triggered run is running", schedule(trigger, &run(RunState::Active), None)),
        ("its triggered run has Passed", schedule(trigger, &ended(Outcome::Passed), None)),
        ("its triggered run has missed an objective", schedule(trigger, &ended(Outcome::SLOViolated), None)),
        ("its triggered run was refused", schedule(trigger, &[], Some("exceeded quota"))),
    ]
    .map(|(name, object)| (format!("a schedule, {name}"), object))
    .into()
}

/// All objects with their names, as the API server would return them.
fn objects() -> Vec<(String, Value)> {
    let text = |run: &BenchmarkRun| serde_json::to_value(run).unwrap();
    let mut created = text(&run(SIMULATOR));
    let mut stored = |status: Option<Value>| {
        created["status"] = status.unwrap_or_default();
        let mut object = created.clone();
        object.as_object_mut().unwrap().retain(|_, it| !it.is_null());
        object
    };
    let mut all = vec![
        // The default status in the CRD.
        ("created, not seen by the operator".to_owned(), stored(Some(json!({"observedGeneration": -1})))),
        ("created, without a status".to_owned(), stored(None)),
    ];
    let runs = in_each_phase();
    for (change, name) in [
        ("edited", "Running"),
        ("edited", "Succeeded, Passed"),
        ("deleted", "Running"),
        ("deleted", "Succeeded, Passed"),
    ] {
        let mut object = text(&runs.iter().find(|it| it.0 == name).unwrap().1);
        match change {
            "edited" => object["metadata"]["generation"] = json!(2),
            _ => object["metadata"]["deletionTimestamp"] = json!(at(90).to_string()),
        }
        all.push((format!("{name}, {change} a moment ago"), object));
    }
    let phases = runs.iter().map(|(name, run)| ((*name).to_owned(), text(run)));
    all.extend(schedules());
    all.splice(2..2, phases.chain([("of another release, Unreadable".to_owned(), unreadable())]));
    all
}

#[test]
fn the_objects_that_gitops_tools_are_asked_about_are_the_operators() {
    let mut lines = String::new();
    for (name, object) in objects() {
        let phase = object["status"]["phase"].as_str().unwrap_or_default();
        let named = name.split([',', ' ']).next().unwrap_or_default();
        assert!(Phase::ALL.iter().all(|it| format!("{it:?}") != named) || named == phase, "{name} has phase {phase}");
        writeln!(lines, "{}", json!({"case": name, "object": object})).unwrap();
    }
    for phase in Phase::ALL {
        assert!(lines.contains(&format!("\"phase\":\"{phase:?}\"")), "no object has phase {phase:?}");
    }
    for outcome in Outcome::ALL {
        assert!(lines.contains(&format!("\"outcome\":\"{}\"", outcome.name())), "no object has outcome {outcome:?}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RUNS);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &lines).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == lines,
        "the operator gives other statuses than {RUNS} has: look at the difference after UPDATE_GOLDEN=1, and ask the tools again (e2e/run)"
    );
}
