//! Results that cannot be stored. The message suggests fields of the BenchmarkRun, because a pod has no command line.

use std::fs;

use crate::pod::fixture::Pod;

#[test]
fn the_advice_names_the_storage_of_the_run_and_no_flag() {
    let pod = Pod::new();
    for repeat in [1, 2] {
        pod.mount("target: {simulator: {preset: Tiny}}", |run| run.repeat = repeat);
        fs::remove_dir_all(pod.path("results")).unwrap();
        fs::write(pod.path("results"), "").unwrap();
        let output = pod.run();
        let core = pod.envelope().core;
        assert_eq!((output.status.code(), core.reason.as_str()), (Some(12), "StorageFailed"), "{core:?}");
        let advice = "choose another place in spec.storage (pvc.claimName, s3 or none)";
        assert!(core.message.contains(advice) && !core.message.contains("--results"), "{}", core.message);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("--results"), "{output:?}");
        fs::remove_file(pod.path("results")).unwrap();
    }
}
