//! The chart holds the CRD of this release.

#![cfg(feature = "kube")]

#[test]
fn the_chart_holds_the_generated_crd() {
    let held = include_str!("../../charts/benchwright/files/benchmarkruns.yaml");
    let generated = crds::crd_yaml().unwrap();
    assert!(held == generated, "charts/benchwright/files/benchmarkruns.yaml is another one: run `make crd`");
}

#[test]
fn kubernetes_knows_every_format_of_the_crd() {
    let crd = crds::crd_yaml().unwrap();
    let formats: std::collections::BTreeSet<_> =
        crd.lines().filter_map(|it| it.trim().strip_prefix("format: ")).collect();
    assert!(!formats.is_empty());
    let known = ["int32", "int64", "float", "double", "date-time"];
    assert!(formats.iter().all(|it| known.contains(it)), "an install warns of {formats:?}");
}
