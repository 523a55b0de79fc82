//! The window in which a profiler records the server, and the checks of the spec's profiling fields. Whether the load has the named stage is checked
//! elsewhere, where the profile is parsed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{EffectiveSpec, Errors, server::is_of_charts};
use crate::{
    benchmark_run::{BenchmarkRunSpec, Harness, ProfilerKind},
    units::Span,
    wording::quoted,
};

const FIELD: &str = "spec.profiling";
/// Maximum length of the window.
const MAX_DURATION: Duration = Duration::from_secs(3_600);
/// Maximum start of the window: no run takes longer than a week.
const MAX_START: Duration = Duration::from_secs(604_800);
/// Maximum length of a stage's name, in characters. The status has the same limit.
const MAX_STAGE_CHARS: usize = 64;

/// The part of a stage in which a profiler records the server.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedProfiling {
    /// The profiler.
    pub kind: ProfilerKind,
    /// The stage. If absent, the load has only one stage.
    pub stage: Option<String>,
    /// When the window begins, from the start of the stage. If absent, the window begins at the end of the stage's warm-up.
    pub start: Option<Span>,
    /// Length of the window, above 0 and up to an hour.
    pub duration: Span,
}

/// The window of a spec. `None` if the spec has none.
pub(super) fn profiling(
    spec: &BenchmarkRunSpec,
    effective: &EffectiveSpec,
    in_cluster: bool,
    errors: &mut Errors,
) -> Option<ResolvedProfiling> {
    let written = spec.profiling.as_ref()?;
    let stage = written.stage.as_deref();
    if let Some(stage) = stage.filter(|it| it.is_empty() || it.chars().count() > MAX_STAGE_CHARS) {
        let remedy =
            "write the name of a stage of at most 64 characters, or leave it out if the load has only one stage";
        errors.add(&format!("{FIELD}.stage"), &format!("is {}; {remedy}", quoted(stage)));
    }
    check_run(spec, effective, written.kind, in_cluster, errors);
    let start = written.start.as_deref().map(|it| time("start", it, MAX_START, errors));
    let duration = time("duration", &written.duration, MAX_DURATION, errors);
    if duration.is_some_and(|it| it.0.is_zero()) {
        let message = "is 0; write how long the profiler records, such as 5s";
        errors.add(&format!("{FIELD}.duration"), message);
    }
    Some(ResolvedProfiling {
        kind: written.kind,
        stage: written.stage.clone(),
        start: start.flatten(),
        duration: duration.unwrap_or_default(),
    })
}

/// Refuses loads and servers that cannot be profiled.
fn check_run(
    spec: &BenchmarkRunSpec,
    effective: &EffectiveSpec,
    kind: ProfilerKind,
    in_cluster: bool,
    errors: &mut Errors,
) {
    if effective.repeat > 1 {
        let message = "is set beside repeat: a series measures how much runs differ, and a profiled stage counts in no comparison; take one of them out";
        errors.add(FIELD, message);
    }
    match effective.harness {
        Harness::Loadgen => errors.add(
            FIELD,
            "has no effect with harness loadgen: a test that is profiled is no LoadGen result; profile the same load in another harness",
        ),
        Harness::Nop => errors.add(FIELD, "has no effect with harness nop, which sends no load; take it out"),
        _ => {}
    }
    if spec.target.server.as_ref().is_some_and(|it| it.offline) {
        let message = "has no effect with target.server.offline, because an engine without its API has no endpoints of a profiler; take one of them out";
        errors.add(FIELD, message);
    }
    if spec.target.server.as_ref().is_some_and(is_of_charts) {
        let message = "has no effect with method ModelService of target.server, because the Gateway may send the start and the stop of the profiler to different model servers; take one of them out";
        errors.add(FIELD, message);
        return;
    }
    let field = format!("{FIELD}.kind");
    let name = kind.name();
    if spec.target.simulator.is_some() && kind != ProfilerKind::Torch {
        errors.add(&field, &format!("is {name}, and the simulated server runs on no accelerator; write Torch"));
    }
    if let Some(server) = &spec.target.server
        && kind != ProfilerKind::Torch
    {
        if server.engine.is_own() {
            errors.add(&field, &format!("is {name}, and the simulated server runs on no accelerator; write Torch"));
        } else if in_cluster && kind == ProfilerKind::Rocprof {
            let message = "is Rocprof, which completes its trace only after the server has ended, when the pod and the trace are gone; write Torch, or run it outside of a cluster";
            errors.add(&field, message);
        } else if in_cluster && server.command.is_empty() && !server.engine.is_known() {
            let message = format!(
                "is {name}, which must start the server's command itself, and target.server.command is empty; write the command, because the entry point of an image is not known"
            );
            errors.add(&field, &message);
        }
    }
}

fn time(field: &str, text: &str, most: Duration, errors: &mut Errors) -> Option<Span> {
    let read = text.parse::<Span>().ok().filter(|it| it.0 <= most);
    if read.is_none() {
        let message =
            format!("is {}; write a duration with its unit, at most {}, such as 5s", quoted(text), hours(most));
        errors.add(&format!("{FIELD}.{field}"), &message);
    }
    read
}

fn hours(time: Duration) -> String {
    format!("{}h", time.as_secs() / 3_600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{RunIdentity, Settings, resolve};

    fn check(namespace: &str, spec: &str) -> Result<Option<ResolvedProfiling>, Vec<String>> {
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(spec).unwrap();
        let run = RunIdentity::first_attempt("chat", namespace, "u");
        let resolved = resolve(run, &spec, &Settings::default());
        resolved.map(|it| it.profiling).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    fn assert_refused(more: &str, profiling: &str, expected: &str) {
        let spec = format!("{{target: {{url: 'http://h:1'}}, profiling: {profiling}{more}}}");
        let errors = check("", &spec).unwrap_err();
        // Only errors about profiling are checked here. Some harnesses also refuse other fields of these specs, which this test ignores.
        let of_profiling: Vec<&String> = errors.iter().filter(|it| it.starts_with("spec.profiling")).collect();
        assert!(of_profiling.len() == 1 && of_profiling[0].starts_with(expected), "{spec}: {errors:?}");
    }

    #[test]
    fn a_window_has_a_stage_a_begin_and_a_length() {
        let of = |namespace: &str, target: &str, profiling: &str| {
            check(namespace, &format!("{{target: {target}, profiling: {profiling}}}"))
        };
        let window = ResolvedProfiling {
            kind: ProfilerKind::Nsys,
            stage: Some("r10".into()),
            start: Some(Span(Duration::from_millis(1_500))),
            duration: Span(Duration::from_secs(5)),
        };
        let written = "{kind: Nsys, stage: r10, start: 1.5s, duration: 5s}";
        assert_eq!(of("", "{url: 'http://h:1'}", written), Ok(Some(window.clone())));
        assert_eq!(of("bench", "{serviceRef: {name: gateway}}", written), Ok(Some(window)));
        let short = of("", "{simulator: {}}", "{kind: Torch, duration: 500ms}").unwrap().unwrap();
        assert_eq!((short.stage, short.start), (None, None));
        assert_eq!(check("", "{target: {simulator: {}}}"), Ok(None));
    }

    #[test]
    fn what_cannot_be_profiled_is_refused() {
        assert_refused("", "{kind: Torch, duration: 0s}", "spec.profiling.duration: is 0;");
        assert_refused("", "{kind: Torch, duration: '5'}", "spec.profiling.duration: is \"5\"; write a duration");
        assert_refused("", "{kind: Torch, duration: 61m}", "spec.profiling.duration: is \"61m\"; write a duration");
        assert_refused("", "{kind: Torch, start: soon, duration: 5s}", "spec.profiling.start: is \"soon\"");
        assert_refused("", "{kind: Torch, stage: '', duration: 5s}", "spec.profiling.stage: is \"\"");
        assert_refused(", repeat: 2", "{kind: Torch, duration: 5s}", "spec.profiling: is set beside repeat");
        assert_refused(", harness: loadgen", "{kind: Torch, duration: 5s}", "spec.profiling: has no effect");
        assert_refused(", harness: nop", "{kind: Torch, duration: 5s}", "spec.profiling: has no effect");
        for kind in ["Nsys", "Rocprof"] {
            let spec = format!("{{target: {{simulator: {{}}}}, profiling: {{kind: {kind}, duration: 5s}}}}");
            let errors = check("", &spec).unwrap_err();
            assert!(errors[0].starts_with(&format!("spec.profiling.kind: is {kind}, and the sim")), "{errors:?}");
        }
        let server = "{target: {server: {engine: VLLM, image: i, model: m}}, profiling: {kind: Rocprof, duration: 5s}}";
        let errors = check("bench", server).unwrap_err();
        assert!(errors[0].starts_with("spec.profiling.kind: is Rocprof, which completes its trace only"), "{errors:?}");
        assert!(check("", server).unwrap().is_some(), "a process leaves its files");
        let server = "{server: {engine: Custom, image: i}}";
        let spec = format!("{{target: {server}, profiling: {{kind: Nsys, duration: 5s}}}}");
        let errors = check("bench", &spec).unwrap_err();
        assert!(errors.iter().any(|it| it.starts_with("spec.profiling.kind: is Nsys, which must start")), "{errors:?}");
    }

    #[test]
    fn an_engine_without_its_api_has_no_profiler() {
        let server =
            "{target: {server: {engine: VLLM, model: m, offline: true}}, profiling: {kind: Torch, duration: 5s}}";
        let errors = check("", server).unwrap_err();
        assert!(
            errors.len() == 1 && errors[0].starts_with("spec.profiling: has no effect with target.server.offline"),
            "{errors:?}"
        );
        assert!(check("", &server.replace(", offline: true", "")).unwrap().is_some());
    }
}
