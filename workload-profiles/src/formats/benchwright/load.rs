//! When the requests are sent.

use std::collections::BTreeSet;

use super::{KEYS, margin, margins, named, pause, rate, trace};
use crate::{
    formats::common::{
        bounds::{MAX_STAGE_SECONDS, MAX_STAGES},
        fields::concurrency,
        stage_names::StageNames,
    },
    problem::quoted,
    reader::Section,
    workload::{Arrivals, Load, MAX_REQUESTS, Margin, RampUpStrategy, Rate, RateShape, RequestSource, Stage, Window},
};

/// The keys of a stage that somebody may write a level too deep, where `warmUp` and `coolDown` are no advice for the root: there
/// they are the run's.
const STAGE_KEYS: [&str; 5] = ["coolDown", "grace", "name", "pauseAfter", "warmUp"];
/// The longest name of a stage.
const MAX_NAME: usize = 64;
/// The least and the most burstiness: gaps beyond these are all zero, or all the same.
const BURSTINESS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;

/// Reads `stages`, and the warm-up and cool-down of the run, which are those of its first and its last stage; `None` goes
/// with at least one problem.
pub(super) fn read(root: &Section, window: Window, requests: Option<&RequestSource>) -> Option<Vec<Stage>> {
    let warm_up = margin(root, "warmUp", false);
    let cool_down = margin(root, "coolDown", false);
    root.missing("stages", "write at least one, such as {load: {open: {rate: 1, duration: 30s}}}");
    let items = root.list("stages")?;
    if items.is_empty() || items.len() > MAX_STAGES {
        root.problem("stages", format!("holds {} stages; write 1 to {MAX_STAGES}", items.len()));
        return None;
    }
    let count = items.len();
    let mut names = StageNames::default();
    let mut taken = BTreeSet::new();
    let mut stages = Vec::with_capacity(count);
    for (index, (path, value)) in items.into_iter().enumerate() {
        let Some(section) = root.element(value, path) else { continue };
        let mut stage = stage(&section, &mut names, requests);
        if let Some(stage) = &mut stage {
            inherit(&section, "warmUp", warm_up.filter(|_| index == 0), &mut stage.warm_up);
            inherit(&section, "coolDown", cool_down.filter(|_| index == count - 1), &mut stage.cool_down);
        }
        if let Some(stage) = &stage {
            margins::check(&section, stage, window);
            if !taken.insert(stage.name.clone()) {
                section.problem("name", format!("is {}, as of a stage before it; give it another", stage.name));
            }
        }
        section.finish(&KEYS);
        stages.extend(stage);
    }
    let requests: f64 = stages.iter().map(|it| it.load.mean_count()).sum();
    if requests > MAX_REQUESTS as f64 {
        root.problem("stages", format!("come to {requests:.0} requests; at most {MAX_REQUESTS} are sent in a run, so lower a rate or shorten a stage"));
    }
    (stages.len() == count).then_some(stages)
}

/// The run's margin at its first or last stage, unless that has its own.
fn inherit(section: &Section, key: &'static str, of_run: Option<Margin>, mine: &mut Option<Margin>) {
    if of_run.is_some() && mine.is_some() {
        section.problem(key, format!("stands beside the {key} of the run; keep one of them"));
    }
    *mine = of_run.or(*mine);
}

fn stage(section: &Section, names: &mut StageNames, requests: Option<&RequestSource>) -> Option<Stage> {
    section.missing("load", "write when its requests are sent, such as {open: {rate: 1, duration: 30s}}");
    let kind = section.variant("load", &["open", "closed", "burst", "trace"]);
    let load = kind.and_then(|(kind, within)| {
        let within = named(section, "load", kind, within)?.section(kind)?;
        let load = match kind {
            "open" => open(&within),
            "closed" => closed(&within),
            "burst" => burst(&within),
            _ => trace::read(&within, requests),
        };
        within.misplaced(&STAGE_KEYS, section);
        within.finish(&KEYS);
        load
    });
    let named = section.text("name").map(str::to_owned);
    if let Some(name) = &named
        && (name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_name_letter))
    {
        let wanted = format!("write 1 to {MAX_NAME} letters a-z and A-Z, digits, dots, dashes and underscores");
        section.problem("name", format!("is {}; {wanted}", quoted(name)));
    }
    let pause_after = pause(section, "pauseAfter").unwrap_or_default();
    let warm_up = margin(section, "warmUp", true);
    let cool_down = margin(section, "coolDown", false);
    let grace = pause(section, "grace");
    let load = load?;
    let name = named.unwrap_or_else(|| names.name(&load));
    Some(Stage { name, load, pause_after, warm_up, cool_down, grace })
}

/// What is the same in the name of a file.
fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._-".contains(letter)
}

fn open(section: &Section) -> Option<Load> {
    section.missing("rate", "write the requests per second, or how they change");
    let duration = section.span("duration", false, MAX_STAGE_SECONDS);
    let count = requests(section, "count");
    let arrivals = section.value("arrivals").map_or(Some(Arrivals::Poisson), |_| arrivals(section));
    let rate = rate::read(section, duration);
    let max_concurrency = concurrency(section, "maxConcurrency");
    let (arrivals, rate) = (arrivals?, rate?);
    let by_number = matches!(rate, Rate::Varying(RateShape::RampUp { .. }));
    if by_number && count.is_none() {
        section.problem("count", "is missing; a rampUp goes from its first to its last request, so write how many");
    } else if by_number && duration.is_some() {
        section.problem(
            "duration",
            "does not belong to a rampUp, which ends with its count; take it out, or write a ramp",
        );
    } else if duration.is_none() && count.is_none() {
        section.missing("duration", "write how long requests are due, or their count");
    }
    let conditioned = matches!(arrivals, Arrivals::ConditionedPoisson | Arrivals::ConditionedGamma { .. });
    if by_number && (conditioned || arrivals == Arrivals::PoissonPerSecond) {
        section.problem("arrivals", "cannot follow a rampUp; choose constantAfterGap, poisson or gamma");
    } else if arrivals == Arrivals::PoissonPerSecond && !matches!(rate, Rate::Steady(_)) {
        section.problem("arrivals", "is poissonPerSecond, whose rate cannot vary; choose poisson");
    }
    let load = Load::Open { arrivals, rate, duration, count, max_concurrency };
    if duration.is_some() && !by_number && load.mean_count() < 1.0 {
        section.problem("rate", "makes no whole request in the duration; raise one of them");
    }
    if let (Load::Open { rate, .. }, None, Some(count)) = (&load, duration, count) {
        check_length(section, rate, count);
    }
    Some(load)
}

/// How long the requests of a ramp take, in the mean: their gaps are those of the rates between both ends.
fn ramp_up_seconds(strategy: RampUpStrategy, from: f64, to: f64, count: u64) -> f64 {
    let ratio = to / from;
    // The mean of 1 / rate over the ramp.
    let gap = match strategy {
        _ if (ratio - 1.0).abs() < 1e-9 => 1.0 / from,
        RampUpStrategy::Linear => ratio.ln() / (to - from),
        RampUpStrategy::Exponential => (1.0 / from - 1.0 / to) / ratio.ln(),
    };
    // Both ends count half in the mean, and whole among the gaps.
    (count - 1) as f64 * gap + f64::midpoint(1.0 / from, 1.0 / to)
}

/// A load that ends with its count has to come to it within the longest stage.
fn check_length(section: &Section, rate: &Rate, count: u64) {
    let longest = MAX_STAGE_SECONDS as f64;
    let ends = match rate {
        Rate::Varying(RateShape::RampUp { strategy, from, to }) => {
            ramp_up_seconds(*strategy, from.per_second(), to.per_second(), count) <= longest
        }
        // A rounding error is no reason to refuse.
        _ => rate.requests_until(longest).is_none_or(|it| it * (1.0 + 1e-9) >= count as f64),
    };
    if !ends {
        let what = format!("is {count}, which takes more than {MAX_STAGE_SECONDS}s, the longest stage, at this rate");
        section.problem("count", format!("{what}; lower it, raise the rate, or set a duration"));
    }
}

fn arrivals(section: &Section) -> Option<Arrivals> {
    const KINDS: [&str; 7] = [
        "constant",
        "constantAfterGap",
        "poisson",
        "gamma",
        "conditionedPoisson",
        "conditionedGamma",
        "poissonPerSecond",
    ];
    let (kind, within) = section.variant("arrivals", &KINDS)?;
    if !matches!(kind, "gamma" | "conditionedGamma") {
        if within.is_some() {
            section.problem("arrivals", format!("has no settings for {kind}; write arrivals: {kind}"));
        }
        return match kind {
            "constant" => Some(Arrivals::Constant),
            "constantAfterGap" => Some(Arrivals::ConstantAfterGap),
            "conditionedPoisson" => Some(Arrivals::ConditionedPoisson),
            "poissonPerSecond" => Some(Arrivals::PoissonPerSecond),
            _ => Some(Arrivals::Poisson),
        };
    }
    let gamma = named(section, "arrivals", kind, within)?.section(kind)?;
    gamma.missing("burstiness", "write the shape of the gaps: 1 as Poisson, less in bursts, more more even");
    let burstiness = gamma.number("burstiness", BURSTINESS);
    gamma.finish(&KEYS);
    let burstiness = burstiness?;
    Some(match kind {
        "gamma" => Arrivals::Gamma { burstiness },
        _ => Arrivals::ConditionedGamma { burstiness },
    })
}

/// A number of requests.
pub(super) fn requests(section: &Section, key: &'static str) -> Option<u64> {
    section.count(key, 1..=MAX_REQUESTS)
}

fn burst(section: &Section) -> Option<Load> {
    section.missing("count", "write how many requests are sent at once");
    let (count, max_concurrency) = (requests(section, "count"), concurrency(section, "maxConcurrency"));
    Some(Load::Burst { count: count?, max_concurrency })
}

fn closed(section: &Section) -> Option<Load> {
    section.missing("concurrency", "write how many requests are under way at once");
    let concurrency = concurrency(section, "concurrency");
    let count = requests(section, "count");
    let duration = section.span("duration", false, MAX_STAGE_SECONDS);
    if section.value("count").is_none() {
        section.missing("duration", "write how long requests are sent, or their count");
    }
    let ramp_up = section.span("rampUp", true, MAX_STAGE_SECONDS).unwrap_or_default();
    if let Some(duration) = duration.filter(|it| *it < ramp_up) {
        section.problem("rampUp", format!("is {ramp_up}, longer than the duration, {duration}; shorten it"));
    }
    Some(Load::Closed { concurrency: concurrency?, count, duration, ramp_up })
}
