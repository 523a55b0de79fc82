use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::resolve::{RunIdentity, Settings, resolve};

fn resolved(namespace: &str, spec: Value) -> Result<Option<ResolvedSlo>, Vec<String>> {
    let spec: BenchmarkRunSpec = serde_json::from_value(spec).unwrap();
    let run = RunIdentity::first_attempt("chat", namespace, "u");
    let run = resolve(run, &spec, &Settings::default());
    run.map(|it| it.slo).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn resolved_slo(slo: Value) -> Result<Option<ResolvedSlo>, Vec<String>> {
    resolved("", json!({"target": {"simulator": {}}, "slo": slo}))
}

/// Resolves a list of objectives. The helper adds the names.
fn objectives(all: &[Value]) -> Result<Vec<ResolvedObjective>, Vec<String>> {
    let named = all.iter().enumerate().map(|(index, it)| {
        let mut it = it.clone();
        it["name"] = format!("o{index}").into();
        it
    });
    resolved_slo(json!({"objectives": named.collect::<Vec<_>>()}))
        .map(|it| it.map(|it| it.objectives).unwrap_or_default())
}

#[track_caller]
fn check_error(objective: Value, expected: &str) {
    let errors = objectives(std::slice::from_ref(&objective)).unwrap_err();
    assert_eq!(errors, [expected], "{objective}");
}

fn time(text: &str) -> FigureValue {
    FigureValue::Time(text.parse().unwrap())
}

#[test]
fn one_objective_is_checked_alone() {
    let problem = |max: &str| {
        let objective = json!({"name": "ttft-p99", "metric": "ttft", "stat": "p99", "max": max});
        objective_problem(&serde_json::from_value(objective).unwrap())
    };
    assert_eq!(problem("5s"), None);
    let found = problem("5").unwrap();
    assert!(found.starts_with("max: is \"5\"; ") && found.contains("write a duration with its unit"), "{found}");
}

#[test]
fn a_spec_without_objectives_asks_for_nothing() {
    assert_eq!(resolved_slo(json!({})), Ok(None));
    assert_eq!(resolved_slo(json!({"enforcement": "Report", "objectives": []})), Ok(None));
}

#[test]
fn objectives_are_read_with_their_limits_and_stages() {
    let slo = resolved_slo(json!({
        "objectives": [
            {"name": "ttft", "metric": "ttft", "stat": "p99", "stage": "*", "max": "500ms"},
            {"name": "tput", "metric": "outputTokensPerSecond", "stage": "r10", "min": "900"},
            {"name": "errors", "metric": "errorRatio", "max": 0},
            {"name": "good", "metric": "goodputShare", "min": 0.95},
        ],
    }));
    let slo = slo.unwrap().unwrap();
    assert_eq!((slo.enforcement, slo.baseline), (Enforcement::Fail, None));
    let found: Vec<_> = slo.objectives.iter().map(|it| (it.figure(), it.scope(), it.bound)).collect();
    let number = FigureValue::Number;
    assert_eq!(
        found,
        [
            ("p99 of ttft".to_owned(), Scope::EveryStage, Bound::Max(time("500ms"))),
            ("outputTokensPerSecond".to_owned(), Scope::Stage("r10"), Bound::Min(number(900.0))),
            ("errorRatio".to_owned(), Scope::Run, Bound::Max(number(0.0))),
            ("goodputShare".to_owned(), Scope::Run, Bound::Min(number(0.95))),
        ]
    );
}

#[test]
fn what_an_objective_lacks_or_has_too_much_is_told() {
    let at = "spec.slo.objectives[0]";
    check_error(
        json!({"metric": "ttft", "max": "1s"}),
        &format!("{at}.stat: is missing; ttft has many values: choose one of mean, p50, p90, p95, p99, p99.9 and max"),
    );
    check_error(
        json!({"metric": "errorRatio", "stat": "p99", "max": 0.1}),
        &format!("{at}.stat: is p99; errorRatio is one number: take stat out"),
    );
    check_error(
        json!({"metric": "errorRatio"}),
        &format!("{at}: has neither max nor min; set one of them, such as max: 500ms"),
    );
    check_error(
        json!({"metric": "errorRatio", "max": 1, "min": 0}),
        &format!("{at}: has both max and min; keep one of them, and write a second objective for the other"),
    );
    check_error(
        json!({"metric": "errorRatio", "stage": "", "max": 1}),
        &format!(
            "{at}.stage: is \"\"; write the name of a stage of at most 64 characters, or \"*\" for every stage, or leave it out for the whole run"
        ),
    );
}

/// A metric with this unit.
fn metric_of(unit: MetricUnit) -> Value {
    match unit {
        MetricUnit::Time => json!({"metric": "itl", "stat": "p99.9"}),
        MetricUnit::PerSecond => json!({"metric": "requestsPerSecond"}),
        MetricUnit::Share => json!({"metric": "errorRatio"}),
    }
}

#[test]
fn a_limit_that_is_no_value_of_its_figure_is_refused_with_what_to_write() {
    use MetricUnit::{PerSecond, Share, Time};
    for (unit, limits, remedy) in [
        (
            Time,
            ["500", "0s", "-1s", "NaN", "inf", "1e400", "", "fast", "169h", "99999999999999h", "5 00ms"],
            "such as 500ms",
        ),
        (PerSecond, ["500ms", "-1", "NaN", "inf", "-inf", "1e400", "", "fast", "2e12", "0x10", "1,000"], "such as 900"),
        (Share, ["500ms", "-1", "NaN", "inf", "-inf", "1e400", "", "all", "1.0001", "99%", "2"], "from 0 to 1"),
    ] {
        for (limit, bound) in limits.into_iter().flat_map(|it| [(it, "max"), (it, "min")]) {
            let mut objective = metric_of(unit);
            objective[bound] = limit.into();
            let errors = objectives(&[objective]).unwrap_err();
            let path = format!("spec.slo.objectives[0].{bound}: is {limit:?}; ");
            assert!(errors.len() == 1 && errors[0].starts_with(&path) && errors[0].contains(remedy), "{errors:?}");
        }
    }
    for (unit, number) in [(Time, json!(500)), (PerSecond, json!(-1)), (PerSecond, json!(1e300)), (Share, json!(1.5))] {
        let mut objective = metric_of(unit);
        objective["max"] = number.clone();
        let errors = objectives(&[objective]).unwrap_err();
        assert!(errors.len() == 1 && errors[0].contains(&format!("max: is {number}; ")), "{errors:?}");
    }
}

#[test]
fn a_limit_that_is_refused_says_why() {
    let told = |objective: Value| objectives(&[objective]).unwrap_err().join("\n");
    let time = |limit: &str| told(json!({"metric": "ttft", "stat": "p99", "max": limit}));
    for (limit, fault) in [
        ("-1s", "that is negative; write"),
        ("NaN", "that is not a number; write"),
        ("5 parsecs", "the unit parsecs is not known; write"),
        ("500", "the unit is missing; write"),
        ("0s", "; write"),
    ] {
        assert!(time(limit).contains(fault), "{}", time(limit));
    }
    let rate = told(json!({"metric": "requestsPerSecond", "min": "500ms"}));
    assert!(rate.contains("that has a unit; write a number"), "{rate}");
    let rate = told(json!({"metric": "requestsPerSecond", "min": -1}));
    assert!(rate.contains("min: is -1; that is negative; write"), "{rate}");
}

#[test]
fn every_mistake_of_every_objective_is_told_at_once() {
    let errors = resolved_slo(json!({
        "objectives": [
            {"name": "a", "metric": "ttft", "max": "soon"},
            {"name": "a", "metric": "itl", "stat": "p50", "min": "1s"},
            {"name": "no name", "metric": "goodputShare", "stat": "mean", "stage": "x".repeat(65)},
        ],
        "baseline": {"runRef": "before", "maxRegressionPercent": 1001},
    }));
    let errors = errors.unwrap_err();
    let paths: Vec<_> =
        errors.iter().map(|it| it.strip_prefix("spec.slo.").unwrap().split(": ").next().unwrap()).collect();
    assert_eq!(
        paths,
        [
            "objectives[0].stat",
            "objectives[0].max",
            "objectives[1].name",
            "objectives[2].name",
            "objectives[2].stat",
            "objectives[2].stage",
            "objectives[2]",
            "baseline.maxRegressionPercent",
        ]
    );
    let many: Vec<Value> = (0..33).map(|_| json!({"metric": "errorRatio", "max": 1})).collect();
    assert_eq!(objectives(&many).unwrap_err(), ["spec.slo.objectives: is a list of 33; write at most 32"]);
    assert!(objectives(&many[..32]).is_ok());
}

#[test]
fn a_baseline_needs_objectives_and_in_a_cluster_a_run_and_its_claim() {
    let objectives = json!([{"name": "a", "metric": "errorRatio", "max": 1}]);
    let slo = json!({"objectives": objectives, "baseline": {"runRef": "before"}});
    let spec = |storage: Value, slo: &Value| json!({"target": {"simulator": {}}, "storage": storage, "slo": slo});
    let baseline = resolved("bench", spec(json!({}), &slo)).unwrap().unwrap().baseline.unwrap();
    assert_eq!(baseline, ResolvedBaseline { report: None, sha256: None, max_regression_percent: 5 });
    let told =
        |namespace: &str, storage: Value, slo: &Value| resolved(namespace, spec(storage, slo)).unwrap_err().join("\n");
    assert!(told("bench", json!({"none": {}}), &slo).starts_with("spec.slo.baseline: needs the results"));
    let s3 = json!({"s3": {"bucket": "bench", "secretRef": {"name": "s"}}});
    assert!(told("bench", s3, &slo).contains("storage.s3 mounts none; set storage.pvc"));
    assert!(resolved("", spec(json!({"none": {}}), &slo)).is_ok());
    let alone = json!({"baseline": {"runRef": "before"}});
    assert!(told("", json!({}), &alone).starts_with("spec.slo.baseline: is set without objectives"));
    for name in ["", "../x", "A", &"x".repeat(47)] {
        let wrong = json!({"objectives": objectives, "baseline": {"runRef": name}});
        assert!(told("bench", json!({}), &wrong).starts_with("spec.slo.baseline.runRef: is \""), "{name}");
    }
}

#[test]
fn a_resolved_slo_is_read_as_it_is_written() {
    let slo = resolved_slo(json!({
        "enforcement": "Report",
        "objectives": [
            {"name": "a", "metric": "latency", "stat": "p99.9", "stage": "*", "max": "1.5s"},
            {"name": "b", "metric": "requestsPerSecond", "min": 12.5},
        ],
        "baseline": {"runRef": "before", "maxRegressionPercent": 0},
    }));
    let slo = slo.unwrap().unwrap();
    let yaml = serde_saphyr::to_string(&slo).unwrap();
    assert_eq!(serde_saphyr::from_str::<ResolvedSlo>(&yaml).unwrap(), slo, "{yaml}");
    let json = serde_json::to_string(&slo).unwrap();
    assert_eq!(serde_json::from_str::<ResolvedSlo>(&json).unwrap(), slo, "{json}");
}

proptest! {
    /// For every text that a user may write, an objective is either refused with its path, or has a finite limit.
    #[test]
    fn hostile_texts_are_refused_with_their_place_or_mean_a_finite_limit(
        name in "\\PC{0,60}", stage in prop::option::of("\\PC{0,80}"), limit in "\\PC{0,40}|[0-9.e+-]{1,12}(ms|s|h)?",
        metric in prop::sample::select(Metric::ALL.to_vec()), stat in prop::option::of(prop::sample::select(Stat::ALL.to_vec())),
        above in any::<bool>(),
    ) {
        let mut objective = json!({"name": name, "metric": metric, (if above { "min" } else { "max" }): limit});
        if let Some(stage) = stage {
            objective["stage"] = stage.into();
        }
        if let Some(stat) = stat {
            objective["stat"] = json!(stat);
        }
        match resolved_slo(json!({"objectives": [objective]})) {
            Ok(slo) => {
                let limit = slo.unwrap().objectives[0].bound.limit();
                prop_assert!(limit.as_f64().is_finite() && limit.as_f64() >= 0.0);
                prop_assert!(limit.to_string().len() <= 32);
            }
            Err(errors) => {
                for error in errors {
                    prop_assert!(error.starts_with("spec.slo.objectives[0]"), "{error}");
                    prop_assert!(error.len() < 600 && !error.contains('\n'), "{error}");
                }
            }
        }
    }
}
