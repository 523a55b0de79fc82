//! Tests of a run whose launcher waits for a person, and of what that person does.

use anyhow::{Context, ensure};
use crds::{Outcome, status::Phase};
use e2e::{Cluster, Namespace, tools};

use crate::runs::{SOON, simulated};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_person_sends_the_load_of_a_run_for_debugging_by_hand() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    let labels = [("pod-security.kubernetes.io/enforce", "restricted")];
    let namespace = Namespace::labelled(&cluster, "debug", &labels).await?;
    let spec = simulated(10.0, 3, "storage: {pvc: {claimName: results, size: 1Gi}}\nlauncher: {debug: true}");
    namespace.create_run("chat", &spec).await?;
    let status = namespace.wait_for("chat", "the wait for a person", SOON, |it| it.reason == "Debugging").await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Running), None));
    let ready = status.conditions.iter().find(|it| it.kind == "Ready").context("a run has the condition Ready")?;
    println!("{}", ready.message);
    // Runs exactly the command in the status, but without a terminal.
    let (_, command) = ready.message.split_once("yourself: kubectl ").context("the message has the command")?;
    let (command, _) = command.split_once("; the run ends").context("the message says how the run ends")?;
    let words: Vec<String> = command.split_whitespace().filter(|it| *it != "-it").map(str::to_owned).collect();
    let by_hand = move || tools::kubectl(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let sent = tokio::task::spawn_blocking(by_hand).await??;
    println!("{sent}");
    ensure!(sent.contains("TTFT") && sent.contains("/results/chat-"), "{sent}");
    // The command in the log names the Job instead of the pod.
    let job = &status.attempts.last().context("a run that waits has an attempt")?.job_name;
    let name = namespace.name.clone();
    let of_job = format!("job/{job}");
    let by_job = move || {
        let arguments = [
            "exec",
            "-n",
            &name,
            &of_job,
            "-c",
            "launcher",
            "--",
            "/benchwright",
            "run",
            "--now",
            "--results",
            "/tmp/results",
        ];
        tools::kubectl(&arguments)
    };
    let sent = tokio::task::spawn_blocking(by_job).await??;
    ensure!(sent.contains("/tmp/results/"), "{sent}");
    assert_eq!(namespace.status("chat").await?.phase, Some(Phase::Running));

    namespace.patch_run("chat", "{cancel: Graceful}").await?;
    let ended = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((ended.outcome, ended.summary.is_none()), (Some(Outcome::Cancelled), true), "{ended:#?}");
    // The pod that reads the claim is not one of ours. It runs as root, so the namespace must allow privileged pods.
    tools::kubectl(&[
        "label",
        "--overwrite",
        "namespace",
        &namespace.name,
        "pod-security.kubernetes.io/enforce=privileged",
    ])?;
    let left = namespace.shell_on_claim("results", "ls /data").await?;
    ensure!(left.lines().count() == 1 && left.starts_with(&format!("{job}-2")), "{left}");
    Ok(())
}
