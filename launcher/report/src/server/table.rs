//! The servers' section of `report.md`: a table and its remarks. Pure.

use crds::wording::percent;
use document::{LevelsDocument, ServerMetricsDocument, ServerWindowDocument};

use crate::{
    markup::cell,
    text::{NOTHING, millis, number, optional},
};

/// The headers of the columns.
pub(crate) const COLUMNS: [&str; 11] = [
    "",
    "running",
    "waiting",
    "both, by latency",
    "KV cache",
    "preemptions",
    "prompt tokens",
    "output tokens",
    "prefix cache hits",
    "TTFT mean; p50 / p99 of its buckets",
    "queue mean",
];
/// Explains the mark after the names of rows with incomplete counters.
pub(crate) const GAP_MEANS: &str = "not every server was scraped right before and right after, or a counter was reset: counts are too large or too small";
/// The headers of the GPU columns.
pub(crate) const GPU_COLUMNS: [&str; 5] = ["", "GPU use", "power", "energy", "memory"];

/// One row per stage with requests. If there are several stages, one more row for the run.
pub(crate) fn rows(server: &ServerMetricsDocument) -> Vec<Vec<String>> {
    windows(server).into_iter().map(|(name, it)| row(name, it)).collect()
}

/// The rows with GPU figures; empty if no server reports GPUs.
pub(crate) fn gpu_rows(server: &ServerMetricsDocument) -> Vec<Vec<String>> {
    let told = |it: &ServerWindowDocument| {
        it.gpu_utilization.is_some() || it.gpu_power_watts.is_some() || it.gpu_memory_mib.is_some()
    };
    if !told(&server.run) {
        return Vec::new();
    }
    let row = |(name, it): (String, &ServerWindowDocument)| {
        vec![
            name,
            levels(&it.gpu_utilization, percent),
            levels(&it.gpu_power_watts, |it| format!("{} W", number(it))),
            optional(it.gpu_energy_joules, |it| format!("{} J", number(it))),
            levels(&it.gpu_memory_mib, |it| format!("{} MiB", number(it))),
        ]
    };
    windows(server).into_iter().map(row).collect()
}

fn windows(server: &ServerMetricsDocument) -> Vec<(String, &ServerWindowDocument)> {
    let stages = server.stages.iter();
    let mut found: Vec<_> = stages.filter_map(|it| Some((cell(&it.name), it.figures.as_ref()?))).collect();
    if found.len() != 1 {
        found.push(("run".to_owned(), &server.run));
    }
    for (name, _) in found.iter_mut().filter(|(_, it)| !it.whole) {
        name.push_str(" \\*");
    }
    found
}

/// Whether the table marks a row because its counters are incomplete.
pub(crate) fn has_gaps(server: &ServerMetricsDocument) -> bool {
    windows(server).iter().any(|(_, it)| !it.whole)
}

fn row(name: String, it: &ServerWindowDocument) -> Vec<String> {
    vec![
        name,
        levels(&it.running_requests, number),
        levels(&it.waiting_requests, number),
        optional(it.requests_by_littles_law, number),
        levels(&it.kv_cache_usage, percent),
        optional(it.preemptions, number),
        optional(it.prompt_tokens, whole),
        optional(it.generation_tokens, whole),
        optional(it.prefix_cache_hit_share, percent),
        optional(it.server_ttft_ms.as_ref(), |it| {
            format!("{}; {} / {}", millis(it.mean), optional(it.p50, millis), optional(it.p99, millis))
        }),
        optional(it.server_queue_ms.as_ref(), |it| millis(it.mean)),
    ]
}

/// The mean, and the maximum in brackets.
fn levels(levels: &Option<LevelsDocument>, show: impl Fn(f64) -> String) -> String {
    levels.as_ref().map_or_else(|| NOTHING.to_owned(), |it| format!("{} ({})", show(it.mean), show(it.max)))
}

fn whole(count: f64) -> String {
    format!("{count:.0}")
}

/// How the servers identify themselves, with one line for equal servers.
pub(crate) fn identities(server: &ServerMetricsDocument) -> Vec<String> {
    let identified = server.identity.iter().fold(0, |sum: u64, it| sum.saturating_add(it.endpoints));
    let mut lines: Vec<String> = Vec::new();
    for it in &server.identity {
        let engine = it.engine.as_deref().map_or_else(|| UNKNOWN.to_owned(), cell);
        let version = it.version.as_deref().map(|it| format!(" {}", cell(it))).unwrap_or_default();
        let length = |it: u64| format!(" (up to {it} tokens)");
        let models = it.models.iter().map(|it| cell(&it.id) + &it.max_model_len.map(length).unwrap_or_default());
        let setting = |name: &str| it.cache_config.get(name).map(|value| format!("{name} {}", cell(value)));
        let cache = ["block_size", "num_gpu_blocks", "enable_prefix_caching"].into_iter().filter_map(setting);
        let gpus = it.gpus.iter().map(|(name, count)| format!("{count} x {}", cell(name)));
        let parts: Vec<String> = models.chain(cache).chain(gpus).collect();
        let colon = if parts.is_empty() { "" } else { ": " };
        let line = format!("{engine}{version}{colon}{}", parts.join(", "));
        if !lines.contains(&line) && lines.len() < MAX_LINES {
            lines.push(line);
        }
    }
    if identified < server.endpoints.len() as u64 && lines.len() < MAX_LINES {
        lines.push(UNKNOWN.to_owned());
    }
    lines
}

/// Maximum number of different identities that are listed.
const MAX_LINES: usize = 8;
/// The name of a server that reported nothing about itself.
const UNKNOWN: &str = "a server";
