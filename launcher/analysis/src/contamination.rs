//! Whether the server could have had the prompts of a load in its prefix cache before they were measured. Derived from the workload and from what
//! the server reported.

use crds::ResolvedRun;
use server_metrics::series::WindowFigures;
use workload_profiles::{
    Workload,
    workload::{PromptReuse, RequestSource},
};

use super::{
    figures::{CachedPrompts, Figures},
    labels, remarks,
};
use measurement::{rows_used::RowsUsed, window::WindowPart};

/// Where the prompts of a load come from, and what that means for a prefix cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Contamination {
    /// Whether the server might have had the measured prompts, or a part of them, in its cache.
    pub exposure: Exposure,
    /// The reason for `exposure`, as a sentence without a full stop.
    pub why: String,
    /// The value of the comparability label `prompts`.
    pub prompts: &'static str,
    /// Whether the salt of the prompts belongs to this run alone; `None` if the prompts have no salt.
    pub own_salt: Option<bool>,
    /// The requests that were sent before the measurement window of their stage.
    pub warm_up: Option<WarmUp>,
    /// How the data set was used; `None` if the prompts come from no data set.
    pub data_set: Option<RowsUsed>,
    /// Prompt tokens that came from the cache, as reported in the usage of answers within the measurement window.
    pub cached: Option<CachedPrompts>,
    /// The share of prompt tokens from the cache, according to the metrics of the servers. Covers the whole run, including requests of other
    /// clients. `None` if the servers do not report it.
    pub server_share: Option<f64>,
    /// Number of prompt tokens in the whole load that the cache can contain by chance or because of the chat template. `None` if requests of the load
    /// share text on purpose.
    explained_tokens: Option<f64>,
}

/// Requests before the measurement window of their stage. No figure includes them. The readiness probe is not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// The stages that begin with warm-up requests, or consist of them.
    pub stages: Vec<String>,
    pub requests: u64,
    /// What the warm-up requests have in common with measured prompts; `None` if unknown.
    pub prompts: Option<WarmUpPrompts>,
}

/// What the prompts of a warm-up have in common with the measured prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUpPrompts {
    /// Nothing in common, except by chance.
    Other,
    /// Prefixes that the profile shares between requests.
    SharedPrefixes,
    /// Some prompts are identical.
    Same,
}

impl WarmUpPrompts {
    /// The name of the value in reports.
    pub fn name(self) -> &'static str {
        match self {
            WarmUpPrompts::Other => "other",
            WarmUpPrompts::SharedPrefixes => "sharedPrefixes",
            WarmUpPrompts::Same => "same",
        }
    }
}

/// Whether a server could have had prompts of a load in its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// This run alone uses these texts, and requests share text only by chance.
    Unlikely,
    /// Requests of this run share text, as the profile requests. Other runs use other texts.
    WithinRun,
    /// Requests of another run might have had the same text as these.
    Possible,
    /// The server reported cached tokens that the load does not explain.
    Seen,
}

impl Exposure {
    /// The name of the value in reports.
    pub fn name(self) -> &'static str {
        match self {
            Exposure::Unlikely => "unlikely",
            Exposure::WithinRun => "withinRun",
            Exposure::Possible => "possible",
            Exposure::Seen => "seen",
        }
    }
}

impl Contamination {
    pub(super) fn new(
        all: &Figures,
        workload: &Workload,
        run: &ResolvedRun,
        data_set: Option<RowsUsed>,
    ) -> Contamination {
        let prompts = labels::prompts(workload, run);
        let has_salt = matches!(prompts, "fresh" | "shared" | "replayed");
        let (exposure, why) = exposure(all, workload, run, prompts, data_set);
        Contamination {
            exposure,
            why,
            prompts,
            own_salt: has_salt.then(|| !labels::has_given_salt(run)),
            warm_up: warm_up(all, workload, prompts, data_set),
            data_set,
            cached: all.cached,
            server_share: None,
            explained_tokens: remarks::explained_tokens(all, workload, run)
                .map(|it| it.saturating_mul(all.requests) as f64),
        }
    }

    /// Adds what the servers counted during the run. Ignores counts that do not cover the whole run.
    pub(crate) fn add_servers(&mut self, run: &WindowFigures) {
        let looked_up = run.prefix_queries.or(run.prompt_tokens);
        if let Some((hits, looked_up)) = run.prefix_hits.zip(looked_up).filter(|_| run.whole) {
            self.add_counts(hits, looked_up);
        }
    }

    /// Adds token counts of the prefix cache. `hits`: tokens found in the cache; `looked_up`: tokens that were looked up there.
    pub(crate) fn add_counts(&mut self, hits: f64, looked_up: f64) {
        if !(hits >= 0.0 && looked_up > 0.0) {
            return;
        }
        let share = hits / looked_up;
        self.server_share = Some(share);
        let unexplained = self.explained_tokens.map(|it| (hits - it) / looked_up);
        if unexplained.is_none_or(|it| it <= remarks::NOTED_SHARE) {
            return;
        }
        const MORE: &str = "the servers counted more tokens from their prefix caches than this load explains: another load ran, or an earlier one sent the same prompts";
        match self.exposure {
            Exposure::Unlikely => {
                self.exposure = Exposure::Possible;
                MORE.clone_into(&mut self.why);
            }
            Exposure::Possible => self.why = format!("{}; {MORE}", self.why),
            Exposure::WithinRun | Exposure::Seen => {}
        }
    }
}

fn exposure(
    all: &Figures,
    workload: &Workload,
    run: &ResolvedRun,
    prompts: &str,
    data_set: Option<RowsUsed>,
) -> (Exposure, String) {
    let is_recorded = matches!(workload.requests, RequestSource::Recorded(_));
    let (exposure, why) = match prompts {
        _ if remarks::unexplained_cached_share(all, workload, run).is_some() => {
            (Exposure::Seen, "it took more prompt tokens from its cache than randomly drawn prompts have in common")
        }
        "fresh" if is_recorded => (Exposure::Unlikely, "each session begins with a text that only this run sends"),
        "fresh" => (Exposure::Unlikely, "each prompt was drawn for one request, with the salt of this run"),
        "shared" => (
            Exposure::WithinRun,
            "requests of this run share text, because the profile asks for it; no other run has the salt of this run",
        ),
        "replayed" if labels::has_given_salt(run) => (
            Exposure::Possible,
            "every run with this profile.promptSalt and seed sends the same prompts; a rerun meets a warm cache, unless promptSalt is left out, or the server is restarted or its cache emptied (/reset_prefix_cache) first",
        ),
        "replayed" | "repeated" => (
            Exposure::Possible,
            "every run with this profile and seed sends the same prompts; a rerun meets a warm cache, unless spec.seed changes, or the server is restarted or its cache emptied (/reset_prefix_cache) first",
        ),
        "data-set" => (
            Exposure::Possible,
            "the prompts are from a file, and other runs may have sent them; a rerun meets a warm cache, unless the server is restarted or its cache emptied (/reset_prefix_cache) first",
        ),
        "recorded" => (
            Exposure::Possible,
            "the prompts are from a recording, and other runs may have sent them; a rerun meets a warm cache, unless the server is restarted or its cache emptied (/reset_prefix_cache) first",
        ),
        _ => (Exposure::Possible, "the prompts are short, and the same in every run"),
    };
    let again = data_set.filter(|it| it.repeated() > 0);
    let again = again
        .map(|it| format!("; {} requests or conversations of this load repeat a row of the data set", it.repeated()));
    (exposure, why.to_owned() + &again.unwrap_or_default())
}

fn warm_up(all: &Figures, workload: &Workload, prompts: &str, data_set: Option<RowsUsed>) -> Option<WarmUp> {
    let requests: u64 = all.excluded.get(&WindowPart::WarmUp).map_or(0, |it| it.values().sum());
    let stages = workload.stages.iter().filter(|it| it.warm_up.is_some()).map(|it| it.name.clone()).collect();
    (requests > 0).then(|| WarmUp { stages, requests, prompts: warm_up_prompts(workload, prompts, data_set) })
}

/// What the prompts of the warm-up have in common with the measured prompts, derived from how the load repeats its prompts.
fn warm_up_prompts(workload: &Workload, prompts: &str, data_set: Option<RowsUsed>) -> Option<WarmUpPrompts> {
    let some = |condition: bool, then| Some(if condition { then } else { WarmUpPrompts::Other });
    match &workload.requests {
        RequestSource::DataSet(_) => data_set.and_then(|it| some(it.repeated() > 0, WarmUpPrompts::Same)),
        RequestSource::Random { prefixes, .. } if !prefixes.is_empty() => Some(WarmUpPrompts::SharedPrefixes),
        // With repeated prompts, request i of every stage has the same text.
        RequestSource::Random { .. } => {
            some(workload.prompts == PromptReuse::Repeated && workload.stages.len() > 1, WarmUpPrompts::Same)
        }
        // Each question is sent repeatedly.
        RequestSource::SharedPrefix { .. } => Some(WarmUpPrompts::Same),
        RequestSource::Recorded(_) if prompts == "fresh" => Some(WarmUpPrompts::Other),
        RequestSource::Mock
        | RequestSource::Conversations(_)
        | RequestSource::TraceBlocks { .. }
        | RequestSource::Recorded(_)
        | RequestSource::Questions(_) => None,
    }
}
