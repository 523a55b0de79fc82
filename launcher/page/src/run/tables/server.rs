//! The tables of the servers' metrics, by stage.

use crds::wording::percent;
use document::{ReportDocument, Section, ServerWindowDocument};

use crate::{
    table::Table,
    text::{self, NOTHING},
};

/// The stages that have figures of the servers, and the whole run if there are several stages.
fn windows(document: &ReportDocument) -> Option<Vec<(String, &ServerWindowDocument)>> {
    let server = document.server_metrics.as_ref()?;
    let stages = server.stages.iter();
    let mut windows: Vec<_> = stages.filter_map(|it| Some((it.name.clone(), it.figures.as_ref()?))).collect();
    if windows.len() != 1 {
        windows.push(("whole run".to_owned(), &server.run));
    }
    Some(windows)
}

pub(super) fn table(document: &ReportDocument) -> Option<Table> {
    let server = document.server_metrics.as_ref()?;
    let caption = "The server's own metrics. Levels: the mean, and the maximum in brackets. Counters: the increase from the scrape before the \
                   stage to the scrape after it.";
    let table = Table::of(Section::Server, caption).texts(["Stage"]).numbers([
        "Running",
        "Waiting",
        "Both, by latency",
        "KV cache",
        "Preemptions",
        "Prompt tokens",
        "Generated tokens",
        "Prefix cache hits",
        "TTFT p50",
        "TTFT p99",
        "Queue mean",
        "Prefill mean",
        "Decode mean",
    ]);
    let level = |levels: Option<(f64, f64)>, show: fn(f64) -> String| {
        levels.map_or_else(|| NOTHING.to_owned(), |(mean, max)| format!("{} ({})", show(mean), show(max)))
    };
    let table = table.rows(windows(document)?.into_iter().map(|(name, it)| {
        vec![
            name,
            level(it.running_requests.as_ref().map(|it| (it.mean, it.max)), text::number),
            level(it.waiting_requests.as_ref().map(|it| (it.mean, it.max)), text::number),
            text::optional(it.requests_by_littles_law, text::number),
            level(it.kv_cache_usage.as_ref().map(|it| (it.mean, it.max)), percent),
            text::optional(it.preemptions, text::number),
            text::optional(it.prompt_tokens, text::number),
            text::optional(it.generation_tokens, text::number),
            text::optional(it.prefix_cache_hit_share, percent),
            text::optional(it.server_ttft_ms.as_ref().and_then(|it| it.p50), text::time),
            text::optional(it.server_ttft_ms.as_ref().and_then(|it| it.p99), text::time),
            text::optional(it.server_queue_ms.as_ref().map(|it| it.mean), text::time),
            text::optional(it.prefill_ms.as_ref().map(|it| it.mean), text::time),
            text::optional(it.decode_ms.as_ref().map(|it| it.mean), text::time),
        ]
    }));
    let tokens = server.client_prompt_tokens.zip(server.client_generation_tokens).map(|(prompt, output)| {
        format!(
            "According to the usage in the answers, the whole run had {} prompt tokens and {} output tokens.",
            text::count(prompt),
            text::count(output)
        )
    });
    let endpoints = server.endpoints.iter().map(|it| {
        let kind = it.kind.as_deref().unwrap_or("of a kind that is not known");
        format!("{} ({kind}): {} scrapes, {} failed.", it.url, text::count(it.scrapes), text::count(it.failures))
    });
    Some(table.remarks(tokens.into_iter().chain(endpoints)))
}

pub(super) fn gpus(document: &ReportDocument) -> Option<Table> {
    let table = Table::new(
        "gpus",
        "GPUs",
        "Levels: the mean, and the maximum in brackets. Power and memory are totals of all GPUs.",
    )
    .texts(["Stage"])
    .numbers(["GPU use", "Power", "Energy", "Memory"]);
    let windows =
        windows(document)?.into_iter().filter(|(_, it)| it.gpu_utilization.is_some() || it.gpu_power_watts.is_some());
    table
        .rows(windows.map(|(name, it)| {
            let watts = it.gpu_power_watts.as_ref();
            let memory = it.gpu_memory_mib.as_ref();
            vec![
                name,
                text::optional(it.gpu_utilization.as_ref(), |it| format!("{} ({})", percent(it.mean), percent(it.max))),
                text::optional(watts, |it| format!("{} ({}) W", text::number(it.mean), text::number(it.max))),
                text::optional(it.gpu_energy_joules, |it| format!("{} J", text::number(it))),
                text::optional(memory, |it| format!("{} ({}) MiB", text::number(it.mean), text::number(it.max))),
            ]
        }))
        .filled()
}
