//! `results`: the folder appears only when it is complete, and the pod is always deleted.

use std::{collections::BTreeMap, fs, path::Path, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    plugin::{Done, Plugin, done, line_with},
    runs::{created, ended},
    server::{Sent, Server},
};

const CLAIM: &str = "/api/v1/namespaces/bench/persistentvolumeclaims/results";
const POD: &str = "/api/v1/namespaces/bench/pods/other";
pub const POD_CREATION: &str = "POST /api/v1/namespaces/bench/pods?";
const RIGHT: &str = "Kubernetes 1.35 also requires the verb create; the role edit has both rights";

/// A server with one finished run, and the plugin.
pub async fn scene() -> (Server, Plugin) {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    server.set_object(CLAIM, claim("ReadWriteOnce"));
    server.set_pod_status(container("Running", json!({"running": {}})));
    store(&server, |_| {});
    (server, plugin)
}

/// Stores the run with a status that lists the files of [`folder`].
fn store(server: &Server, change: impl FnOnce(&mut Value)) {
    store_as(server, "chat", change);
}

/// Stores a run under this name, with a status that lists the files of [`folder`].
pub fn store_as(server: &Server, name: &str, change: impl FnOnce(&mut Value)) {
    let mut status = ended("Passed", "RunSucceeded");
    status["effectiveSpec"] = effective();
    status["attempts"][0]["nodeName"] = json!("node-1");
    let stored = json!({
        "type": "ResultsStored", "status": "True", "reason": "Stored", "message": "on the claim",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    });
    status["conditions"].as_array_mut().unwrap().push(stored);
    status["artifacts"] = json!([{
        "name": "report.json", "uri": "pvc://results/chat-2db482-a1/report.json", "bytes": 3,
        "sha256": "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356",
    }]);
    change(&mut status);
    server.store(created(name), status);
}

fn effective() -> Value {
    let spec: crds::BenchmarkRunSpec =
        serde_json::from_value(json!({"target": {"simulator": {}}, "storage": {"pvc": {"claimName": "results"}}}))
            .unwrap();
    let settings =
        crds::Settings { launcher_image: "registry.example/benchwright:1".into(), ..crds::Settings::default() };
    serde_json::to_value(crds::EffectiveSpec::new(&spec, "", &settings)).unwrap()
}

fn claim(mode: &str) -> Value {
    json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "results"},
        "spec": {"accessModes": [mode]}, "status": {"phase": "Bound"},
    })
}

fn container(phase: &str, state: Value) -> Value {
    json!({"phase": phase, "containerStatuses": [{
        "name": "archive", "image": "i", "imageID": "", "ready": true, "restartCount": 0, "state": state,
    }]})
}

/// A results folder: its files, and the stream in which the launcher's image sends them.
fn folder() -> (BTreeMap<String, Vec<u8>>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let files = BTreeMap::from([
        ("report.json".to_owned(), b"{}\n".to_vec()),
        ("requests.parquet".to_owned(), (0..2_000_000_u32).map(|it| (it % 253) as u8).collect()),
    ]);
    for (name, content) in &files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let mut stream = Vec::new();
    archive::write(folder.path(), &[], &mut stream).unwrap();
    (files, stream)
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    entries.map(|it| (it.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&it).unwrap())).collect()
}

/// Asserts the exit code and message of a command, and that no pod, no folder and no partial folder remains.
fn assert_nothing_left(server: &Server, plugin: &Plugin, done: &Done, code: i32, part: &str) {
    assert_eq!(done.code, Some(code), "{done:?}");
    assert!(done.stderr.contains(part), "{part:?} is not in {}", done.stderr);
    assert!(server.pods().is_empty(), "{:?}", server.pods());
    let left: Vec<_> = fs::read_dir(&plugin.folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["kubeconfig"], "{done:?}");
}

/// Runs `results chat out`, and asserts that it fails with this message.
async fn assert_fails(server: &Server, plugin: &Plugin, more: &[&str], part: &str) {
    let done = plugin.run(&[&["results", "chat", "out"], more].concat()).await;
    assert_nothing_left(server, plugin, &done, 3, part);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_comes_as_it_was_and_the_pod_goes() {
    let (server, plugin) = scene().await;
    let (sent, stream) = folder();
    server.set_exec(vec![Sent::Stdout(stream), Sent::End(None)]);
    let done = plugin.run(&["results", "chat", "out"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(files(&plugin.path("out")), sent);
    assert!(done.stderr.contains("created in namespace bench: it reads claim results\n"), "{}", done.stderr);
    assert!(done.stderr.ends_with("2 files, 1.9 MiB, in out\n") && done.stdout.is_empty(), "{done:?}");
    assert!(server.pods().is_empty());
    let exec = server.requests("GET /api/v1/namespaces/bench/pods/chat-results-");
    assert!(!exec.is_empty());
    let pod = &server.requests(POD_CREATION)[0];
    assert_eq!(pod["spec"]["containers"][0]["image"], "registry.example/benchwright:1");
    assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "results");
    let preferred = &pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(preferred["preference"]["matchFields"][0]["values"], json!(["node-1"]));
    // The target folder may exist if it is empty.
    fs::create_dir(plugin.path("empty")).unwrap();
    let done = plugin.run(&["results", "chat", "empty/", "--image", "other:2", "--timeout", "90s"]).await;
    assert_eq!((done.code, files(&plugin.path("empty"))), (Some(0), sent), "{done:?}");
    let pod = &server.requests(POD_CREATION)[1];
    assert_eq!(pod["spec"]["containers"][0]["image"], "other:2");
    assert_eq!(pod["spec"]["activeDeadlineSeconds"], 150);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_empty_is_refused_before_a_pod_is_made() {
    let (server, plugin) = scene().await;
    fs::create_dir(plugin.path("out")).unwrap();
    plugin.file("out/mine", "");
    for (dir, part) in [
        ("out", "DIR is out, which is not empty; name a new folder"),
        ("kubeconfig", "DIR is kubeconfig, which is no folder"),
        ("none/out", "create the parent folder"),
        ("/", "which is not empty"),
    ] {
        let done = plugin.run(&["results", "chat", dir]).await;
        assert!(done.code == Some(3) && done.stderr.contains(part), "{dir}: {done:?}");
    }
    assert!(server.requests(POD_CREATION).is_empty());
    assert_eq!(files(&plugin.path("out")).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_not_whole_leaves_nothing() {
    let (server, plugin) = scene().await;
    let (_, stream) = folder();
    let half = stream[..stream.len() / 2].to_vec();
    let mut other = stream.clone();
    let at = stream.len() / 2;
    other[at] ^= 1;
    for (sent, part) in [
        (vec![Sent::Stdout(half.clone()), Sent::End(None)], "the stream was cut: requests.parquet has"),
        (vec![Sent::Stdout(half.clone()), Sent::Break], "the stream was cut: requests.parquet has"),
        (vec![Sent::Stdout(half), Sent::Silence], "no data of the results arrived for --request-timeout 500ms"),
        (vec![Sent::Break], "the stream was cut: "),
        (vec![Sent::Stdout(other), Sent::End(None)], "requests.parquet has the checksum "),
        (
            vec![Sent::Stderr("benchwright: cannot read /results\n".into()), Sent::End(Some("exit code 10".into()))],
            "`benchwright archive` failed: exit code 10: benchwright: cannot read /results",
        ),
        // This is the error of the command that runs in the launcher's image.
        (
            vec![
                Sent::Stderr(format!("benchwright: {}\n", archive::ArchiveError::Empty("/results".into()))),
                Sent::End(Some("command terminated with exit code 10".into())),
            ],
            "the results of chat are gone: folder chat-2db482-a1 on claim results was deleted or moved after the run had ended; bring it back \
             from a backup of the claim, or run it again by `kubectl benchwright rerun chat -n bench`; the status still has its figures: \
             `kubectl benchwright gate chat -n bench`",
        ),
        (
            vec![Sent::Stdout(stream), Sent::End(Some("exit code 12".into()))],
            "`benchwright archive` failed: exit code 12",
        ),
        (
            vec![Sent::Stdout(b"hello".repeat(300)), Sent::End(None)],
            "this release cannot read this as a stream of `benchwright archive`",
        ),
    ] {
        server.set_exec(sent);
        assert_fails(&server, &plugin, &["--request-timeout", "500ms"], part).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_not_those_of_the_status_are_refused() {
    let (server, plugin) = scene().await;
    server.set_exec(vec![Sent::Stdout(folder().1), Sent::End(None)]);
    store(&server, |status| status["artifacts"][0]["sha256"] = json!("00"));
    assert_fails(
        &server,
        &plugin,
        &[],
        "differs from what the launcher of chat stored: report.json differs; --unverified",
    )
    .await;
    let done = plugin.run(&["results", "chat", "out", "--unverified"]).await;
    assert_eq!((done.code, files(&plugin.path("out")).len()), (Some(0), 2), "{done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_leaves_nothing() {
    let (server, plugin) = scene().await;
    server.set_exec(vec![Sent::Stdout(folder().1), Sent::End(None)]);
    // The shell limits files to 512 KiB, so that writing fails.
    let script =
        format!("trap '' XFSZ; ulimit -f 512; exec {} results chat out", env!("CARGO_BIN_EXE_kubectl-benchwright"));
    let child = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&plugin.folder)
        .env("KUBECONFIG", plugin.path("kubeconfig"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let done = done(child).await;
    assert_nothing_left(&server, &plugin, &done, 3, "free space, or name a folder on another disk");
    assert!(done.stderr.contains("requests.parquet"), "{}", done.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pod_goes_when_the_command_is_ended() {
    for (signal, code, part) in
        [(Signal::INT, 130, "interrupted; nothing was kept"), (Signal::TERM, 143, "ended by SIGTERM")]
    {
        let (server, plugin) = scene().await;
        let (_, stream) = folder();
        server.set_exec(vec![Sent::Stdout(stream[..stream.len() / 2].to_vec()), Sent::Silence]);
        let mut child = plugin.start(&["results", "chat", "out"]);
        line_with(&mut child, "it reads claim").await;
        // Wait until the exec has begun and the folder contains a file.
        while !fs::read_dir(&plugin.folder).unwrap().any(|it| it.unwrap().path().join("report.json").exists()) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_nothing_left(&server, &plugin, &done(child).await, code, part);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_counts_the_start_of_the_pod() {
    let (server, plugin) = scene().await;
    server.set_pod_status(json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "1 node(s) had volume node affinity conflict",
    }]}));
    let done = plugin.run(&["results", "chat", "out", "--timeout", "1s"]).await;
    assert_nothing_left(&server, &plugin, &done, 124, "were not copied within --timeout 1s");
    let said = "waits: Unschedulable: 1 node(s) had volume node affinity conflict; the volume of the claim is on a node that is gone";
    assert!(done.stderr.contains(said), "{}", done.stderr);
    // The API server may have created the pod although it sent no response, so the plugin must delete the pod.
    server.hold("create", "/pods");
    let done = plugin.run(&["results", "chat", "out", "--timeout", "1s"]).await;
    assert_nothing_left(&server, &plugin, &done, 124, "were not copied");
    assert_eq!(server.requests("DELETE /api/v1/namespaces/bench/pods/chat-results-").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_cannot_read_says_why() {
    let (server, plugin) = scene().await;
    let ended = json!({"terminated": {"exitCode": 10, "reason": "Error", "message": "error: unrecognized subcommand 'archive'"}});
    for (status, part) in [
        (
            container("Failed", ended),
            "is of a release without `benchwright archive`; give the image of this release with --image",
        ),
        (
            container("Pending", json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}})),
            "ImagePullBackOff: no such image; give an image that the cluster can pull with --image",
        ),
        (
            container(
                "Pending",
                json!({"waiting": {"reason": "CreateContainerConfigError", "message": "failed to create subPath directory"}}),
            ),
            "the folder is no longer on the claim",
        ),
    ] {
        server.set_pod_status(status);
        assert_fails(&server, &plugin, &[], part).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_cannot_be_read_need_no_pod() {
    let (server, plugin) = scene().await;
    let user = json!({
        "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "other"},
        "spec": {"nodeName": "node-2", "containers": [], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "results"}}]},
        "status": {"phase": "Running"},
    });
    server.set_object(POD, user);
    server.set_object(CLAIM, claim("ReadWriteOncePod"));
    let fails = async |part: &str| {
        let done = plugin.run(&["results", "chat", "out"]).await;
        assert!(done.code == Some(3) && done.stderr.contains(part), "{part:?} is not in {done:?}");
    };
    fails("claim results is ReadWriteOncePod, and pod other uses it now; try again when that pod has ended").await;
    let mut lost = claim("ReadWriteOnce");
    lost["status"]["phase"] = json!("Lost");
    server.set_object(CLAIM, lost);
    fails("has lost its volume").await;
    server.set_object(CLAIM, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound", "message": "gone"}));
    fails("the results of chat are gone: claim results does not exist in namespace bench any more").await;
    store(&server, |status| status["effectiveSpec"]["storage"]["pvc"] = Value::Null);
    fails("chat has no results folder: spec.storage is none").await;
    store(&server, |status| status["phase"] = json!("Running"));
    fails("chat has not ended, and its results folder is not complete; `kubectl benchwright wait chat -n bench` waits")
        .await;
    assert!(server.requests(POD_CREATION).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_goes_where_the_claim_is_used() {
    let (server, plugin) = scene().await;
    server.set_exec(vec![Sent::Stdout(folder().1), Sent::End(None)]);
    let pod = |name: &str, node: &str, phase: &str| {
        json!({
            "kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "status": {"phase": phase},
            "spec": {"nodeName": node, "containers": [], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "results"}}]},
        })
    };
    server.set_object("/api/v1/namespaces/bench/pods/a", pod("a", "node-2", "Succeeded"));
    server.set_object("/api/v1/namespaces/bench/pods/b", pod("b", "node-3", "Running"));
    let done = plugin.run(&["results", "chat", "out"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let made = &server.requests(POD_CREATION)[0];
    let preferred = &made["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(preferred["preference"]["matchFields"][0]["values"], json!(["node-3"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_are_missing_are_named() {
    let (server, plugin) = scene().await;
    server.set_exec(vec![Sent::Stdout(folder().1), Sent::End(None)]);
    server.deny("get", "/exec");
    assert_fails(&server, &plugin, &[], RIGHT).await;
    server.deny("create", "/pods");
    assert_fails(&server, &plugin, &[], "you may not create pods in namespace bench; ask for the role edit").await;
    let (server, plugin) = scene().await;
    server.set_exec(vec![Sent::Stdout(folder().1), Sent::End(None)]);
    // Without these two rights the plugin cannot check the claim in advance. The state of the pod then reveals the problem.
    server.deny("get", "/persistentvolumeclaims/results");
    server.deny("list", "/pods");
    let name = server.requests(POD_CREATION);
    assert!(name.is_empty());
    let done = plugin.run(&["results", "chat", "out"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
}
