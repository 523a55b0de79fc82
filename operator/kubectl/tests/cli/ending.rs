//! Exit codes, tables and JUnit XML of finished runs.

use serde_json::{Value, json};

use crate::{
    plugin::{self, Plugin},
    runs::{created, ended, objectives, under_way},
    server::Server,
};

const OUTCOMES: [(&str, &str, i32); 6] = [
    ("Passed", "RunSucceeded", 0),
    ("SLOViolated", "SLOViolated", 1),
    ("Invalid", "MeasurementInvalid", 2),
    ("Inconclusive", "SLOInconclusive", 2),
    ("Error", "TargetUnavailable", 3),
    ("Cancelled", "Cancelled", 4),
];

#[tokio::test(flavor = "multi_thread")]
async fn gate_and_wait_have_an_exit_code_for_each_outcome() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    for (outcome, reason, code) in OUTCOMES {
        server.store(created("chat"), ended(outcome, reason));
        for command in ["gate", "wait"] {
            let done = plugin.run(&[command, "chat"]).await;
            assert_eq!(done.code, Some(code), "{command} {outcome}: {done:?}");
            let headline = format!(
                "{outcome}: chat, model llama, target http://gateway.llm-d:80\n{reason}: what the operator says\n"
            );
            assert!(done.stdout.starts_with(&headline), "{}", done.stdout);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_of_the_status_are_printed() {
    let server = Server::start().await;
    server.store(created("chat"), ended("SLOViolated", "SLOViolated"));
    let done = Plugin::new(&server).run(&["wait", "chat"]).await;
    for line in [
        " TTFT  21ms  32ms  46.65ms",
        "requests 3000, failed 2, cancelled 0, in 300.1s",
        "503.6 output tokens/s",
        " ttft        46.65ms   40ms   NO",
        " tput          503.6    500  yes",
        "results: pvc://results/chat-2db482-a1",
    ] {
        assert!(done.stdout.contains(line), "{line:?} is not in\n{}", done.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_managed_server_is_shown_while_it_starts_and_at_the_end() {
    let server = Server::start().await;
    let mut status = under_way("Preparing", "ServerStarting", "1 of 2 replicas are ready");
    status["server"] =
        json!({"name": "chat-1-server", "replicas": 2, "readyReplicas": 1, "startTime": "2026-01-01T00:00:00Z"});
    server.store(created("chat"), status.clone());
    let plugin = Plugin::new(&server);
    let done = plugin.run(&["status", "chat"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(
        done.stdout,
        "chat: Preparing/ServerStarting: 1 of 2 replicas are ready\n\n\
         server chat-1-server: 1 of 2 replicas ready\n  started at 2026-01-01T00:00:00Z, not ready yet\n"
    );
    let mut over = ended("Error", "ServerFailed");
    over["server"] = status["server"].clone();
    over["server"]["goneTime"] = json!("2026-01-01T00:01:00Z");
    over["server"]["lastFailure"] = json!("the server in pod s-0 ended with exit code 1");
    server.set_status("chat", over);
    for command in ["status", "wait"] {
        let done = plugin.run(&[command, "chat"]).await;
        let lines = "server chat-1-server: removed at 2026-01-01T00:01:00Z\n  started at 2026-01-01T00:00:00Z, never ready\n  \
                     last failure: the server in pod s-0 ended with exit code 1\n";
        assert!(done.stdout.contains(lines), "{command}: {}", done.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_not_ended_has_no_verdict() {
    let server = Server::start().await;
    server.store(created("chat"), under_way("Running", "Measuring", "it sends"));
    let done = Plugin::new(&server).run(&["gate", "chat"]).await;
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""));
    assert!(
        done.stderr.contains("chat has not ended: Running; `kubectl benchwright wait chat -n bench` waits"),
        "{}",
        done.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn junit_xml_has_the_test_names_of_the_launchers_own() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let mut run = created("chat");
    run["spec"]["slo"] = objectives();
    server.store(run.clone(), ended("SLOViolated", "SLOViolated"));
    let done = plugin.run(&["gate", "chat", "--junit", "junit.xml"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    let xml = std::fs::read_to_string(plugin.path("junit.xml")).unwrap();
    for part in [
        r#"<testsuite name="chat" tests="3" failures="1" errors="0" skipped="0" timestamp="2026-01-01T00:00:10Z" time="300.1">"#,
        r#"<testcase classname="chat" name="the measurement is valid"/>"#,
        r#"name="ttft: p99 of ttft in every stage, max 40ms">"#,
        r#"<failure type="missed" message="observed 46.65ms, limit 40ms">"#,
        r#"name="tput: outputTokensPerSecond, min 500"/>"#,
    ] {
        assert!(xml.contains(part), "{part} is not in\n{xml}");
    }

    // If a run has no result, its objectives are undecided, and the test suite has an error.
    let mut status = ended("Error", "TargetUnavailable");
    (status["objectives"], status["summary"]) = (json!([]), json!(null));
    server.store(run, status);
    let done = plugin.run(&["gate", "chat", "--junit", "junit.xml"]).await;
    assert_eq!(done.code, Some(3), "{done:?}");
    let xml = std::fs::read_to_string(plugin.path("junit.xml")).unwrap();
    assert!(xml.contains(r#"failures="0" errors="3""#), "{xml}");

    let done = plugin.run(&["gate", "chat", "--junit", "new/folder/junit.xml"]).await;
    assert!(done.code == Some(3) && plugin.path("new/folder/junit.xml").is_file(), "{done:?}");
    let done = plugin.run(&["gate", "chat", "--junit", "junit.xml/below.xml"]).await;
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("--junit is junit.xml/below.xml, which cannot be written"), "{}", done.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn objectives_that_a_full_status_leaves_out_are_no_errors() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let mut run = created("chat");
    run["spec"]["slo"] = objectives();
    let mut check = async |enforcement: &str, status: &Value, counts: &str| {
        run["spec"]["slo"]["enforcement"] = json!(enforcement);
        server.store(run.clone(), status.clone());
        let done = plugin.run(&["gate", "chat", "--junit", "junit.xml"]).await;
        let xml = std::fs::read_to_string(plugin.path("junit.xml")).unwrap();
        assert!(xml.contains(&format!(r#"tests="3" {counts}"#)), "{counts} is not in\n{xml}\n{done:?}");
    };
    // The status of a run that was restored from a backup has no figures and objectives, only an outcome.
    let mut status = ended("Passed", "Restored");
    (status["objectives"], status["summary"]) = (json!([]), json!(null));
    check("Fail", &status, r#"failures="0" errors="0" skipped="0""#).await;
    check("Report", &status, r#"failures="0" errors="0" skipped="2""#).await;
    // Not every objective has a row, but the condition counts them all.
    let met = json!({
        "type": "SLOMet", "status": "True", "reason": "SLOMet", "message": "2 of 2 objectives met",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    });
    status["objectivesTruncated"] = json!(true);
    status["conditions"].as_array_mut().unwrap().push(met);
    check("Report", &status, r#"failures="0" errors="0" skipped="0""#).await;
    // The met objective has no row. Another row shows the missed objective.
    let mut status = ended("SLOViolated", "SLOViolated");
    status["objectivesTruncated"] = json!(true);
    status["objectives"].as_array_mut().unwrap().pop();
    check("Fail", &status, r#"failures="1" errors="0" skipped="1""#).await;
    // Without rows, no row shows the failure.
    status["objectives"] = json!([]);
    check("Fail", &status, r#"failures="0" errors="2" skipped="0""#).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_junit_file_that_cannot_be_written_is_told_before_the_run_is_created() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let file = plugin.file("run.yaml", crate::runs::FILE);
    server.store(created("old"), ended("Passed", "RunSucceeded"));
    std::fs::create_dir(plugin.path("folder")).unwrap();
    std::fs::write(plugin.path("folder/file"), "").unwrap();
    for (path, why) in [("folder/file/junit.xml", "File exists"), ("folder", "it is a folder")] {
        for command in [&["run", &file][..], &["rerun", "old"]] {
            let done = plugin.run(&[command, &["--junit", path]].concat()).await;
            assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{done:?}");
            assert!(
                done.stderr.contains(&format!("--junit is {path}, which cannot be written: {why}")),
                "{}",
                done.stderr
            );
        }
    }
    assert!(server.requests("POST").is_empty(), "{:?}", server.requests("POST"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_junit_file_that_cannot_be_written_leaves_the_verdict() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    // A file name that links to a device which accepts no byte.
    std::os::unix::fs::symlink("/dev/full", plugin.path("full")).unwrap();
    for (outcome, reason, code) in [("SLOViolated", "SLOViolated", 1), ("Passed", "RunSucceeded", 3)] {
        server.store(created("chat"), ended(outcome, reason));
        for command in ["gate", "wait"] {
            let done = plugin.run(&[command, "chat", "--junit", "full"]).await;
            assert_eq!(done.code, Some(code), "{done:?}");
            assert!(done.stdout.starts_with(outcome), "{}", done.stdout);
            assert!(done.stderr.contains("--junit is full, which cannot be written: No space left"), "{}", done.stderr);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn junit_xml_goes_to_what_is_no_regular_file_and_through_links() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    server.store(created("chat"), ended("Passed", "RunSucceeded"));
    // A file name that links to a pipe. A faulty plugin would replace the link by a file.
    std::os::unix::fs::symlink("/dev/stdout", plugin.path("pipe")).unwrap();
    std::os::unix::fs::symlink("real.xml", plugin.path("link.xml")).unwrap();
    let done = plugin.run(&["gate", "chat", "--junit", "pipe"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.starts_with("Passed: chat") && done.stdout.ends_with("</testsuites>\n"), "{}", done.stdout);
    for expected in ["new", "replaced"] {
        let done = plugin.run(&["gate", "chat", "--junit", "link.xml"]).await;
        assert_eq!(done.code, Some(0), "{expected}: {done:?}");
        assert!(std::fs::read_to_string(plugin.path("real.xml")).unwrap().ends_with("</testsuites>\n"));
    }
    // The report and stdout are the same file, which already contains the verdict.
    let verdict = std::fs::File::create(plugin.path("out.txt")).unwrap();
    let done = plugin::done(plugin.start_into(&["gate", "chat", "--junit", "pipe"], verdict.into())).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let text = std::fs::read_to_string(plugin.path("out.txt")).unwrap();
    assert!(text.starts_with("Passed: chat") && text.ends_with("</testsuites>\n"), "{text}");
    for link in ["pipe", "link.xml"] {
        assert!(plugin.path(link).is_symlink(), "{link} was replaced");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_those_of_the_newest_attempt() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    server.store(created("chat"), json!({"observedGeneration": 1, "phase": "Pending"}));
    let done = plugin.run(&["logs", "chat"]).await;
    assert!(done.code == Some(3) && done.stderr.contains("chat has no attempt yet"), "{done:?}");

    let mut status = under_way("Running", "Measuring", "");
    status["attempts"] = json!([
        {"number": 1, "jobName": "chat-a1", "podName": "one", "startTime": "2026-01-01T00:00:00Z"},
        {"number": 2, "jobName": "chat-a2", "podName": "two", "startTime": "2026-01-01T00:00:00Z"},
    ]);
    server.set_status("chat", status);
    server.set_log("two", &"a line\n".repeat(10_000));
    let done = plugin.run(&["logs", "chat"]).await;
    assert_eq!((done.code, done.stdout), (Some(0), "a line\n".repeat(10_000)));
    let done = plugin.run(&["logs", "chat", "--attempt", "1"]).await;
    assert!(done.code == Some(3) && done.stderr.contains("pod one of attempt 1 is gone"), "{done:?}");
    let done = plugin.run(&["logs", "chat", "--attempt", "3"]).await;
    assert!(done.stderr.contains("--attempt is 3, which does not exist; chat has 1 and 2"), "{done:?}");
    server.deny("get", "/log");
    let done = plugin.run(&["logs", "chat"]).await;
    assert!(done.stderr.contains("you may not get pods/log in namespace bench; ask for the role view"), "{done:?}");
}

/// The condition that reports whether the operator's own image measured.
fn verified(status: &str, reason: &str) -> Value {
    json!({
        "type": "Verified", "status": status, "reason": reason, "message": "measured by the custom image other/launcher",
        "lastTransitionTime": "2026-01-01T00:05:00Z", "observedGeneration": 1,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_the_operator_does_not_vouch_for_passes_only_if_it_is_allowed_to() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let mut of_image = ended("Passed", "RunSucceeded");
    of_image["conditions"].as_array_mut().unwrap().push(verified("False", "CustomImage"));
    let mut own = ended("Passed", "RunSucceeded");
    own["conditions"].as_array_mut().unwrap().push(verified("True", "OwnLauncher"));
    let mut missed = ended("SLOViolated", "SLOViolated");
    missed["conditions"].as_array_mut().unwrap().push(verified("False", "CustomImage"));
    for (status, code, said) in [
        (of_image, 3, Some("CustomImage: measured by the custom image other/launcher")),
        // The status of an earlier release has no such condition.
        (ended("Passed", "Restored"), 3, Some("Restored")),
        (own, 0, None),
        (missed, 1, None),
    ] {
        server.store(created("chat"), status);
        for command in ["gate", "wait"] {
            let done = plugin.run(&[command, "chat"]).await;
            assert_eq!(done.code, Some(code), "{command}: {done:?}");
            let told = done.stderr.contains("use --allow-unverified to accept them");
            assert!(told == said.is_some() && said.is_none_or(|it| done.stderr.contains(it)), "{done:?}");
            let allowed = plugin.run(&[command, "chat", "--allow-unverified"]).await;
            assert_eq!(allowed.code, Some(if code == 1 { 1 } else { 0 }), "{command}: {allowed:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_ends_the_run_that_has_a_target() {
    let server = Server::start().await;
    let plugin = Plugin::new(&server);
    let on = |endpoint: &str, phase: &str, reason: &str| {
        let mut status = under_way(phase, reason, "what the operator says");
        status["resolved"] = json!({"endpoint": endpoint, "profileSha256": ""});
        status
    };
    let target = "http://gateway.llm-d.svc.cluster.local:80";
    server.store(created("holds"), on("http://gateway.llm-d", "Running", "Measuring"));
    let mut waits = on(target, "Pending", "TargetBusy");
    waits["attempts"] = json!([]);
    server.store(created("waits"), waits.clone());
    waits["reason"] = json!("NamespaceBusy");
    server.store(created("waits-for-its-namespace"), waits);
    server.store(created("elsewhere"), on("http://other.llm-d", "Running", "Measuring"));
    server.store(created("done"), ended("Passed", "RunSucceeded"));
    let tried = plugin.run(&["release", target, "--dry-run"]).await;
    assert_eq!((tried.code, tried.stdout.as_str()), (Some(0), "bench/holds would be cancelled\n"), "{tried:?}");
    assert!(!server.has_requested("PATCH"));
    let done = plugin.run(&["release", target]).await;
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "bench/holds cancelled\n"), "{done:?}");
    assert!(done.stderr.contains("waiting for http://gateway.llm-d.svc.cluster.local:80: 2"), "{done:?}");
    assert_eq!(server.requests("PATCH").len(), 1);

    server.delete("holds");
    let none = plugin.run(&["release", target]).await;
    assert!(none.code == Some(3) && none.stderr.contains("no run holds"), "{none:?}");
    let wrong = plugin.run(&["release", "the gateway"]).await;
    assert!(wrong.code == Some(3) && wrong.stderr.contains("write the URL of a server"), "{wrong:?}");

    // A user without the right to list all namespaces gets the runs of their own namespace.
    server.store(created("holds"), on(target, "Starting", "Unschedulable"));
    server.deny("list", "v1alpha1/benchmarkruns");
    let own = plugin.run(&["release", target]).await;
    assert!(own.code == Some(0) && own.stderr.contains("searches only namespace bench"), "{own:?}");
}
