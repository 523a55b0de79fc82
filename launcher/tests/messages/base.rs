//! The inputs for mutations: valid documents with a value in every field, and texts that cannot be read as a run.

use serde_json::{Value, json};

/// The smallest BenchmarkRun.
pub fn smallest() -> Value {
    json!({
        "apiVersion": "benchwright.dev/v1alpha1",
        "kind": "BenchmarkRun",
        "metadata": {"name": "chat"},
        "spec": {"target": {"simulator": {}}},
    })
}

/// A BenchmarkRun with a value in every field that has an effect on a laptop.
pub fn run() -> Value {
    let mut run = smallest();
    run["metadata"]["labels"] = json!({"team": "serving"});
    run["spec"] = json!({
        "target": {
            "url": "http://gateway.llm-d:8000/llm",
            "api": "OpenAIChat",
            "httpVersion": "HTTP1",
            "model": "org/model",
            "readiness": {"probe": "Models", "timeoutSeconds": 60},
        },
        "harness": "inference-perf",
        "profile": {
            "name": "sanity_random",
            "variables": {"isl": "384", "rate": "2"},
            "overrides": {"load.stages.0.duration": "5", "api.streaming": "true"},
        },
        "seed": 7,
        "launcher": {
            "image": "registry.example/launcher:1",
            "resources": {"requests": {"cpu": "2"}, "limits": {"memory": "4Gi"}},
            "scheduling": {
                "nodeSelector": {"pool": "load"},
                "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "load", "effect": "NoSchedule", "tolerationSeconds": 5}],
                "priorityClassName": "high",
                "runtimeClassName": "kata",
                "schedulerName": "packs",
            },
            "labels": {"team": "serving"},
            "annotations": {"note": "hello"},
        },
        "storage": {
            "pvc": {"claimName": "results", "size": "5Gi", "storageClassName": "fast"},
            "required": false,
            "perRequestRecords": "Full",
        },
        "validity": {
            "minSuccessfulRequests": 10,
            "maxErrorRatio": "0.05",
            "maxSendLagP99Milliseconds": 5,
            "maxReceiveDelayP99Milliseconds": 5,
            "maxCpuShare": "0.9",
            "maxThrottledShare": "0.05",
            "maxStealShare": "0.1",
            "maxCoalescedReadShare": "0.05",
            "maxStalledShare": "0.05",
            "maxClockStepMilliseconds": 1000,
        },
        "slo": {
            "enforcement": "Report",
            "objectives": [
                {"name": "first", "metric": "ttft", "stat": "p99", "stage": "*", "max": "500ms"},
                {"name": "errors", "metric": "errorRatio", "max": "0.01"},
                {"name": "throughput", "metric": "outputTokensPerSecond", "min": 900},
            ],
        },
        "execution": {
            "retry": {"limit": 2},
            "deadlines": {"prepareSeconds": 9, "startSeconds": 100, "runSeconds": 200, "collectSeconds": 30},
            "gracePeriodSeconds": 30,
        },
        "queueName": "load",
        "suspend": false,
        "cancel": "Graceful",
        "cleanup": {"run": {"afterSuccessSeconds": 60, "afterFailureSeconds": 60}},
    });
    run
}

/// A profile of our own format.
pub fn benchwright() -> Value {
    json!({
        "api": "completions",
        "streaming": true,
        "model": "org/model",
        "headers": {"x-tenant": "blue"},
        "requests": {"random": {
            "input": 512,
            "output": {"shape": "normal", "mean": 128, "stdDev": 32, "min": 1, "max": 256},
            "text": "words",
        }},
        "stages": [
            {
                "name": "steady",
                "load": {"open": {"arrivals": "poisson", "rate": 5, "duration": "60s", "maxConcurrency": 100}},
                "pauseAfter": "1s",
                "warmUp": {"duration": "10s"},
                "coolDown": {"duration": "10s"},
                "grace": "30s",
            },
            {"load": {"closed": {"concurrency": 8, "duration": "30s", "rampUp": "2s"}}},
            {"load": {"burst": {"count": 50}}, "warmUp": {"count": 10}},
            {"load": {"trace": {"trace": {"inline": [{"at": "0s", "input": 374, "output": 44}, {"at": "4.3s"}]}, "speed": 2, "lengths": true}}},
        ],
        "window": "all",
        "abandonment": {"share": 0.1, "after": {"uniform": {"min": "1s", "max": "9s"}}},
        "probes": {"rate": 1, "input": 8, "output": 1},
        "sampling": {"ignoreEos": true, "minTokens": 1, "lengthField": "maxTokens", "extra": {"temperature": 0.5}},
        "timeouts": {"connect": "10s", "firstToken": "60s", "tokenGap": "10s", "request": "300s"},
        "goodput": {"ttft": "1s", "tpot": "50ms"},
    })
}

/// A profile of inference-perf.
pub fn inference_perf() -> Value {
    json!({
        "api": {"type": "completion", "streaming": true, "headers": {"x-tenant": "blue"}},
        "server": {"type": "vllm", "model_name": "org/model", "base_url": "http://h", "ignore_eos": true},
        "load": {
            "type": "constant",
            "interval": 1,
            "stages": [{"rate": 2, "duration": 30}, {"rate": 4, "duration": 30}],
            "request_timeout": 30,
            "num_workers": 1,
        },
        "data": {
            "type": "random",
            "input_distribution": {"type": "normal", "min": 10, "max": 1024, "mean": 512, "std_dev": 200, "total_count": 100},
            "output_distribution": {"min": 10, "max": 1024, "mean": 512, "std_dev": 200},
        },
        "report": {"request_lifecycle": {"summary": true, "per_request": true}, "goodput": {"constraints": {"ttft": 0.5}}},
        "metrics": {"type": "default"},
        "storage": {"local_storage": {"path": "reports"}},
    })
}

/// Texts that no tree of values can represent. Each has the field and the value that its message must contain.
pub fn broken_texts() -> Vec<(String, &'static str, &'static str)> {
    const HEAD: &str = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: chat}\n";
    let spec = |spec: &str| format!("{HEAD}spec: {{target: {{simulator: {{}}}}, {spec}}}\n");
    let url = |url: &str| format!("{HEAD}spec:\n  target: {{url: {}}}\n", Value::from(url));
    let inline = |text: &str| {
        format!("{HEAD}spec:\n  target: {{simulator: {{}}}}\n  profile: {{inline: {}}}\n", Value::from(text))
    };
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", format!("*a{},", level - 1).repeat(10)));
    }
    vec![
        (spec("seed: 1, seed: 2"), "spec.seed", "2"),
        (spec("seed: 010"), "spec.seed", "010"),
        (spec("seed: .nan"), "spec.seed", ".nan"),
        (spec("storage: {perRequestRecords: Off}"), "spec.storage.perRequestRecords", "Off"),
        (spec("execution: {retry: {on: [Disrupted]}}"), "spec.execution.retry.on", "Disrupted"),
        (spec("profile: !file {name: sanity_random}"), "spec.profile", "!file"),
        (spec("profile: {variables: {n: 1}}"), "spec.profile.variables.n", "n"),
        (spec("validity: [0, \"1\"]"), "spec.validity", "1"),
        (format!("{HEAD}spec: [{{simulator: {{}}}}, loadgen]\n"), "spec", "loadgen"),
        (format!("{HEAD}spec:\n"), "spec", ""),
        (format!("{HEAD}spec: {{target: {{simulator: {{}}}}\n"), "line", ""),
        (format!("{HEAD}spec:\n\ttarget: {{}}\n"), "line 5", ""),
        (format!("{HEAD}spec: a: b\n"), "line 4", "a: b"),
        (format!("{HEAD}spec: *nobody\n"), "line 4", "*nobody"),
        (format!("{HEAD}---\n{HEAD}"), "line", "several documents"),
        (format!("{HEAD}{bomb}"), "line", "50000"),
        (format!("{HEAD}spec: {}", "[".repeat(5_000)), "line 4", "["),
        (url("http://h:99999"), "spec.target.url", "http://h:99999"),
        (url("http://h:8000:9000"), "spec.target.url", "http://h:8000:9000"),
        (url("http://[::1"), "spec.target.url", "http://[::1"),
        (url("http://h:0"), "spec.target.url", "http://h:0"),
        (url("http://h:+80"), "spec.target.url", "http://h:+80"),
        (url("http://h:"), "spec.target.url", "http://h:"),
        (url("http://h\u{7}"), "spec.target.url", "http://h\\u{7}"),
        (url("unix:relative"), "spec.target.url", "unix:relative"),
        (inline("load: {stages: [{rate: 1, duration: {{ duration }} }]}"), "duration", "duration"),
        (inline("{{ 1.5 | round(precision=400) }}"), "template, line 1", "400"),
        (inline("{% include 'x' %}"), "template, line 1", "include"),
        (inline("a: {{ 'b' * 2 }}"), "template, line 1", "'b'"),
        (inline("a: {{ b"), "template, line 1", "{{"),
        (inline("load: [1"), "line 1", "load: [1"),
        (inline("load: {}\nload: {}"), "load", "a mapping"),
        (
            inline("sampling: {extra: {temperature: .nan}}").replace("profile:", "harness: benchwright\n  profile:"),
            "sampling.extra.temperature",
            ".nan",
        ),
        (
            inline("headers: {X-A: 1, x-a: 2}").replace("profile:", "harness: benchwright\n  profile:"),
            "headers.x-a",
            "X-A",
        ),
        (spec("profile: {overrides: {load.stages.9.rate: 1}}"), "load.stages.9.rate", "9"),
        (spec("profile: {overrides: {lod.x: 1}}"), "lod.x", "lod"),
        (spec("profile: {variables: {isl: ten}}"), "isl", "ten"),
        (spec("profile: {variables: {model: x}}"), "profile.variables.model", ""),
        (spec("profile: {variables: {ratee: 1}}"), "profile.variables.ratee", "ratee"),
        (spec("profile: {name: sanity_randm}"), "sanity_randm", "sanity_randm"),
    ]
}
