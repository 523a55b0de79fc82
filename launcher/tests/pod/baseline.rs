//! The report of an earlier run on the claim. Other users may write to this claim.

use std::fs;

use crds::{hex, resolve::ResolvedBaseline};
use sha2::{Digest as _, Sha256};

use super::fixture::Pod;

const SPEC: &str = "target: {simulator: {preset: Instant}}\n\
    slo: {objectives: [{name: e2e, metric: latency, stat: p50, max: 60s}], enforcement: Report}";

#[test]
fn a_baseline_that_was_changed_after_its_run_is_refused() {
    let pod = Pod::new();
    pod.mount("target: {simulator: {preset: Instant}}", |_| {});
    let first = pod.run();
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let folders = fs::read_dir(pod.path("results")).unwrap().flatten().map(|it| it.path().join("report.json"));
    let path = folders.into_iter().find(|it| it.is_file()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let recorded = hex(&Sha256::digest(&text));
    let mut pod = pod;
    pod.next_attempt();
    let run = |pod: &Pod| {
        pod.mount(SPEC, |run| {
            let baseline = ResolvedBaseline {
                report: Some(path.clone()),
                sha256: Some(recorded.clone()),
                ..ResolvedBaseline::default()
            };
            run.slo.as_mut().unwrap().baseline = Some(baseline);
        });
        let done = pod.run();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (code, said) = run(&pod);
    assert_eq!(code, Some(0), "{said}");
    fs::write(&path, format!("{text} ")).unwrap();
    pod.next_attempt();
    let (code, said) = run(&pod);
    assert_eq!(code, Some(10), "{said}");
    assert!(said.contains("was changed after its run") && said.contains("spec.slo.baseline"), "{said}");
}
