//! `warmup` and `cooldown` of a profile: the parts of a strategy that are not measured.

use super::values::span;
use crate::{
    formats::common::bounds::MAX_STAGE_SECONDS,
    reader::{Section, described},
    workload::{MAX_REQUESTS, Margin},
    yaml,
};

/// A part at the start or at the end of a strategy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    key: &'static str,
    size: Size,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    /// A share of the strategy, 0 to 1.
    Share(f64),
    /// A number of seconds or requests.
    Amount(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Duration,
    Requests,
    PreferDuration,
    PreferRequests,
    Both,
}

/// Reads `warmup` or `cooldown`. `None` if the key is absent, empty or wrong.
pub(super) fn read(profile: &Section, key: &'static str) -> Option<Phase> {
    let value = profile.value(key)?;
    let parsed = value.as_str().and_then(|it| yaml::typed(it).ok());
    let value = parsed.as_ref().unwrap_or(value);
    if value.is_object() {
        return profile.element(value, profile.path(key)).and_then(|it| mapping(it, key));
    }
    let most = MAX_REQUESTS as f64;
    let Some(number) = value.as_f64().filter(|it| (0.0..=most).contains(it)) else {
        let wanted = "write a share below 1, a number of seconds or requests from 1, or {percent, value, mode}";
        profile.problem(key, format!("is {}; {wanted}", described(value)));
        return None;
    };
    // As in GuideLLM, a bare number below 1 is always a share.
    let size = if number < 1.0 { Size::Share(number) } else { Size::Amount(number) };
    not_empty(Phase { key, size, mode: Mode::PreferDuration })
}

fn mapping(section: Section, key: &'static str) -> Option<Phase> {
    let modes = [
        ("duration", Mode::Duration),
        ("requests", Mode::Requests),
        ("prefer_duration", Mode::PreferDuration),
        ("prefer_requests", Mode::PreferRequests),
        ("both", Mode::Both),
    ];
    let mode = section.or_default("mode", Mode::PreferDuration, |it, key| it.choice(key, &modes));
    let share = section.number("percent", 0.0..=1.0);
    let amount = section.number("value", 0.0..=MAX_REQUESTS as f64);
    if share == Some(1.0) {
        section.problem("percent", "is 1, which leaves nothing; write a share below 1");
    }
    section.finish();
    let size = share.map(Size::Share).or(amount.map(Size::Amount))?;
    not_empty(Phase { key, size, mode: mode? })
}

fn not_empty(phase: Phase) -> Option<Phase> {
    let (Size::Share(size) | Size::Amount(size)) = phase.size;
    (size > 0.0).then_some(phase)
}

impl Phase {
    /// Returns the margin for a strategy with these limits. `turns` is the number of requests per session, or 1 if the load counts requests.
    pub fn margin(self, profile: &Section, seconds: Option<f64>, requests: Option<u64>, turns: u32) -> Option<Margin> {
        let time = seconds.filter(|_| self.mode != Mode::Requests).map(|all| match self.size {
            Size::Share(share) => share * all,
            Size::Amount(amount) => amount,
        });
        let count = requests.filter(|_| self.mode != Mode::Duration).map(|all| match self.size {
            Size::Share(share) => share * all as f64,
            Size::Amount(amount) => amount,
        });
        let count = count.map(|it| Margin::Count((it.floor() as u64).div_ceil(u64::from(turns.max(1)))));
        let time = time.filter(|it| *it <= MAX_STAGE_SECONDS as f64).and_then(span).map(Margin::Duration);
        let margin = match (self.mode, time, count) {
            (Mode::Both, Some(_), Some(_)) => {
                let remedy = "write duration or requests";
                profile.problem(self.key, format!("has the mode both, and the strategy has both bounds, which this engine does not support; {remedy}"));
                None
            }
            (Mode::PreferRequests, time, count) => count.or(time),
            (_, time, count) => time.or(count),
        };
        if margin.is_none() && self.mode != Mode::Both {
            let bound = if self.mode == Mode::Requests { "max_requests" } else { "max_duration" };
            profile.notice(
                self.key,
                format!("has no effect, in GuideLLM too, because a strategy has no constraint {bound}"),
            );
        }
        margin.filter(|it| *it != Margin::Count(0))
    }
}
