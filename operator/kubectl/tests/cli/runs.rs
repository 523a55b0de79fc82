//! BenchmarkRuns in the states that the operator writes.

use serde_json::{Value, json};

/// A run file with a name.
pub const FILE: &str = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: chat}\nspec: {target: {simulator: {}}}\n";

/// A stored run without a status.
pub fn created(name: &str) -> Value {
    json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": {"name": name, "namespace": "bench", "uid": format!("uid-of-{name}"), "generation": 1},
        "spec": {"target": {"simulator": {}}}, "status": {"observedGeneration": -1},
    })
}

/// The status of a run in progress, with one attempt.
pub fn under_way(phase: &str, reason: &str, message: &str) -> Value {
    json!({
        "observedGeneration": 1, "phase": phase, "reason": reason,
        "attempts": [{"number": 1, "jobName": "chat-2db482-a1", "podName": "chat-2db482-a1-0-x", "startTime": "2026-01-01T00:00:00Z"}],
        "conditions": [ready("False", reason, message)],
    })
}

/// The status of a finished run, with figures and two objectives.
pub fn ended(outcome: &str, reason: &str) -> Value {
    let phase = match outcome {
        "Passed" => "Succeeded",
        "Cancelled" => "Cancelled",
        _ => "Failed",
    };
    let quantiles = json!({"p50Microseconds": 21000, "p90Microseconds": 32000, "p99Microseconds": 46650});
    let mut status = under_way(phase, reason, "what the operator says");
    status["outcome"] = json!(outcome);
    status["completionTime"] = json!("2026-01-01T00:05:00Z");
    status["loadStartTime"] = json!("2026-01-01T00:00:10Z");
    status["resolved"] = json!({"endpoint": "http://gateway.llm-d:80", "model": "llama", "profileSha256": "aa"});
    status["summary"] = json!({
        "requests": 3000, "failed": 2, "cancelled": 0, "durationMicroseconds": 300_100_000, "ttft": quantiles,
        "outputTokensPerSecondMilli": 503_649,
    });
    status["objectives"] = json!([
        {"name": "ttft", "met": if outcome == "SLOViolated" { "False" } else { "True" }, "observed": "46.65ms", "limit": "40ms"},
        {"name": "tput", "met": "True", "observed": "503.6", "limit": "500"},
    ]);
    status["artifacts"] = json!([
        {"name": "report.json", "uri": "pvc://results/chat-2db482-a1/report.json", "bytes": 5, "sha256": "00"},
    ]);
    status
}

/// The objectives of the status in [`ended`], as a spec contains them.
pub fn objectives() -> Value {
    json!({"objectives": [
        {"name": "ttft", "metric": "ttft", "stat": "p99", "stage": "*", "max": "40ms"},
        {"name": "tput", "metric": "outputTokensPerSecond", "min": 500},
    ]})
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    })
}
