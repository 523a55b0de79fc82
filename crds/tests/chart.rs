//! The chart holds the CRD of this release.

#![cfg(feature = "kube")]

#[test]
fn the_chart_holds_the_generated_crd() {
    let held = include_str!("../../charts/benchwright/files/benchmarkruns.yaml");
    let generated = crds::crd_yaml().unwrap();
    assert!(held == generated, "charts/benchwright/files/benchmarkruns.yaml is another one: run `make crd`");
}
