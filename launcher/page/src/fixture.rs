//! Documents for tests. `fixtures/report.json` is the report of an earlier release, without the fields that panels need.

use document::ReportDocument;
use serde_json::{Value, json};

/// The report of a run with one stage, `r10`, and ten requests.
pub(crate) fn older() -> Value {
    serde_json::from_str(include_str!("../fixtures/report.json")).unwrap()
}

pub(crate) fn read(document: &Value) -> ReportDocument {
    ReportDocument::read(&document.to_string()).unwrap()
}

/// The report of [`older`] with all data for panels, in bins of half a second.
pub(crate) fn full() -> Value {
    let mut document = older();
    let times = json!({"count": [3, 0], "p50": [40.0, null], "p90": [50.0, null], "p99": [60.0, null]});
    document["timeSeries"] = json!({
        "binMs": 500.0, "startMs": 0.0, "firstEventMs": 0.0, "lastEventMs": 1000.0,
        "due": [6, 4], "sent": [6, 4], "ended": {"ok": [5, 3], "http_5xx": [1, 0], "timeout": [0, 1]},
        "underWay": [1.5, 1.0], "inputTokens": [60, 40], "outputTokens": [30, 20],
        "ttftMs": times, "itlMs": times, "latencyMs": times, "sendLagMs": times,
        "itlHeat": {"binsPerColumn": 2, "edgesMs": [1.0, 10.0, 100.0], "counts": [[7, 1]]},
    });
    let distribution = |effective: Option<f64>| {
        let mut it = json!({"count": 10, "share": [0.1, 0.5, 1.0], "ms": [41.0, 49.0, 59.0]});
        if let Some(effective) = effective {
            it["effectiveValues"] = effective.into();
        }
        it
    };
    document["stages"][0]["distributions"] = json!({"ttftMs": distribution(Some(200.0)), "itlMs": distribution(None), "latencyMs": distribution(Some(200.0))});
    document["stages"][0]["warmUp"] = json!({"duration": "200ms"});
    document["stages"][0]["figures"]["firstDueMs"] = json!(200.0);
    document["stages"][0]["uncertainty"] = json!({
        "level": 0.95,
        "ttftMs": {"count": 10, "p50": {"value": 49.0, "low": 47.0, "high": 52.0, "effectiveValues": 10.0}},
        "requestsPerSecond": {"value": 10.0, "low": 9.5, "high": 10.5, "effectiveValues": 40.0},
        "littlesLaw": {"meanConcurrency": 0.9, "endedPerSecond": 10.0, "meanTimeMs": 90.0, "residual": 0.0},
        "steadyState": {
            "status": "windowable", "verdict": "steady",
            "window": {"fromMs": 400.0, "toMs": 900.0, "succeeded": 5},
        },
    });
    document["requestSample"] = json!({
        "of": 12_345, "stage": [0, 0], "number": [3, 7], "outcome": ["ok", "timeout"],
        "dueMs": [100.0, 200.0], "sentMs": [101.0, null], "firstTokenMs": [150.0, null], "endedMs": [200.0, 150.0],
    });
    document["serverMetrics"] = json!({
        "intervalMs": 1000.0, "scrapeCpuMs": 1.0, "identity": [], "remarks": [], "stages": [],
        "endpoints": [{"url": "http://sut/metrics", "kind": "vllm", "scrapes": 2, "failures": 0, "series": 9, "seriesLeftOut": 0, "badLines": 0}],
        "run": {"whole": true, "counterResets": 0, "runningRequests": {"mean": 1.0, "min": 0.0, "max": 2.0}},
        "timeSeries": {
            "binMs": 500.0, "startMs": 0.0,
            "runningRequests": [1.0, 2.0], "waitingRequests": [0.0, 3.0], "kvCacheUsage": [0.25, null],
            "prefixCacheHitShare": [0.5, 0.75], "promptTokensPerSecond": [100.0, 80.0],
            "cachedPromptTokensPerSecond": [40.0, 90.0], "generationTokensPerSecond": [50.0, 60.0],
            "preemptionsPerSecond": [0.0, 1.0], "gpuUtilization": [0.5, 0.6], "gpuPowerWatts": [300.0, 310.0],
            "failedScrapes": [0, 0],
        },
    });
    document["hardware"] = json!({
        "source": "spec.target.hardware", "accelerator": "H100", "accelerators": 2, "pricePerAcceleratorHour": 2.5, "currency": "USD",
        "figures": {},
        "stages": [{"name": "r10", "figures": {"outputTokensPerSecondPerAccelerator": 25.0, "costPerMillionOutputTokens": 27.8}}],
    });
    document
}

/// The values of one stage of a sweep.
pub(crate) struct Level {
    pub(crate) rate: f64,
    pub(crate) done: f64,
    pub(crate) mean_ms: f64,
    pub(crate) count: u64,
}

/// A report with one stage per level. A stage is named by its number.
pub(crate) fn sweep(levels: &[Level]) -> Value {
    let mut document = older();
    let stage = document["stages"][0].clone();
    let stages = levels.iter().enumerate().map(|(index, level)| {
        let mut stage = stage.clone();
        stage["name"] = format!("s{index}").into();
        stage["load"]["open"]["rate"] = level.rate.into();
        stage["askedRequestsPerSecond"] = level.rate.into();
        stage["achievedRequestsPerSecond"] = level.rate.into();
        let figures = &mut stage["figures"];
        figures["firstDueMs"] = json!(index as f64 * 1_000.0);
        figures["lastEndMs"] = json!(index as f64 * 1_000.0 + 900.0);
        figures["throughput"]["requestsPerSecond"] = level.done.into();
        figures["latencyMs"]["mean"] = level.mean_ms.into();
        for latency in ["ttftMs", "tpotMs", "latencyMs"] {
            figures[latency]["count"] = level.count.into();
        }
        stage
    });
    document["stages"] = stages.collect();
    document
}
