//! Comparability labels: how the figures were computed. A chart must not combine results with different labels without a notice.

use crds::ResolvedRun;
use serde::Serialize;
use workload_profiles::{
    Workload,
    loadgen::Scenario,
    workload::{Arrivals, Load, PromptReuse, RequestSource},
};

use super::{
    figures::{CachedPrompts, Figures, TokenCount},
    stage::StageAnalysis,
};

/// The labels of a stage or a run, in print order. If the stages of a run differ, the label of the run joins their values with `+`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Labels {
    /// `paced`, `poisson`, `gamma`, `conditioned-poisson`, `conditioned-gamma`, `burst`, `trace`, `users` or `closed`.
    pub arrivals: String,
    /// Where TTFT and latency start to count: `scheduled` or `sent`.
    pub clock: String,
    /// Who counted the output tokens: `server`, `client` or `mixed`; empty where no request succeeded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tokens: String,
    /// `token`: ITL is the time between tokens counted by the server. `event`: between content events. `token+event`: both occur.
    pub itl: &'static str,
    /// Tokens per content event: `one` or `several`; empty if unknown.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub events: &'static str,
    /// The formula of TPOT: (last token - first token) / (OSL - 1).
    pub tpot: &'static str,
    /// The formula of NTPOT. It always counts from sending.
    pub ntpot: &'static str,
    /// Percentiles are nearest ranks: `exact`, or `hdr` from histograms with three significant digits.
    pub percentiles: &'static str,
    /// Which requests the figures include: `all`, `margins` (due outside warm-up and cool-down), `trimmed` or `cut`.
    pub window: String,
    /// Which prompts were identical, see [`prompts`].
    pub prompts: &'static str,
    /// Whether the server reported how many prompt tokens came from its prefix cache (`told`) or not (`unknown`).
    pub cache: &'static str,
    /// How failed requests are treated: no latency includes them.
    pub failures: &'static str,
}

/// Labels that have the same value in every stage of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfRun {
    prompts: &'static str,
    cache: &'static str,
}

impl OfRun {
    pub(super) fn new(workload: &Workload, run: &ResolvedRun, cached: Option<CachedPrompts>) -> OfRun {
        // Decided for the whole run, because a server may omit a count of zero: a stage without counts does not show that the server reports none.
        OfRun { prompts: prompts(workload, run), cache: if cached.is_some() { "told" } else { "unknown" } }
    }
}

impl Labels {
    /// The labels of one stage.
    pub fn of_stage(stage: &StageAnalysis) -> Labels {
        let words = [arrivals(&stage.stage.load), stage.latency_origin.name(), stage.window];
        Labels::new(words.map(str::to_owned), stage.of_run, &stage.figures)
    }

    pub(super) fn of_run(stages: &[StageAnalysis], of_run: OfRun, figures: &Figures) -> Labels {
        let arrivals = joined(stages.iter().map(|it| arrivals(&it.stage.load)));
        let origins = joined(stages.iter().map(|it| it.latency_origin.name()));
        Labels::new([arrivals, origins, joined(stages.iter().map(|it| it.window))], of_run, figures)
    }

    fn new([arrivals, clock, window]: [String; 3], of_run: OfRun, figures: &Figures) -> Labels {
        let OfRun { prompts, cache } = of_run;
        Labels {
            arrivals,
            clock,
            tokens: figures.token_count.map_or("", |it| it.name()).to_owned(),
            itl: match figures.token_count {
                Some(TokenCount::Server) => "token",
                Some(TokenCount::Mixed) => "token+event",
                Some(TokenCount::Client) | None => "event",
            },
            events: match figures.has_several_tokens_an_event() {
                None => "",
                Some(false) => "one",
                Some(true) => "several",
            },
            tpot: "after-first",
            ntpot: "sent",
            percentiles: if figures.exact { "exact" } else { "hdr" },
            window,
            prompts,
            cache,
            failures: "excluded",
        }
    }
}

/// Which requests send the same text. `fresh`: none. `shared`: requests of this run share text. `repeated`: all stages and all runs with this seed
/// send the same prompts. `replayed`: all runs with this seed send the same prompts; unless the texts are fixed per stage, only with the same
/// `profile.promptSalt`. `data-set`, `recorded` and `mock`: prompts are not synthetic.
pub(super) fn prompts(workload: &Workload, run: &ResolvedRun) -> &'static str {
    match (&workload.requests, workload.prompts) {
        (RequestSource::Mock, _) => "mock",
        (RequestSource::DataSet(_) | RequestSource::Questions(_), _) => "data-set",
        (RequestSource::Recorded(it), _) if it.unique && has_given_salt(run) => "replayed",
        (RequestSource::Recorded(it), _) if it.unique => "fresh",
        (RequestSource::TraceBlocks { .. } | RequestSource::Recorded(_), _) => "recorded",
        (_, PromptReuse::Repeated) | (RequestSource::SharedPrefix { seed: Some(_), .. }, _) => "repeated",
        (_, PromptReuse::PerStage) => "replayed",
        _ if has_given_salt(run) => "replayed",
        (RequestSource::SharedPrefix { .. } | RequestSource::Conversations(_), PromptReuse::Fresh) => "shared",
        (RequestSource::Random { prefixes, .. }, PromptReuse::Fresh) if !prefixes.is_empty() => "shared",
        (RequestSource::Random { .. }, PromptReuse::Fresh) => "fresh",
    }
}

/// Whether the user set the salt of the prompts, so that other runs can use the same salt.
pub(super) fn has_given_salt(run: &ResolvedRun) -> bool {
    run.prompt_salt != run.run.prompt_salt()
}

fn arrivals(load: &Load) -> &'static str {
    let arrivals = match load {
        Load::Open { arrivals, .. } => arrivals,
        Load::Burst { .. } => return "burst",
        Load::Trace { .. } => return "trace",
        Load::Closed { .. } => return "closed",
        Load::Users { .. } => return "users",
        Load::LoadGen { scenario: Scenario::Server, .. } => return "poisson",
        Load::LoadGen { scenario: Scenario::Offline, .. } => return "burst",
        Load::LoadGen { scenario: Scenario::SingleStream | Scenario::MultiStream, .. } => return "closed",
    };
    match arrivals {
        Arrivals::Constant | Arrivals::ConstantAfterGap => "paced",
        Arrivals::Poisson | Arrivals::PoissonPerSecond => "poisson",
        Arrivals::Gamma { .. } => "gamma",
        Arrivals::ConditionedPoisson => "conditioned-poisson",
        Arrivals::ConditionedGamma { .. } => "conditioned-gamma",
    }
}

fn joined<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct.join("+")
}
