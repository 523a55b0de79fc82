//! The chart contains the CRD of this release.

#[test]
fn the_chart_holds_the_generated_crd() {
    let held = include_str!("../../charts/benchwright/files/benchmarkruns.yaml");
    let generated = crds::crd_yaml().unwrap();
    assert!(held == generated, "charts/benchwright/files/benchmarkruns.yaml is another one: run `make crd`");
}

#[test]
fn the_chart_holds_the_generated_crd_of_schedules() {
    let held = include_str!("../../charts/benchwright/files/benchmarkschedules.yaml");
    let generated = crds::schedule_crd_yaml().unwrap();
    assert!(held == generated, "charts/benchwright/files/benchmarkschedules.yaml is another one: run `make crd`");
}

#[test]
fn the_chart_holds_the_generated_crd_of_sweeps() {
    let held = include_str!("../../charts/benchwright/files/benchmarksweeps.yaml");
    let generated = crds::sweep_crd_yaml().unwrap();
    assert!(held == generated, "charts/benchwright/files/benchmarksweeps.yaml is another one: run `make crd`");
}

/// The schedule's CRD must not contain the rules that compare a run with its stored version. They would make the run template immutable.
#[test]
fn the_template_of_a_schedule_has_the_rules_of_a_run_but_may_change() {
    let rules = |yaml: &str| yaml.lines().filter(|it| it.trim_start().starts_with("rule:")).count();
    let (run, schedule) = (crds::crd_yaml().unwrap(), crds::schedule_crd_yaml().unwrap());
    assert!(run.contains("oldSelf") && !schedule.contains("oldSelf"));
    assert!(rules(&schedule) > rules(&run) / 2, "{} of {}", rules(&schedule), rules(&run));
}

/// The chart's policy and the operator divide the fields that name an object or an image. Each field must be in the list of exactly one of them.
#[test]
fn a_level_of_a_sweep_sets_no_reference_that_admission_does_not_check() {
    use std::collections::BTreeSet;

    use crds::benchmark_sweep::in_cluster::{CHECKED, FIXED};
    let policy = include_str!("../../charts/benchwright/templates/secret-access.yaml");
    let quoted = |text: &str| text.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let references = policy.lines().filter(|it| it.trim_start().starts_with("(list \""));
    let references: BTreeSet<String> = references.filter_map(|it| quoted(it).into_iter().nth(1)).collect();
    let known: BTreeSet<String> = FIXED.iter().chain(&CHECKED).map(|it| (*it).to_owned()).collect();
    assert_eq!(known, references);
    let levels = policy.split_once("$levels := list").expect("the paths of levels").1;
    assert_eq!(quoted(levels.split_once("}}").expect("an end").0), CHECKED);
}

#[test]
fn kubernetes_knows_every_format_of_the_crds() {
    let crd = crds::crd_yaml().unwrap() + &crds::schedule_crd_yaml().unwrap() + &crds::sweep_crd_yaml().unwrap();
    let formats: std::collections::BTreeSet<_> =
        crd.lines().filter_map(|it| it.trim().strip_prefix("format: ")).collect();
    assert!(!formats.is_empty());
    let known = ["int32", "int64", "float", "double", "date-time"];
    assert!(formats.iter().all(|it| known.contains(it)), "an install warns of {formats:?}");
}

/// The operator copies the launcher's default resources from the chart into each status, so the status must accept them.
#[test]
fn the_chart_takes_resources_that_a_status_takes() {
    use crds::{
        benchmark_run::{MAX_RESOURCE_NAME, MAX_RESOURCES},
        schema::{MAX_QUANTITY, QUANTITY},
    };
    let values = include_str!("../../charts/benchwright/values.schema.json");
    let values: serde_json::Value = serde_json::from_str(values).unwrap();
    let quantities = &values["definitions"]["quantities"];
    assert_eq!(quantities["maxProperties"], MAX_RESOURCES);
    assert_eq!(quantities["propertyNames"]["maxLength"], MAX_RESOURCE_NAME);
    let quantity = &values["definitions"]["quantity"];
    assert_eq!((&quantity["pattern"], &quantity["maxLength"]), (&QUANTITY.into(), &MAX_QUANTITY.into()));
    assert_eq!(quantity["minimum"], 0);
}
