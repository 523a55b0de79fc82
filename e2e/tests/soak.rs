//! `make soak`: tests that take minutes, or need a quiet machine.

use std::{
    fs::File,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use e2e::{Cluster, Namespace, outage::assert_runs_outlive_an_outage, tools};
use serde_json::Value;

/// Size in bytes of the file that makes a results folder large.
const LARGE: u64 = 1_000 << 20;
const MEBIBYTES: u64 = LARGE >> 20;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes of a quiet machine: make soak"]
async fn runs_stay_valid_while_the_api_server_is_down_for_minutes() -> anyhow::Result<()> {
    // This uses the default validity bounds, so the launcher must not be late.
    assert_runs_outlive_an_outage(Duration::from_secs(180), "validity: {}").await
}

/// The copy uses exec on a real kubelet. A plugin that was built for release may be set in `KUBECTL_BENCHWRIGHT`, because a debug build is slow.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "copies a gigabyte: make soak"]
async fn a_gigabyte_of_results_comes_as_it_was() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "copy").await?;
    let spec = "target: {simulator: {}}\nprofile: {variables: {rate: '5', duration: '5'}}\nvalidity: {maxSendLagP99Milliseconds: 10000}\n\
                storage: {pvc: {claimName: results, size: 2Gi}}";
    namespace.create_run("large", spec).await?;
    let status = namespace.wait_finished("large", Duration::from_secs(90)).await?;
    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    // The file has random bytes, which cannot be compressed, like the requests of a long run.
    let file = format!("/data/{job}/large.bin");
    let made = namespace
        .shell_on_claim("results", &format!("dd if=/dev/urandom of={file} bs=1M count={MEBIBYTES} 2>/dev/null && chmod 644 {file} && sha256sum {file}"))
        .await?;
    let sent = made.split_whitespace().next().context("sha256sum prints a checksum")?;
    let folder = tempfile::tempdir()?;
    let start = Instant::now();
    let namespace_flag = namespace.name.clone();
    let path = folder.path().to_owned();
    let copied = tokio::task::spawn_blocking(move || {
        tools::plugin(&["results", "large", "out", "-n", &namespace_flag], &tools::kubeconfig(), &path)
    });
    let copied = copied.await??;
    let took = start.elapsed().as_secs_f64();
    ensure!(copied.status.success(), "{copied:?}");
    let out = folder.path().join("out");
    ensure!(File::open(out.join("large.bin"))?.metadata()?.len() == LARGE, "{copied:?}");
    assert_eq!(checksum(&out.join("large.bin"))?, sent);
    // The launcher's files are in the same folder, and have the checksums that are in the status.
    serde_json::from_reader::<_, Value>(File::open(out.join("report.json"))?)?;
    for artifact in status.artifacts.iter().filter(|it| !it.sha256.is_empty()) {
        assert_eq!(checksum(&out.join(&artifact.name))?, artifact.sha256, "{}", artifact.name);
    }
    let rate = LARGE as f64 / 1e6 / took;
    println!("{MEBIBYTES} MiB copied in {took:.1} s, the start of the pod included: {rate:.0} MB/s");
    println!("{}", String::from_utf8_lossy(&copied.stderr));
    Ok(())
}

fn checksum(path: &Path) -> anyhow::Result<String> {
    let output = Command::new("sha256sum").arg(path).output().context("cannot start sha256sum")?;
    ensure!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_whitespace().next().context("sha256sum prints a checksum")?.to_owned())
}
