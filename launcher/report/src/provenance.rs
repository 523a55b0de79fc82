//! Server, prompts and hardware as text for the Markdown report.

use crds::{resolve::Hardware, wording::percent};
use document::{ContaminationDocument, IdentityDocument, ReportDocument, Statistics, WarmUpDocument};

use super::text::{self, number, optional, percentile};

/// What the server reported about itself, in one line; `None` if it reported nothing.
pub(super) fn server(document: &ReportDocument) -> Option<String> {
    let IdentityDocument {
        engine,
        version,
        simulator,
        server_header,
        model,
        model_root,
        model_revision,
        max_model_len,
    } = &document.server.as_ref()?.before;
    let engine = match (engine, version) {
        (Some(engine), Some(version)) => Some(format!("{engine} {version}")),
        (Some(engine), None) => Some(engine.clone()),
        (None, Some(version)) => Some(format!("version {version}")),
        (None, None) => None,
    };
    let simulated = simulator.as_ref().map(|it| format!("simulated by {it}"));
    let header = server_header.as_ref().filter(|_| engine.is_none()).map(|it| format!("server header {it}"));
    let root = model_root.as_ref().filter(|it| Some(*it) != model.as_ref()).map(|it| format!("model root {it}"));
    let revision = model_revision.as_ref().map(|it| format!("revision {it}"));
    let length = max_model_len.map(|it| format!("at most {it} tokens"));
    let told: Vec<String> = [engine, simulated, header, root, revision, length].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The hardware in one line, as the user described it.
pub(super) fn hardware(hardware: &Hardware) -> String {
    let Hardware { accelerator, accelerators, price } = hardware;
    let name = accelerator.as_deref().unwrap_or("accelerators");
    let price =
        price.as_ref().map(|it| format!(", {} an hour each", text::money(it.per_accelerator_hour, &it.currency)));
    format!("{accelerators} x {name}{}, as spec.target.hardware says", price.unwrap_or_default())
}

/// The header and the rows of a table.
pub(super) type TableText = (Vec<String>, Vec<Vec<String>>);

/// The table of the stages' interactivity.
pub(super) fn interactivity(document: &ReportDocument) -> TableText {
    let header = ["stage", "1000 / TPOT p90 (ms)", "median of 1 / TPOT", "1 / p90(latency / OSL)"].map(str::to_owned);
    let rows = document.stages.iter().map(|stage| {
        let figures = &stage.figures;
        let found = figures.interactivity;
        let count = |of: &Option<Statistics>| of.as_ref().map_or(0, |it| it.count);
        let (tpots, ntpots) = (count(&figures.tpot_ms), count(&figures.ntpot_ms));
        vec![
            stage.name.clone(),
            optional(found.and_then(|it| it.inverse_of_tpot_p90), |it| percentile(number(it), 900, tpots)),
            optional(found.and_then(|it| it.median_of_inverse_tpot), |it| percentile(number(it), 500, tpots)),
            optional(found.and_then(|it| it.inverse_of_ntpot_p90), |it| percentile(number(it), 900, ntpots)),
        ]
    });
    (header.into(), rows.collect())
}

/// The table of rates per accelerator and cost per stage; `None` if the run specifies no hardware.
pub(super) fn cost(document: &ReportDocument) -> Option<TableText> {
    let hardware = document.hardware.as_ref()?;
    let names = text::cost(hardware, &hardware.figures).into_iter().map(|(name, _)| name);
    let header = std::iter::once("stage".to_owned()).chain(names).collect();
    let rows = hardware.stages.iter().map(|stage| {
        let figures = text::cost(hardware, &stage.figures).into_iter().map(|(_, it)| optional(it, number));
        std::iter::once(stage.name.clone()).chain(figures).collect()
    });
    Some((header, rows.collect()))
}

/// Whether the server could have had the prompts in its prefix cache, as a sentence without its full stop.
pub fn exposure(it: &ContaminationDocument) -> &'static str {
    match it.exposure.as_str() {
        "unlikely" => "The server can hardly have had these prompts in its cache",
        "withinRun" => {
            "The server had no prompt of this run in its cache before the run; later requests may reuse cached prompts of the run"
        }
        "possible" => "The server may have had these prompts in its cache before the run",
        _ => "The server had prompts of this load in its cache",
    }
}

/// Whether the server could have had the prompts in its prefix cache, one sentence per fact. The first sentence is the answer.
pub fn contamination(it: &ContaminationDocument) -> Vec<String> {
    let cached = match it.cached_share {
        Some(share) => format!(
            "According to the usage in the answers, {} of the prompt tokens came from the prefix cache, in {} requests.",
            percent(share),
            it.requests_with_cached_tokens.unwrap_or(0)
        ),
        None => "No answer reports cached tokens; that does not mean that there were none.".to_owned(),
    };
    let by_servers = it.server_cached_share.map(|share| {
        format!("According to the servers' metrics, {} of the prompt tokens came from the prefix cache, including prompts of other clients.", percent(share))
    });
    let warm_up = it.warm_up.as_ref().map(|WarmUpDocument { stages, requests, prompts }| {
        let what = match prompts.as_deref() {
            Some("other") => "no measured request repeats their prompts",
            Some("sharedPrefixes") => "measured requests share prefixes of their prompts",
            Some("same") => "measured requests repeat some of their prompts",
            _ => "whether measured requests repeat their prompts is not known",
        };
        format!("No figure includes the {requests} requests of the warm-up ({}); {what}.", stages.join(", "))
    });
    let data_set = it.data_set.map(|rows| {
        let passes = rows.passes.map(|it| format!(", {} passes", number(it))).unwrap_or_default();
        format!(
            "{} of {} rows of the data set were sent, {} times in all{passes}.",
            rows.distinct, rows.rows, rows.sent
        )
    });
    [Some(format!("{}: {}.", exposure(it), it.why.trim_end_matches('.'))), Some(cached), by_servers, warm_up, data_set]
        .into_iter()
        .flatten()
        .collect()
}
