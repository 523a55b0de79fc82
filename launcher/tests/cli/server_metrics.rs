//! The server metrics of a run: read from the target, read from named sources, and turned off.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::common::{Folder, Sim, at, profile, simulated};

#[test]
fn the_target_is_read_and_its_tokens_are_ours() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    folder.benchwright(&["run", "-f", "run.yaml", "--plain"]).assert().success();
    let report = folder.report();
    let server = &report["serverMetrics"];
    assert_eq!(server["endpoints"][0]["kind"], "vLLM", "{server}");
    assert_eq!(server["endpoints"][0]["failures"], 0);
    assert_eq!(server["identity"][0]["version"], "0.32.0");
    assert!(server["identity"][0]["models"][0]["maxModelLen"].is_u64(), "{server}");
    let run = &server["run"];
    assert_eq!(run["whole"], true, "{server}");
    for (theirs, ours) in [("promptTokens", "clientPromptTokens"), ("generationTokens", "clientGenerationTokens")] {
        assert!(server[ours].as_u64().unwrap() > 100, "{server}");
        assert_eq!(run[theirs].as_f64(), server[ours].as_f64(), "{server}");
    }
    assert_eq!(run["succeededRequests"], 20.0);
    assert_eq!(run["serverTtftMs"]["count"], 20.0);
    // On a busy machine, scrapes are answered late, which causes a remark about gauges. Ignore this remark.
    let remarks = server["remarks"].as_array().unwrap().iter().filter_map(serde_json::Value::as_str);
    let gauges = ["the gauges of the servers report", "a busy server answers a scrape only at a quiet moment"];
    let is_late = |it: &&str| it.starts_with(gauges[0]) && it.ends_with(gauges[1]);
    let others: Vec<&str> = remarks.filter(|it| !is_late(it)).collect();
    assert!(others.is_empty(), "{others:?}");
    let page = fs::read_to_string(folder.path("results/latest/report.md")).unwrap();
    assert!(page.contains("## Server") && page.contains("- vLLM 0.32.0: "), "{page}");
    assert!(folder.path("results/latest/server_metrics.parquet").is_file());
}

#[test]
fn named_sources_replace_the_target_and_none_turns_it_off() {
    let folder = Folder::new();
    let (target, other) = (Sim::start(&["--preset", "tiny"]), Sim::start(&["--preset", "tiny"]));
    folder.write("run.yaml", &at(&target.url, 20, &profile(20, 1)));
    let url = format!("{}/metrics", other.url);
    folder.benchwright(&["run", "-f", "run.yaml", "--plain", "--metrics-url", &url]).assert().success();
    let server = &folder.report()["serverMetrics"];
    assert_eq!(
        (&server["endpoints"][0]["url"], &server["run"]["generationTokens"]),
        (&url.clone().into(), &0.0.into())
    );
    let remarks = server["remarks"].to_string();
    assert!(remarks.contains("not every server behind the target"), "{remarks}");
    let again = fs::read_to_string(folder.path("results/latest/benchmarkrun.yaml")).unwrap();
    assert!(again.contains(&url), "{again}");
    folder.benchwright(&["run", "-f", "run.yaml", "--plain", "--no-server-metrics"]).assert().success();
    assert!(folder.report().get("serverMetrics").is_none());
    let wrong = folder.benchwright(&["run", "-f", "run.yaml", "--metrics-url", "ftp://vllm"]).assert().code(10);
    let said = String::from_utf8_lossy(&wrong.get_output().stderr).into_owned();
    // The message names the flag and not the file. It does not suggest a socket, because metrics cannot be read through one.
    assert!(
        said.contains("--metrics-url: is \"ftp://vllm\"; write a URL that begins with http:// or https://\n"),
        "{said}"
    );
    assert!(!said.contains("run.yaml"), "{said}");
}

/// Sends a completion of one token, as another client would, and waits for the answer.
fn complete(url: &str) {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    let body = r#"{"model": "simulated", "prompt": "a b c", "max_tokens": 1}"#;
    let length = body.len();
    write!(
        stream,
        "POST /v1/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn requests_of_another_client_are_a_remark_and_a_run_alone_has_none() {
    let folder = Folder::new();
    let target = Sim::start(&["--preset", "tiny", "--model", "simulated"]);
    folder.write("run.yaml", &at(&target.url, 20, &profile(10, 2)));
    let run = || {
        let done = folder.benchwright(&["run", "-f", "run.yaml", "--plain"]).assert().success();
        let table = String::from_utf8_lossy(&done.get_output().stdout).replace("\n  ", " ");
        let server = folder.report()["serverMetrics"].clone();
        (table.contains("requests that this run did not send"), server)
    };
    let (is_told, server) = run();
    assert_eq!((is_told, &server["otherRequests"]), (false, &0.0.into()), "{server}");
    let has_ended = AtomicBool::new(false);
    let (is_told, server) = thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                complete(&target.url);
            }
        });
        let told = run();
        has_ended.store(true, Ordering::Relaxed);
        told
    });
    assert!(is_told && server["otherRequests"].as_f64().unwrap() > 2.0, "{server}");
    let remarks = server["remarks"].to_string();
    assert!(remarks.contains("another client used it during the measurement"), "{remarks}");
    for page in ["report.md", "report.html"] {
        let page = fs::read_to_string(folder.path("results/latest").join(page)).unwrap();
        assert!(page.contains("another client used it during the measurement"), "{page}");
    }
}
