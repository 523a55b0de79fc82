//! A run without load, which an operator of another release let pass.

use crds::benchmark_run::Harness;

use crate::fixture::{Pod, files};

#[test]
fn a_run_without_load_is_refused_before_anything_is_asked() {
    let pod = Pod::new();
    pod.mount_profile("{}", "target: {url: 'http://localhost:1'}\nharness: benchwright\n", |run| {
        run.harness = Harness::Nop
    });
    let done = pod.run();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(10), "{said}");
    assert!(said.contains("needs spec.target.server"), "{said}");
    assert!(pod.message().contains("needs spec.target.server"), "{}", pod.message());
    assert!(files(&pod.path("results")).is_empty());
}
