//! Tests of the conditions that GitOps tools read. kstatus interprets Reconciling as "in progress", Stalled as "failed", and Ready as "current".

use crds::{
    AccuracyFigureStatus, AccuracyStatus, AccuracyVerdict, BenchmarkRun, BenchmarkRunStatus, Envelope, Met,
    ObjectiveStatus, Outcome, Reason, SearchEdge, SearchEnd, SearchStatus,
    benchmark_run::SearchOver,
    envelope::ArtifactRef,
    status::{ConditionStatus, Phase},
    summary::StageSummary,
};
use operator::plan::{InputError, Observed, PodState, status::MAX_STATUS_BYTES};

use crate::behaviour::fixture::*;

const ALL: [&str; 5] = ["Ready", "Reconciling", "Stalled", "Finished", "Succeeded"];

/// How kstatus interprets a status, with its rules for unknown kinds.
fn kstatus(run: &BenchmarkRun, status: &BenchmarkRunStatus) -> &'static str {
    let is_true = |kind: &str| standing(status, kind) == Some(ConditionStatus::True);
    if run.metadata.generation != Some(status.observed_generation) || is_true("Reconciling") {
        "InProgress"
    } else if is_true("Stalled") {
        "Failed"
    } else if is_true("Ready") || standing(status, "Ready").is_none() {
        "Current"
    } else {
        "InProgress"
    }
}

#[test]
fn every_phase_is_read_right() {
    use ConditionStatus::{False, True, Unknown};
    let under_way = ([Some(False), Some(True), None, Some(False), Some(Unknown)], "InProgress");
    let success = ([Some(True), None, None, Some(True), Some(True)], "Current");
    let failure = ([Some(False), None, Some(True), Some(True), Some(False)], "Failed");
    let fresh = run(SIMULATOR);
    let absent = InputError { reason: Reason::ProfileNotFound, message: "there is no ConfigMap".into() };
    let waits = Observed { input: Some(Err(absent)), ..Observed::default() };
    let prepared = in_phase(SIMULATOR, Phase::Preparing);
    let starting = in_phase(SIMULATOR, Phase::Starting);
    let mut collecting = started();
    collecting.job.complete = true;
    let passed = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    let invalid = ended(said(&envelope(Outcome::Invalid, "TooManyErrors")));
    let suspended = run("{target: {simulator: {}}, suspend: true}");
    let cancelled = run("{target: {simulator: {}}, cancel: Immediate}");
    let cases = [
        (&fresh, waits, Phase::Pending, under_way),
        (&fresh, nothing(&fresh), Phase::Preparing, under_way),
        (&prepared, nothing(&prepared), Phase::Starting, under_way),
        (&starting, measuring(), Phase::Running, under_way),
        (&starting, collecting, Phase::Collecting, under_way),
        (&suspended, Observed::default(), Phase::Suspended, under_way),
        (&starting, passed, Phase::Succeeded, success),
        (&starting, invalid, Phase::Failed, failure),
        (&cancelled, Observed::default(), Phase::Cancelled, failure),
    ];
    assert!(Phase::ALL.iter().all(|phase| cases.iter().any(|it| it.2 == *phase)), "a phase has no case");
    for (run, observed, phase, expected) in cases {
        let plan = operator::plan::plan(run, &observed, &turn(&settings(), 61));
        assert_eq!(plan.status.phase, Some(phase));
        let found = ALL.map(|kind| standing(&plan.status, kind));
        assert_eq!((found, kstatus(run, &plan.status)), expected, "{phase:?}");
        let ready = condition(&plan.status, "Ready").unwrap();
        assert_eq!((ready.observed_generation, plan.status.observed_generation), (1, 1));
        assert!(!ready.reason.is_empty() && !ready.message.is_empty());
    }
}

const SLO: &str = "{target: {simulator: {}}, slo: {objectives: [{name: a, metric: ttft, stat: p99, max: 500ms}]}}";

/// A spec with `count` objectives, named a, b and c.
fn slo_of(count: usize, enforcement: &str) -> String {
    let names = ["a", "b", "c"].iter().take(count);
    let objectives: Vec<String> =
        names.map(|name| format!("{{name: {name}, metric: ttft, stat: p99, max: 500ms}}")).collect();
    let objectives = objectives.join(", ");
    format!("{{target: {{simulator: {{}}}}, slo: {{enforcement: {enforcement}, objectives: [{objectives}]}}}}")
}

#[test]
fn objectives_are_told_by_a_condition_that_is_unknown_until_there_is_a_result() {
    use ConditionStatus::{False, True, Unknown};
    use Met::Inconclusive;
    let slo = |spec: &str, phase: Phase, observed: &Observed| {
        let plan = operator::plan::plan(&in_phase(spec, phase), observed, &turn(&settings(), 61));
        let met = condition(&plan.status, "SLOMet");
        met.map(|it| (it.status, it.reason.to_string(), it.message.clone())).unwrap_or((
            False,
            String::new(),
            String::new(),
        ))
    };
    assert_eq!(slo(SIMULATOR, Phase::Starting, &measuring()).1, "", "a run without objectives has no such condition");
    let (status, reason, _) = slo(SLO, Phase::Starting, &measuring());
    assert_eq!((status, reason.as_str()), (Unknown, "Measuring"));

    let met = ("a", Met::True, "402.1ms");
    let missed = ("b", Met::False, "812ms");
    let undecided = ("c", Inconclusive, "");
    let passed = Outcome::Passed;
    for (outcome, objectives, status, reason, message) in [
        (passed, &[met][..], True, "SLOMet", "1 of 1 objectives met"),
        (passed, &[met, missed], False, "SLOViolated", "1 of 2 objectives met, 1 missed: b (812ms, limit 500ms)"),
        (
            Outcome::SLOViolated,
            &[missed, undecided],
            False,
            "SLOViolated",
            "0 of 2 objectives met, 1 missed, 1 inconclusive: b (812ms, limit 500ms)",
        ),
        (
            Outcome::Inconclusive,
            &[met, undecided],
            Unknown,
            "SLOInconclusive",
            "1 of 2 objectives met, 1 inconclusive: c",
        ),
        (Outcome::Invalid, &[undecided], Unknown, "SLOInconclusive", "0 of 1 objectives met, 1 inconclusive: c"),
    ] {
        let told = ended(said(&with_objectives(outcome, "r", objectives)));
        let expected = (status, reason.to_owned(), message.to_owned());
        let spec = slo_of(objectives.len(), "Report");
        assert_eq!(slo(&spec, Phase::Running, &told), expected, "{outcome:?} {objectives:?}");
    }
    let (status, reason, _) = slo(SLO, Phase::Running, &ended(said(&envelope(Outcome::Error, "StorageFailed"))));
    assert_eq!((status, reason.as_str()), (Unknown, "StorageFailed"));
}

#[test]
fn a_run_passes_only_if_each_enforced_objective_was_found_met() {
    let met = ("a", Met::True, "402.1ms");
    let judged = with_objectives(Outcome::Passed, "r", &[met, ("b", Met::False, "812ms")]);
    let unjudged = envelope(Outcome::Passed, "r");
    let fewer = with_objectives(Outcome::Passed, "r", &[met]);
    let whole = with_objectives(Outcome::Passed, "r", &[met, ("b", Met::True, "1ms")]);
    let (failed, passed) = ((Phase::Failed, Some(Outcome::Error)), (Phase::Succeeded, Some(Outcome::Passed)));
    for (enforcement, envelope, expected) in [
        ("Fail", &judged, failed),
        ("Fail", &unjudged, failed),
        ("Fail", &fewer, failed),
        ("Fail", &whole, passed),
        ("Report", &unjudged, passed),
    ] {
        let run = in_phase(&slo_of(2, enforcement), Phase::Running);
        let status = operator::plan::plan(&run, &ended(said(envelope)), &turn(&settings(), 600)).status;
        assert_eq!((status.phase, status.outcome), (Some(expected.0), expected.1), "{enforcement} {envelope:?}");
        let told = condition(&status, "Ready").unwrap().message.contains("spec.slo.objectives: has 2");
        assert_eq!(told, expected == failed, "{status:?}");
    }
}

#[test]
fn a_run_that_misses_an_objective_fails_with_its_figures() {
    let missed = with_objectives(Outcome::SLOViolated, "SLOViolated", &[("a", Met::False, "812ms")]);
    let run = in_phase(SLO, Phase::Running);
    let plan = operator::plan::plan(&run, &ended(said(&missed)), &turn(&settings(), 600));
    let status = &plan.status;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Failed), Some(Outcome::SLOViolated)));
    assert_eq!((status.reason.as_str(), &status.objectives), ("SLOViolated", &missed.objectives));
    assert!(status.columns.is_some() && status.summary.is_some() && !status.objectives_truncated);
    let found = ALL.map(|kind| standing(status, kind));
    use ConditionStatus::{False, True};
    assert_eq!(found, [Some(False), None, Some(True), Some(True), Some(False)]);
    assert!(plan.event.is_some_and(|it| it.warning && it.reason == Reason::SLOViolated));
    // If the second line of the termination message is cut, the rows are lost, but the result is not.
    let mut cut = said(&missed);
    cut.message.truncate(cut.message.find('\n').unwrap() + 10);
    let plan = operator::plan::plan(&run, &ended(cut), &turn(&settings(), 600));
    assert_eq!(standing(&plan.status, "SLOMet"), Some(False));
    assert!(plan.status.objectives.is_empty() && plan.status.objectives_truncated);
}

#[test]
fn the_accuracy_of_the_answers_stands_in_the_status_within_its_bounds() {
    let mut invalid = envelope(Outcome::Invalid, "AccuracyMissed");
    let figure = |number: usize| AccuracyFigureStatus {
        name: if number == 1 { "figure 0".into() } else { format!("figure {number}") },
        value: "9".repeat(50),
        limit: "at least 38.3914".into(),
        met: Some(Met::False),
    };
    invalid.accuracy = Some(AccuracyStatus {
        check: "llama3.1-8b".into(),
        verdict: AccuracyVerdict::Failed,
        scored: u64::MAX,
        figures: (0..12).map(figure).collect(),
    });
    let run = in_phase(SLO, Phase::Running);
    let status = operator::plan::plan(&run, &ended(said(&invalid)), &turn(&settings(), 600)).status;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "MeasurementInvalid"));
    let accuracy = status.accuracy.unwrap();
    let names: Vec<&str> = accuracy.figures.iter().map(|it| it.name.as_str()).collect();
    // The API server would refuse a duplicate name, because the name is the key of the list.
    assert_eq!(names, ["figure 0", "figure 2", "figure 3", "figure 4", "figure 5", "figure 6", "figure 7", "figure 8"]);
    assert_eq!((accuracy.figures[0].value.len(), accuracy.verdict), (32, AccuracyVerdict::Failed));
    assert!(accuracy.scored <= i64::MAX as u64, "{}", accuracy.scored);
}

fn turn(settings: &crds::Settings, seconds: i64) -> operator::plan::Turn<'_> {
    operator::plan::Turn { settings, now: at(seconds) }
}

#[test]
fn a_transition_time_changes_only_with_its_status() {
    let settings = settings();
    let run = run(SIMULATOR);
    let first = operator::plan::plan(&run, &nothing(&run), &turn(&settings, 0));
    let run = after(&run, &first);
    let second = operator::plan::plan(&run, &nothing(&run), &turn(&settings, 10));
    let ready = condition(&second.status, "Ready").unwrap();
    assert_eq!((ready.last_transition_time, ready.reason.as_str()), (at(0), "PodStarting"));
    let run = after(&run, &second);
    let passed = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    let third = operator::plan::plan(&run, &passed, &turn(&settings, 20));
    for kind in ["Ready", "Finished", "Succeeded", "TargetReady", "ResultsStored"] {
        assert_eq!(condition(&third.status, kind).unwrap().last_transition_time, at(20), "{kind}");
    }
}

#[test]
fn a_change_of_the_spec_after_the_end_is_seen_and_changes_nothing_else() {
    let run = in_phase(SIMULATOR, Phase::Running);
    let passed = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    let want = Want { outcome: Some(Outcome::Passed), attempt_ended: Some(Reason::RunSucceeded), ..Want::default() };
    let done = check(&run, &passed, 600, &want);
    let mut run = after(&run, &done);
    run.metadata.generation = Some(2);
    run.spec.suspend = true;
    let plan = check(&run, &Observed::default(), 700, &want);
    assert_eq!(plan.status.observed_generation, 2);
    assert!(plan.status.conditions.iter().all(|it| it.observed_generation == 2));
    assert_eq!((plan.status.phase, plan.status.completion_time), (Some(Phase::Succeeded), Some(at(600))));
    assert!(plan.event.is_none());
}

#[test]
fn target_and_results_are_told_of_only_when_they_are_known() {
    let stands = |spec: &str, envelope: &Envelope, kind: &str| {
        let run = in_phase(spec, Phase::Starting);
        let plan = operator::plan::plan(&run, &ended(said(envelope)), &turn(&settings(), 600));
        standing(&plan.status, kind)
    };
    let no_retry = "{target: {simulator: {}}, execution: {retry: {limit: 0}}}";
    let passed = envelope(Outcome::Passed, "RunSucceeded");
    let mut not_stored = envelope(Outcome::Passed, "RunSucceeded");
    not_stored.core.folder = None;
    let no_target = envelope(Outcome::Error, "TargetUnavailable");
    assert_eq!(stands(no_retry, &passed, "TargetReady"), Some(ConditionStatus::True));
    assert_eq!(stands(no_retry, &no_target, "TargetReady"), Some(ConditionStatus::False));
    assert_eq!(stands(no_retry, &passed, "ResultsStored"), Some(ConditionStatus::True));
    assert_eq!(stands(no_retry, &not_stored, "ResultsStored"), Some(ConditionStatus::False));
    let mut pruned = passed.clone();
    pruned.core.deleted_folders = 3;
    let plan =
        operator::plan::plan(&in_phase(no_retry, Phase::Starting), &ended(said(&pruned)), &turn(&settings(), 600));
    let stored = plan.status.conditions.iter().find(|it| it.kind == "ResultsStored").unwrap();
    assert!(stored.message.ends_with("; retention deleted 3 folders of earlier runs"), "{}", stored.message);
    let none = "{target: {simulator: {}}, storage: {none: {}}}";
    assert_eq!(stands(none, &passed, "ResultsStored"), Some(ConditionStatus::False));

    let run = in_phase(SIMULATOR, Phase::Starting);
    let running = operator::plan::plan(&run, &measuring(), &turn(&settings(), 60));
    assert_eq!(standing(&running.status, "TargetReady"), Some(ConditionStatus::True));
    let mut lost = started();
    lost.job.failed = Some("PodFailurePolicy".into());
    lost.pod = PodState::default();
    let retrying = operator::plan::plan(&after(&run, &running), &lost, &turn(&settings(), 70));
    assert_eq!(retrying.status.reason, "Retrying");
    assert_eq!(standing(&retrying.status, "TargetReady"), None, "the next attempt finds out anew");
}

#[test]
fn results_in_a_bucket_have_its_uri_in_the_status_and_in_the_mark() {
    let s3 = "{bucket: bench, prefix: a/b, endpoint: 'http://minio:9000', secretRef: {name: keys}}";
    let spec = format!("{{target: {{simulator: {{}}}}, storage: {{s3: {s3}}}}}");
    let mut run = in_phase(&spec, Phase::Preparing);
    run = after(&run, &operator::plan::plan(&run, &nothing(&run), &turn(&settings(), 1)));
    let mut envelope = envelope(Outcome::Passed, "RunSucceeded");
    let file = |name: &str| ArtifactRef { name: name.into(), uri: String::new(), bytes: 1, sha256: String::new() };
    envelope.core.artifacts = vec![file("report.json"), file("report.md")];
    let folder = envelope.core.folder.clone().unwrap();
    let plan = operator::plan::plan(&run, &ended(said(&envelope)), &turn(&settings(), 600));
    let uri = format!("s3://bench/a/b/bench/{folder}");
    assert!(!plan.status.artifacts.is_empty());
    assert!(
        plan.status.artifacts.iter().all(|it| it.uri == format!("{uri}/{}", it.name)),
        "{:?}",
        plan.status.artifacts
    );
    let stored = plan.status.conditions.iter().find(|it| it.kind == "ResultsStored").unwrap();
    assert_eq!((stored.status, &stored.message), (ConditionStatus::True, &format!("in {uri}")));
    let marked = operator::plan::plan(&after(&run, &plan), &ended(said(&envelope)), &turn(&settings(), 601));
    assert!(marked.mark.as_ref().is_some_and(|it| it.contains(&uri)), "{:?}", marked.mark);
}

/// The envelope of a malicious launcher, which tries to make the status invalid. Such a launcher is possible because the user chooses its image.
fn hostile() -> Envelope {
    let mut envelope = envelope(Outcome::Invalid, "r");
    envelope.core.message = "\u{1}\"\\é".repeat(70);
    envelope.core.model = "m".repeat(400);
    envelope.core.load_start_time = Some("-000009-01-02T03:04:05Z".parse().unwrap());
    if let Some(summary) = &mut envelope.core.summary {
        summary.requests = u64::MAX;
        summary.requests_per_second_milli = Some(u64::MAX.into());
    }
    let artifact = |n: usize| ArtifactRef {
        name: "n".repeat(1 + n % 12),
        uri: String::new(),
        bytes: u64::MAX,
        sha256: String::new(),
    };
    envelope.core.artifacts = (0..30).map(artifact).collect();
    let stage = |n: usize| StageSummary {
        name: "s".repeat(60 + n % 6),
        requests: u64::MAX,
        failed: u64::MAX,
        cancelled: 0,
        ttft_p99_microseconds: None,
        itl_p99_microseconds: None,
        output_tokens_per_second_milli: Some(1_000.into()),
    };
    envelope.stages = (0..20).map(stage).collect();
    let objective = |n: usize| ObjectiveStatus {
        name: "o".repeat(30 + n % 12),
        met: Met::False,
        observed: "é".repeat(n),
        limit: "9".repeat(40),
        run: "r".repeat(20),
    };
    envelope.objectives = (0..14).map(objective).collect();
    envelope.core.objectives = Some(crds::ObjectiveCounts { met: u32::MAX, missed: u32::MAX, inconclusive: 1 });
    envelope
}

#[test]
fn whatever_a_launcher_says_the_status_fits_its_crd() {
    let pvc = format!("{{pvc: {{claimName: {}}}}}", "c".repeat(253));
    let (bucket, prefix) = ("b".repeat(63), "p".repeat(512));
    let s3 = format!("{{s3: {{bucket: {bucket}, prefix: {prefix}, secretRef: {{name: s}}}}}}");
    [pvc, s3].iter().for_each(|it| assert_status_fits(it));
}

fn assert_status_fits(storage: &str) {
    use kube::CustomResourceExt as _;
    let spec = format!("{{target: {{url: 'http://{}'}}, storage: {storage}}}", "h".repeat(2_000));
    let mut run = in_phase(&spec, Phase::Preparing);
    let plan = operator::plan::plan(&run, &nothing(&run), &turn(&settings(), 1));
    run = after(&run, &plan);
    let plan = operator::plan::plan(&run, &ended(said(&hostile())), &turn(&settings(), 600));
    assert_eq!(plan.status.reason, "MeasurementInvalid");
    let status = serde_json::to_value(&plan.status).unwrap();
    assert!(status.to_string().len() <= MAX_STATUS_BYTES, "{}", status.to_string().len());
    let crd = serde_json::to_value(crds::BenchmarkRun::crd()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"];
    assert_eq!(misfits("status", schema, &status), Vec::<String>::new());
}

fn matches(schema: &serde_json::Value, text: &str) -> bool {
    let pattern = schema["pattern"].as_str().map(|it| regex::Regex::new(it).unwrap());
    pattern.is_none_or(|it| it.is_match(text))
}

/// All paths at which a value violates a schema: lengths, patterns, enums, numbers of items, keys of lists and ranges of numbers.
fn misfits(path: &str, schema: &serde_json::Value, value: &serde_json::Value) -> Vec<String> {
    use serde_json::Value;
    let above = |key: &str, found: usize| schema[key].as_u64().is_some_and(|max| found as u64 > max);
    let below = |key: &str, found: usize| schema[key].as_u64().is_some_and(|min| (found as u64) < min);
    let listed = |found: &str| schema["enum"].as_array().is_none_or(|all| all.iter().any(|it| it == found));
    let within = |found: f64| {
        schema["minimum"].as_f64().is_none_or(|it| found >= it)
            && schema["maximum"].as_f64().is_none_or(|it| found <= it)
    };
    match value {
        Value::String(text) => {
            let length = text.chars().count();
            let fits =
                !above("maxLength", length) && !below("minLength", length) && listed(text) && matches(schema, text);
            if fits { Vec::new() } else { vec![format!("{path}: {text:?}")] }
        }
        Value::Number(number) if number.as_i64().is_none() || !number.as_f64().is_some_and(within) => {
            vec![format!("{path}: {number}")]
        }
        Value::Array(items) => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
            let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
            let mut taken = std::collections::BTreeSet::new();
            let twice = items.iter().map(|it| keys.iter().map(|key| it[key].to_string()).collect::<Vec<_>>());
            let twice: Vec<String> = twice
                .filter(|it| !keys.is_empty() && !taken.insert(it.clone()))
                .map(|it| format!("{path}: {it:?} twice"))
                .collect();
            let count = above("maxItems", items.len()).then(|| format!("{path}: {} items", items.len()));
            let inside = items.iter().flat_map(|it| misfits(path, &schema["items"], it));
            count.into_iter().chain(twice).chain(inside).collect()
        }
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| {
                let fields = [&schema["properties"][key], &schema["additionalProperties"]];
                let schema = fields.into_iter().find(|it| it.is_object()).unwrap_or(&Value::Null);
                assert!(schema.is_object(), "{path}.{key} is not in the CRD");
                misfits(&format!("{path}.{key}"), schema, value)
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn columns_have_figures_only_of_a_run_whose_figures_count() {
    let columns = |envelope: &Envelope| {
        let run = in_phase(SIMULATOR, Phase::Running);
        let plan = operator::plan::plan(&run, &ended(said(envelope)), &turn(&settings(), 600));
        assert_eq!(plan.status.summary, envelope.core.summary);
        plan.status.columns
    };
    let shown = columns(&envelope(Outcome::Passed, "RunSucceeded")).unwrap();
    assert_eq!((shown.duration.as_str(), shown.output_tokens_per_second.as_str()), ("10s", "900"));
    assert_eq!((shown.ttft_p99.as_str(), shown.itl_p99.as_str()), ("", ""), "what was not measured is not shown");
    assert_eq!(columns(&envelope(Outcome::Invalid, "TooManyErrors")), None);
    let mut partial = envelope(Outcome::Passed, "RunSucceeded");
    partial.core.partial = true;
    assert_eq!(columns(&partial), None);
    assert_eq!((shown.answer.as_str(), shown.risk.as_str(), shown.edge.as_str()), ("", "", ""), "it was no search");

    let cancelled =
        with_status(&run("{target: {simulator: {}}, cancel: Graceful}"), in_phase(SIMULATOR, Phase::Running));
    let plan = operator::plan::plan(
        &cancelled,
        &ended(said(&envelope(Outcome::Cancelled, "Cancelled"))),
        &turn(&settings(), 600),
    );
    assert!(plan.status.summary.is_some() && plan.status.columns.is_none(), "{:?}", plan.status);
}

fn with_status(run: &BenchmarkRun, other: crds::BenchmarkRun) -> BenchmarkRun {
    BenchmarkRun { status: other.status, ..run.clone() }
}

#[test]
fn an_attempt_tells_its_pod_node_and_image() {
    let settings = settings();
    let run = in_phase(SIMULATOR, Phase::Starting);
    let mut observed = started();
    observed.pod.uid = Some("pod-uid".into());
    let seen = operator::plan::plan(&run, &observed, &turn(&settings, 10));
    let attempt = &seen.status.attempts[0];
    assert_eq!((attempt.pod_name.as_str(), attempt.node_name.as_str()), ("chat-2db482-a1-0-x", ""));

    // The pod makes progress while the phase stays the same. That alone causes no status write.
    let run = after(&run, &seen);
    observed.pod.node = "node-1".into();
    observed.pod.image_id = format!("registry/launcher@sha256:{}", "ab".repeat(32));
    let same = operator::plan::plan(&run, &observed, &turn(&settings, 11));
    assert_eq!(Some(same.status), run.status);

    (observed.pod.running, observed.pod.ready) = (true, true);
    let running = operator::plan::plan(&run, &observed, &turn(&settings, 60));
    let attempt = &running.status.attempts[0];
    assert_eq!((attempt.node_name.as_str(), &attempt.image_id), ("node-1", &observed.pod.image_id));

    // A pod with another UID does not belong to the attempt.
    observed.pod.uid = Some("another".into());
    observed.pod.node = "node-2".into();
    let other = operator::plan::plan(&run, &observed, &turn(&settings, 60));
    assert_eq!(other.status.attempts[0].node_name, "");
}

#[test]
fn a_status_has_the_result_of_the_search() {
    let edge = SearchEdge { estimate_milli: 15_600.into(), low_milli: 14_900.into(), high_milli: 16_400.into() };
    let found = SearchStatus {
        over: SearchOver::Rate,
        answer_milli: Some(14_200.into()),
        from_calm_milli: None,
        risk_milli: Some(50.into()),
        edge: Some(edge),
        stopped: SearchEnd::Confirmed.into(),
        trials: 15,
        resumed_trials: 0,
        budget_seconds: 1_200,
        used_seconds: 948,
    };
    let status = |search: SearchStatus| {
        let mut envelope = envelope(Outcome::Passed, "RunSucceeded");
        envelope.core.search = Some(Box::new(search));
        let run = in_phase(SIMULATOR, Phase::Running);
        operator::plan::plan(&run, &ended(said(&envelope)), &turn(&settings(), 600)).status
    };
    let shown = status(found.clone());
    assert_eq!(shown.search.as_deref(), Some(&found));
    let columns = shown.columns.unwrap();
    assert_eq!([columns.answer.as_str(), &columns.risk, &columns.edge], ["14.2/s", "5 %", "15.6 (14.9-16.4)"]);

    // Users can edit the trials of an earlier attempt on the claim.
    let verified = |status: &BenchmarkRunStatus| {
        let found = status.conditions.iter().find(|it| it.kind == "Verified").unwrap();
        (found.status, found.reason.as_str().to_owned())
    };
    assert_eq!(verified(&status(found.clone())).0, ConditionStatus::True);
    let resumed = status(SearchStatus { resumed_trials: 3, ..found.clone() });
    assert_eq!(verified(&resumed), (ConditionStatus::False, "Reread".to_owned()));

    // Any program may have written the termination message. The API server refuses a longer word.
    let long = "x".repeat(900);
    let cut = status(SearchStatus { stopped: long.as_str().into(), ..found }).search.unwrap();
    assert_eq!(cut.stopped.as_str().len(), 64, "{}", cut.stopped);
}
