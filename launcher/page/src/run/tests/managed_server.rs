//! Tests the section about the server that was started for the run.

use serde_json::{Value, json};

use crate::{
    fixture::{full, read},
    run::render,
};

/// A run with a server of two replicas. The second one may have died.
fn run(harness: &str, died: bool) -> Value {
    let mut document = full();
    document["resolvedRun"]["harness"] = json!(harness);
    let mut second = json!({
        "url": "http://127.0.0.1:8001", "command": ["sh", "-c", "serve <model>"], "pid": 8, "readyMs": 1500, "requests": 6,
        "started": "2026-11-21T02:08:51Z", "exit": "signal 6 (SIGABRT)", "log": "server/1.log", "logNote": "its end is cut",
    });
    if died {
        second["died"] = json!(true);
        second["outOfMemory"] = json!("the kernel ended 1 process of it");
        second["lastWords"] = json!(["RuntimeError: <script>", "CUDA error: an illegal memory access"]);
    }
    document["managedServer"] = json!({
        "engine": "Custom", "lifecycle": "PerRun", "reused": false, "distribution": "RoundRobin",
        "unknownOptions": ["no-such"], "notes": ["a note"],
        "replicas": [{"url": "http://127.0.0.1:8000", "command": ["sh"], "pid": 7, "started": "2026-11-21T02:08:50Z"}, second],
        "end": {"killed": ["8 (python <x>)"]},
    });
    document
}

fn page(document: &Value) -> String {
    render(&read(document)).unwrap()
}

/// The part of the page with the section on the started server.
#[track_caller]
fn section(page: &str) -> &str {
    let start = "<section class=\"table\" aria-labelledby=\"heading-managed-server\"";
    assert_eq!(page.matches(start).count(), 1);
    page.split_once(start).and_then(|(_, rest)| rest.split_once("</section>")).map(|it| it.0).unwrap()
}

#[test]
fn a_run_without_a_server_of_its_own_has_no_such_section() {
    assert!(!page(&full()).contains("Managed server"));
}

#[test]
fn a_server_that_died_has_its_end_and_its_last_words_with_every_text_escaped() {
    let page = page(&run("inference-perf", true));
    let section = section(&page);
    for part in [
        "It was started for this run, and ended with it.",
        "<th scope=\"col\">Launch to ready</th>",
        "<td>2026-11-21 02:08:51 UTC</td>",
        "<td>died: signal 6 (SIGABRT)</td>",
        "<td>1.5s</td><td>6</td>",
        "replica 1, last words:",
        "<pre>RuntimeError: &lt;script&gt;\nCUDA error: an illegal memory access\n</pre>",
        "replica 1: the kernel ended 1 process of it",
        "replica 1, command: <code>sh -c serve &lt;model&gt;</code>; log: <a href=\"server/1.log\">server/1.log</a> (its end is cut)",
        "replica 0, command: <code>sh</code></li>",
        "passes on unchanged: --no-such",
        "a note",
        "SIGKILL ended them: 8 (python &lt;x&gt;)",
    ] {
        assert!(section.contains(part), "no {part:?} in {section}");
    }
    assert!(section.find("replica 1, last words") < section.find("replica 0, command"), "what died comes first");
}

#[test]
fn the_section_is_first_where_the_server_died_and_else_beside_its_start() {
    for (harness, died, before, after) in [
        ("inference-perf", true, "<h1 ", "class=\"hero\""),
        ("nop", true, "<h1 ", "class=\"hero\""),
        ("nop", false, "<dl class=\"tiles\"", "id=\"heading-startups\""),
        ("inference-perf", false, "id=\"fold-errors\"", "id=\"heading-startups\""),
    ] {
        let mut document = run(harness, died);
        document["startups"] =
            json!([{"server": "1", "log": "server/1.log", "startup": {"outcome": "ready", "log": {"lines": 9}}}]);
        let page = page(&document);
        section(&page);
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text:?}"));
        let found = place("id=\"heading-managed-server\"");
        assert!(place(before) < found && found < place(after), "{harness}, died: {died}");
    }
}

#[test]
fn only_a_log_of_the_results_folder_is_a_link() {
    for log in ["javascript:alert(1)", "../x", "/etc/passwd", "server/0.log", "server/1.log\" onclick=\"x"] {
        let mut document = run("inference-perf", true);
        document["managedServer"]["replicas"][1]["log"] = json!(log);
        let page = page(&document);
        let section = section(&page);
        assert!(!section.contains("href") && !section.contains("onclick=\""), "{section}");
        assert!(section.contains("(log: "), "{section}");
    }
}

#[test]
fn a_server_without_known_replicas_has_its_notes() {
    let mut document = run("inference-perf", false);
    document["managedServer"]["replicas"] = json!([]);
    let page = page(&document);
    let section = section(&page);
    assert!(section.contains("a note") && !section.contains("<table>"), "{section}");
}

#[test]
fn the_last_words_of_many_replicas_come_before_the_commands_and_have_an_end() {
    let mut document = run("inference-perf", true);
    let mut replica = document["managedServer"]["replicas"][1].clone();
    replica["lastWords"] = json!(vec!["word"; 60]);
    document["managedServer"]["replicas"] = json!(vec![replica; 8]);
    let page = page(&document);
    let section = section(&page);
    // A replica has 60 words and three more lines, and at most 100 lines are shown. So the page contains 60 words of the first replica and 36 of the
    // second.
    assert_eq!(section.matches("\nword").count() + section.matches("<pre>word").count(), 96, "{section}");
    let all = 8 * (60 + 3);
    assert!(section.contains(&format!("{} more lines are in report.json.", all - 100)), "{section}");
}
