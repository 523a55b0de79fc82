//! Resolves only the profile of a spec that has errors in other fields, so that problems of the profile are reported together with those errors.

use super::{ResolvedRun, RunIdentity, Settings, resolve, target};
use crate::benchmark_run::{BenchmarkRunSpec, Slo, Target};

/// Resolves the fields that a check of the profile needs: harness, profile, seed, API, model and, if they are valid, the objectives. All other fields
/// get their defaults, and the target is a simulator. `None` if the profile itself has an error, or cannot be resolved alone.
pub fn resolve_profile(identity: &RunIdentity, spec: &BenchmarkRunSpec, settings: &Settings) -> Option<ResolvedRun> {
    [spec.slo.clone(), Slo::default()].into_iter().find_map(|slo| {
        let target = Target {
            simulator: Some(Default::default()),
            api: spec.target.api,
            model: target::model(spec),
            ..Target::default()
        };
        let rest = BenchmarkRunSpec {
            target,
            harness: spec.harness,
            profile: spec.profile.clone(),
            seed: spec.seed,
            slo,
            ..BenchmarkRunSpec::default()
        };
        resolve(identity.clone(), &rest, settings).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spec: &str, expected: Option<usize>) {
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(spec).unwrap();
        let identity = RunIdentity::first_attempt("chat", "bench", "u");
        let found = resolve_profile(&identity, &spec, &Settings::default());
        let objectives = found.map(|it| it.slo.map_or(0, |it| it.objectives.len()));
        assert_eq!(objectives, expected, "{spec:?}");
    }

    #[test]
    fn errors_elsewhere_are_left_out_and_those_of_the_profile_are_not() {
        let slo = |max: &str| format!("slo: {{objectives: [{{name: a, metric: ttft, stat: p99, max: {max}}}]}}");
        check(&format!("{{target: {{}}, execution: {{deadlines: {{runSeconds: 0}}}}, {}}}", slo("1s")), Some(1));
        check(&format!("{{target: {{}}, {}}}", slo("1x")), Some(0));
        check("{target: {}, profile: {inline: a, name: b}}", None);
    }
}
