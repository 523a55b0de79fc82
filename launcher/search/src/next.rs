//! The step rule. Growing trials raise the load until one fails, and narrowing trials locate the edge. Confirming trials begin below the edge, and
//! climb. Finally, a trial from above checks whether the server returns to the answer after an overload.

use serde::{Deserialize, Serialize};

use crate::{
    posterior::{Posterior, steering},
    settings::{Recovery, Settings},
    trial::{Counts, Plan, Role, Trial, Verdict},
};

/// The duration of a growing trial, in seconds.
const GROW: f64 = 30.0;
/// The duration of a narrowing trial, in seconds.
const NARROW: f64 = 45.0;
/// The loads to try while none has passed, as multiples of the first load. Higher loads come first, because a server may be slow while it is idle.
/// The first load is tried twice, because its first trial may find a cold server.
const LADDER: [f64; 8] = [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 0.25, 0.0625];
/// Maximum number of narrowing trials.
const NARROWING_TRIALS: usize = 4;
/// The edge is known well enough if the 90th percentile of its distribution divided by the 10th is at most this.
const KNOWN_WITHIN: f64 = 1.15;
/// Shares of the risk. Confirming trials have the first share until one does not pass, then the second share, and so on. Counts of undecided trials
/// may be carried over, so later shares count twice: 0.70 + 2 x (0.10 + 0.03 + 0.02) = 1.
const SHARES: [f64; 4] = [0.70, 0.10, 0.03, 0.02];
/// Maximum duration of a confirming trial, in seconds.
const LONGEST_CONFIRMATION: f64 = 1_200.0;
/// Minimum time for a confirming trial, in seconds. With less time left, none is started.
const SHORTEST_CONFIRMATION: f64 = 90.0;
/// Time kept for one more confirming trial while none has passed, in seconds.
const RESERVE: f64 = 300.0;
/// Time kept for the trial from above, in seconds.
const KEPT_FOR_RECOVERY: f64 = 130.0;
/// Maximum and minimum duration of a trial from above, in seconds.
const RECOVERY: (f64, f64) = (190.0, 45.0);
/// The factor by which a load is reduced if the server did not return to it.
const BACK_OFF: f64 = 0.75;
/// In what may be the last confirmation, the load is at most this multiple of the estimate.
const INSURANCE: f64 = 0.75;

/// The next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    Run(Plan),
    Answer(Answer),
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The highest load that was confirmed. If the settings require it, the server also returns to this load from an overload. `None` if there is
    /// none.
    pub load: Option<f64>,
    /// A higher load that was confirmed, but without evidence that the server returns to it from an overload. `None` if there is none.
    pub from_calm: Option<f64>,
    pub stopped: Stopped,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stopped {
    /// A load was confirmed. A higher load is not worth another confirmation, or there is no time or no risk left for one.
    Confirmed,
    /// The time did not suffice for a confirmation.
    Budget,
    /// Every load that was tried failed.
    NoLoadPasses,
    /// The highest load of the settings was confirmed.
    HighestLoadPasses,
    /// The client cannot send a higher load.
    ClientLimited,
    /// A load was confirmed, but the server does not return to it, or to a lower one, from an overload.
    DoesNotRecover,
    /// No confirmation passed, and the risk is used up.
    NotConfirmed,
}

/// Returns the next step after these trials. It is always the same for the same trials.
///
/// The highest confirmed load exceeds the capacity with a probability of at most `settings.risk`. On average, a load fails at or above the capacity,
/// so a confirmation passes there with a probability of at most its share of the risk. Consecutive passes share one risk: a second load above the
/// capacity is tried only if the first one has passed.
pub fn next(settings: &Settings, trials: &[Trial]) -> Next {
    Search::new(settings, trials).next()
}

/// The trials of a search, by their role.
struct Search<'a> {
    settings: Settings,
    trials: &'a [Trial],
    explored: Vec<&'a Trial>,
    confirmed: Vec<&'a Trial>,
    from_above: Vec<&'a Trial>,
    /// Whether the client could not send a load that was tried.
    client_limited: bool,
    /// Time left for exploring and confirming, in seconds.
    left: f64,
    /// Time left including the time kept for the trial from above, in seconds.
    left_in_all: f64,
}

impl<'a> Search<'a> {
    fn new(settings: &Settings, trials: &'a [Trial]) -> Search<'a> {
        let limited = trials.iter().filter(|it| it.verdict == Verdict::ClientLimited);
        let limit = limited.map(|it| CLIENT_KEEPS * it.load).fold(f64::INFINITY, f64::min);
        let highest = settings.highest.min(settings.fit(limit.min(settings.highest)));
        let of = |wanted: fn(Role) -> bool| -> Vec<&Trial> {
            trials.iter().filter(|it| wanted(it.role) && it.verdict != Verdict::ClientLimited).collect()
        };
        let left_in_all = settings.budget - trials.iter().map(|it| it.seconds).sum::<f64>();
        let kept = if settings.recovery.is_tried() { KEPT_FOR_RECOVERY } else { 0.0 };
        Search {
            settings: Settings { highest, ..*settings },
            trials,
            explored: of(Role::explores),
            confirmed: of(|it| it == Role::Confirm),
            from_above: of(|it| it == Role::FromAbove),
            client_limited: limit.is_finite(),
            left: left_in_all - kept,
            left_in_all,
        }
    }

    fn next(&self) -> Next {
        if self.confirmed.is_empty()
            && let Some(step) = self.grow()
        {
            return step;
        }
        let posterior = Posterior::new(&self.settings, &steering(self.trials));
        if self.confirmed.is_empty()
            && let Some(step) = self.narrow(&posterior)
        {
            return step;
        }
        let passed = self.confirmed.iter().filter(|it| it.verdict == Verdict::Passed);
        match passed.max_by(|one, other| one.load.total_cmp(&other.load)) {
            Some(best) => self.climb(best, &posterior),
            None => self.confirm(&posterior),
        }
    }

    /// Returns the next growing trial, or the end if no load passes. `None` if growing is over: a load above a passed one failed, or no load or time
    /// is left.
    fn grow(&self) -> Option<Next> {
        let Settings { first, lowest, highest, growth, .. } = self.settings;
        let run = |load: f64| Some(self.run(load, Role::Grow, GROW));
        if self.explored.is_empty() {
            // If the client cannot send the first load, nothing is known about the server, so a lower load is tried.
            return match first <= highest {
                true => run(first),
                false if self.left > GROW && highest >= lowest => run(highest),
                false => Some(self.answer(Stopped::ClientLimited)),
            };
        }
        let loads = |failed: bool| {
            let of = move |it: &&&Trial| (it.verdict == Verdict::Failed) == failed;
            self.explored.iter().filter(of).map(|it| it.load)
        };
        let Some(top) = loads(false).reduce(f64::max) else {
            let start = self.explored[0].load;
            let ladder = LADDER.iter().filter(|it| **it >= 1.0 || !self.settings.is_closed());
            let next = ladder.map(|it| (start * it).max(lowest)).nth(loads(true).count());
            return match next.filter(|_| self.left > GROW) {
                Some(load) => run(load.min(highest)),
                None => Some(self.answer(Stopped::NoLoadPasses)),
            };
        };
        let above: Vec<f64> = loads(true).filter(|it| *it > top).collect();
        match above[..] {
            [] if top < highest && self.left > GROW => run((top * growth).min(highest)),
            // After the first failure, one higher load is tried too, because only a band of loads may fail.
            [only] if only * growth <= highest && only >= 0.99 * top * growth => run(only * growth),
            _ => None,
        }
    }

    /// Returns the next narrowing trial. `None` if the edge is known well enough, the highest load passes, or the time or the trials are used up.
    fn narrow(&self, posterior: &Posterior) -> Option<Next> {
        let [low, middle, high] = [0.1, 0.5, 0.9].map(|it| posterior.quantile(it));
        let is_known = high / low <= KNOWN_WITHIN || (self.settings.is_closed() && high - low <= 1.0);
        let made = self.explored.iter().filter(|it| it.role == Role::Narrow).count();
        let has_time = self.left > SHORTEST_CONFIRMATION + NARROW;
        let wanted = !is_known && !self.passes_at_highest() && made < NARROWING_TRIALS && has_time;
        wanted.then(|| self.run(middle, Role::Narrow, NARROW))
    }

    /// Whether the highest load has passed an exploring trial, and no load above the highest passed one has failed.
    fn passes_at_highest(&self) -> bool {
        let passed = self.explored.iter().filter(|it| it.verdict != Verdict::Failed).map(|it| it.load);
        let top = passed.fold(0.0, f64::max);
        let has_failure = self.explored.iter().any(|it| it.verdict == Verdict::Failed && it.load > top);
        !has_failure && top >= self.settings.highest
    }

    /// Returns the number of confirmations that did not pass.
    fn misses(&self) -> usize {
        self.confirmed.iter().filter(|it| it.verdict != Verdict::Passed).count()
    }

    /// Returns a confirming trial above `best`, the highest load that passed, or the end.
    fn climb(&self, best: &Trial, posterior: &Posterior) -> Next {
        let is_closed = self.settings.is_closed();
        let failed = self.confirmed.iter().filter(|it| it.verdict != Verdict::Passed && it.load > best.load);
        let higher = match failed.map(|it| it.load).reduce(f64::min) {
            Some(above) => (best.load * above).sqrt(),
            None => {
                let edge = posterior.quantile(0.5) * if is_closed { 0.96 } else { 0.95 };
                best.load * (edge / best.load).max(1e-9).powf(0.75)
            }
        };
        let higher = self.settings.fit(higher.min(self.settings.highest));
        let is_worth_it = higher >= best.load * if is_closed { 1.0001 } else { 1.03 };
        let has_time = self.left >= 1.3 * best.seconds;
        match SHARES.get(self.misses()) {
            Some(share) if is_worth_it && has_time => self.confirm_at(higher, self.left, *share, true),
            _ if best.load < self.settings.highest => self.answer(Stopped::Confirmed),
            _ if self.client_limited => self.answer(Stopped::ClientLimited),
            _ => self.answer(Stopped::HighestLoadPasses),
        }
    }

    /// Returns a confirming trial while none has passed, or the end.
    fn confirm(&self, posterior: &Posterior) -> Next {
        let (is_closed, misses) = (self.settings.is_closed(), self.misses());
        let Some(share) = SHARES.get(misses) else { return self.answer(Stopped::NotConfirmed) };
        if self.left < SHORTEST_CONFIRMATION {
            return self.answer(Stopped::Budget);
        }
        // Exploring trials overrate a rate. They overrate a concurrency less, because it limits the queue.
        let estimate = posterior.quantile(0.25) * if is_closed { 0.87 } else { 0.83 };
        let mut load = if self.passes_at_highest() && misses == 0 { self.settings.highest } else { estimate };
        if let Some(last) = self.confirmed.last() {
            let down = if last.verdict == Verdict::Failed { 0.94 } else { 0.95 };
            load = load.max(last.load * 0.90).min(last.load * down);
            if is_closed {
                load = load.round_ties_even().min(last.load - 1.0);
            }
            if self.left < RESERVE {
                let insured = estimate * INSURANCE;
                load = load.min(if is_closed { insured.floor().max(1.0) } else { insured });
            }
        }
        if load < self.settings.lowest {
            return self.answer(Stopped::NoLoadPasses);
        }
        let is_last = misses + 1 >= SHARES.len() || self.left < 2.0 * RESERVE;
        let seconds = if is_last { self.left } else { self.left - RESERVE };
        self.confirm_at(self.settings.fit(load), seconds, *share, false)
    }

    fn confirm_at(&self, load: f64, seconds: f64, share: f64, climbing: bool) -> Next {
        let undecided = self.confirmed.iter().filter(|it| it.verdict == Verdict::Undecided && it.load >= load);
        let carried = undecided.fold(Vec::new(), |sums: Vec<Counts>, trial| match sums.is_empty() {
            true => trial.counts.clone(),
            false => sums.into_iter().zip(&trial.counts).map(|(sum, it)| sum.plus(*it)).collect(),
        });
        let (risk, seconds) = (self.settings.risk * share, seconds.min(LONGEST_CONFIRMATION));
        Next::Run(Plan { role: Role::Confirm, load, seconds, risk, climbing, carried })
    }

    fn run(&self, load: f64, role: Role, seconds: f64) -> Next {
        let load = self.settings.fit(load);
        Next::Run(Plan { role, load, seconds, risk: 0.0, climbing: false, carried: Vec::new() })
    }

    /// Returns the end of the search. If required, first returns a trial from above at the load that is to be the answer.
    fn answer(&self, stopped: Stopped) -> Next {
        let passed = self.confirmed.iter().filter(|it| it.verdict == Verdict::Passed).map(|it| it.load);
        let best = passed.reduce(f64::max);
        let end = |load, from_calm, stopped| Next::Answer(Answer { load, from_calm, stopped });
        let Some(best) = best.filter(|_| self.settings.recovery.is_tried()) else { return end(best, None, stopped) };
        let tried = |recovered: bool| {
            let of = move |it: &&&Trial| (it.verdict == Verdict::Passed) == recovered;
            self.from_above.iter().filter(of).map(|it| it.load)
        };
        let stuck = tried(false).reduce(f64::min);
        if let Some(load) = tried(true).reduce(f64::max) {
            return match self.settings.recovery {
                Recovery::Required if load < best => end(Some(load), Some(best), stopped),
                _ => end(Some(best), None, stopped),
            };
        }
        let load = match stuck {
            None => best,
            Some(stuck) if self.settings.is_closed() => (stuck * BACK_OFF).floor().min(stuck - 1.0),
            Some(stuck) => stuck * BACK_OFF,
        };
        let (longest, shortest) = RECOVERY;
        let once = self.settings.recovery == Recovery::Reported && stuck.is_some();
        if !once && load >= self.settings.lowest && self.left_in_all >= shortest {
            return self.run(load, Role::FromAbove, self.left_in_all.clamp(shortest, longest));
        }
        match self.settings.recovery {
            Recovery::Reported => end(Some(best), None, stopped),
            _ if stuck.is_some() => end(None, Some(best), Stopped::DoesNotRecover),
            _ => end(None, Some(best), stopped),
        }
    }
}

/// If a client could not send a load, it can probably send this share of it.
const CLIENT_KEEPS: f64 = 0.8;
