//! Which server, which prompts and which hardware, as words for the Markdown report.

use analysis::{Contamination, Exposure, Interactivity, WarmUp, WarmUpPrompts};
use crds::{resolve::Hardware, wording::percent};
use measurement::server_identity::ServerIdentity;

use super::{
    Report,
    text::{self, number, optional, percentile},
};

/// What the server reported about itself, in one line; `None` where it reported nothing.
pub(super) fn server(report: &Report<'_>) -> Option<String> {
    let identity = &report.server?.before;
    let ServerIdentity { engine, version, simulator, server, model, model_root, model_revision, max_model_len } =
        identity;
    let engine = match (engine, version) {
        (Some(engine), Some(version)) => Some(format!("{engine} {version}")),
        (Some(engine), None) => Some(engine.clone()),
        (None, Some(version)) => Some(format!("version {version}")),
        (None, None) => None,
    };
    let simulated = simulator.as_ref().map(|it| format!("simulated by {it}"));
    let header = server.as_ref().filter(|_| engine.is_none()).map(|it| format!("server header {it}"));
    let root = model_root.as_ref().filter(|it| Some(*it) != model.as_ref()).map(|it| format!("model root {it}"));
    let revision = model_revision.as_ref().map(|it| format!("revision {it}"));
    let length = max_model_len.map(|it| format!("at most {it} tokens"));
    let told: Vec<String> = [engine, simulated, header, root, revision, length].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The hardware as the user named it, in one line.
pub(super) fn hardware(hardware: &Hardware) -> String {
    let Hardware { accelerator, accelerators, price } = hardware;
    let name = accelerator.as_deref().unwrap_or("accelerators");
    let price = price.as_ref().map(|it| format!(", {} {} an hour each", number(it.per_accelerator_hour), it.currency));
    format!("{accelerators} x {name}{}, as spec.target.hardware says", price.unwrap_or_default())
}

/// Rows below a header.
pub(super) type TableText = (Vec<String>, Vec<Vec<String>>);

/// Interactivity of the stages; `None` where there is nothing to show.
pub(super) fn interactivity(report: &Report<'_>) -> Option<TableText> {
    let stages = &report.analysis.stages;
    let found: Vec<_> = stages.iter().map(|it| Interactivity::new(&it.figures)).collect();
    if found.iter().all(Option::is_none) {
        return None;
    }
    let header = ["stage", "1000 / TPOT p90 (ms)", "median of 1 / TPOT", "1 / p90(latency / OSL)"].map(str::to_owned);
    let rows = stages.iter().zip(found).map(|(stage, found)| {
        let found = found.unwrap_or_default();
        let figures = &stage.figures;
        let (tpots, ntpots) = (figures.tpot.map_or(0, |it| it.count), figures.ntpot.map_or(0, |it| it.count));
        vec![
            stage.stage.name.clone(),
            optional(found.inverse_of_tpot_p90, |it| percentile(number(it), 900, tpots)),
            optional(found.median_of_inverse_tpot, |it| percentile(number(it), 500, tpots)),
            optional(found.inverse_of_ntpot_p90, |it| percentile(number(it), 900, ntpots)),
        ]
    });
    Some((header.into(), rows.collect()))
}

/// Rates per accelerator and cost of the stages; `None` where the run names no hardware.
pub(super) fn cost(report: &Report<'_>) -> Option<TableText> {
    let hardware = report.run.hardware.as_ref()?;
    let stages = &report.analysis.stages;
    let names = text::cost(&report.analysis.all, hardware).into_iter().map(|(name, _)| name);
    let header = std::iter::once("stage".to_owned()).chain(names).collect();
    let rows = stages.iter().map(|stage| {
        let figures = text::cost(&stage.figures, hardware).into_iter().map(|(_, it)| optional(it, number));
        std::iter::once(stage.stage.name.clone()).chain(figures).collect()
    });
    Some((header, rows.collect()))
}

/// Whether the server could have had the prompts in its cache, in a sentence for each fact. The first one is the answer.
pub(super) fn contamination(it: &Contamination) -> Vec<String> {
    let answer = match it.exposure {
        Exposure::Unlikely => "The server can hardly have had these prompts in its cache",
        Exposure::WithinRun => {
            "The server had no prompt of this run in its cache before, and may reuse those of the run itself"
        }
        Exposure::Possible => "The server could have had these prompts in its cache before the run",
        Exposure::Seen => "The server had prompts of this load in its cache",
    };
    let cached = match it.cached {
        Some(cached) => format!(
            "By the usage of the answers {} of the prompt tokens came from the prefix cache, in {} requests.",
            percent(cached.share),
            cached.requests
        ),
        None => "No answer reports cached tokens; that does not mean that there were none.".to_owned(),
    };
    let by_servers = it.server_share.map(|share| {
        format!("By the metrics of the servers {} of the prompt tokens came from the prefix cache, those of other clients included.", percent(share))
    });
    let warm_up = it.warm_up.as_ref().map(|WarmUp { stages, requests, prompts }| {
        let what = match prompts {
            Some(WarmUpPrompts::Other) => "their prompts are none of the measured ones",
            Some(WarmUpPrompts::SharedPrefixes) => "their prompts begin with prefixes of measured ones",
            Some(WarmUpPrompts::Same) => "some of their prompts are measured ones too",
            None => "whether their prompts are measured ones too is not known",
        };
        format!("{requests} requests of the warm-up ({}) are in no figure; {what}.", stages.join(", "))
    });
    let data_set = it.data_set.map(|rows| {
        let passes = rows.passes().map(|it| format!(", {} passes", number(it))).unwrap_or_default();
        format!(
            "{} of {} rows of the data set were sent, {} times in all{passes}.",
            rows.distinct, rows.rows, rows.begun
        )
    });
    [Some(format!("{answer}: {}.", it.why)), Some(cached), by_servers, warm_up, data_set]
        .into_iter()
        .flatten()
        .collect()
}
