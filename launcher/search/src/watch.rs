//! Decides when a trial ends, and with which verdict, by looks at its requests so far.

use crate::{
    evidence::{Confirmation, Look, Objective, Outcome, WARM_UP_OF_CONFIRMATION, belief},
    trial::{Counts, Plan, Role, Trial, Verdict},
};

/// Duration of the warm-up before the window of an exploring trial, in seconds.
const WARM_UP: f64 = 5.0;
/// Time between two looks at an exploring trial, in seconds. The next constant is the length of the window at its first look.
const LOOK_EVERY: f64 = 5.0;
const FIRST_WINDOW: f64 = 10.0;
/// An exploring trial fails early if its belief is at most the first value. A growing trial passes early if its belief is at least the second value.
const SURELY: (f64, f64) = (0.05, 0.8);
/// How long a trial from above overloads the server, in seconds. The next constant is the factor of the load during this time.
const OVERLOAD: f64 = 10.0;
const OVERLOAD_FACTOR: f64 = 2.0;
/// Time between two looks at a trial from above, in seconds. The next constant is the length of the window of each look.
const RECOVERY_LOOK_EVERY: f64 = 30.0;
const RECOVERY_WINDOW: f64 = 28.0;
/// Minimum belief with which the server counts as recovered.
const RECOVERED: f64 = 0.4;

/// A trial in progress. Times are in seconds from the start of its load.
#[derive(Clone, Debug)]
pub struct Watch {
    objectives: Vec<Objective>,
    plan: Plan,
    confirmation: Confirmation,
    /// The times of the looks, in order. The trial ends at the last one.
    looks: Vec<f64>,
    made: usize,
    belief: f64,
    verdict: Option<Verdict>,
}

impl Watch {
    pub fn new(objectives: &[Objective], plan: &Plan) -> Watch {
        let confirmation = Confirmation::new(objectives, plan);
        let every = |first: f64, step: f64| {
            let looks = (0..).map(|it| first + f64::from(it) * step).take_while(|it| *it < plan.seconds);
            looks.chain([plan.seconds]).collect::<Vec<f64>>()
        };
        let looks = match plan.role {
            Role::WarmUp => vec![plan.seconds],
            Role::Grow | Role::Narrow => every(WARM_UP + FIRST_WINDOW, LOOK_EVERY),
            Role::Confirm => confirmation.looks().iter().map(|it| WARM_UP_OF_CONFIRMATION + it).collect(),
            Role::FromAbove => every(OVERLOAD + RECOVERY_LOOK_EVERY, RECOVERY_LOOK_EVERY),
        };
        let (objectives, plan) = (objectives.to_vec(), plan.clone());
        Watch { objectives, plan, confirmation, looks, made: 0, belief: 0.5, verdict: None }
    }

    /// Returns the plan of the trial.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the factor of the load at a time.
    pub fn load_factor(&self, at: f64) -> f64 {
        if self.plan.role == Role::FromAbove && at < OVERLOAD { OVERLOAD_FACTOR } else { 1.0 }
    }

    /// Returns when the factor of the load changes; `None` if it never does.
    pub fn load_changes(&self) -> Option<f64> {
        (self.plan.role == Role::FromAbove).then_some(OVERLOAD)
    }

    /// Returns the time of the next look; `None` once the trial has a verdict.
    pub fn next_look(&self) -> Option<f64> {
        self.looks.get(self.made).copied().filter(|_| self.verdict.is_none())
    }

    /// Returns the start of the window at a look. Requests that were due earlier do not count.
    pub fn window_start(&self, look: f64) -> f64 {
        match self.plan.role {
            Role::WarmUp => look,
            Role::Grow | Role::Narrow => WARM_UP,
            Role::Confirm => WARM_UP_OF_CONFIRMATION,
            Role::FromAbove => look - RECOVERY_WINDOW,
        }
    }

    /// Makes the next look. Returns the verdict if the trial ends. `outcomes` has one list per objective, each in the order of due times, as
    /// [`outcomes`](crate::outcomes) returns it for the requests since [`window_start`](Self::window_start).
    pub fn look(&mut self, outcomes: &[Vec<Outcome>]) -> Option<Verdict> {
        let at = self.next_look()?;
        self.made += 1;
        let is_last = self.made == self.looks.len();
        self.verdict = match self.plan.role {
            Role::WarmUp => is_last.then_some(Verdict::Undecided),
            Role::Confirm => {
                let look = self.confirmation.look(at - WARM_UP_OF_CONFIRMATION, outcomes);
                let verdict = match look {
                    Look::End(verdict) => Some(verdict),
                    Look::Continue => is_last.then_some(Verdict::Undecided),
                };
                self.belief = self.confirmation.belief(verdict.unwrap_or(Verdict::Undecided));
                verdict
            }
            Role::Grow | Role::Narrow => {
                self.belief = self.of_all(outcomes);
                let (missed, held) = SURELY;
                match self.belief {
                    it if it <= missed => Some(Verdict::Failed),
                    it if it >= held && self.plan.role == Role::Grow => Some(Verdict::Passed),
                    it => is_last.then_some(if it >= 0.5 { Verdict::Passed } else { Verdict::Failed }),
                }
            }
            Role::FromAbove => match self.of_all(outcomes) {
                it if it >= RECOVERED => Some(Verdict::Passed),
                _ => is_last.then_some(Verdict::Failed),
            },
        };
        self.verdict
    }

    /// Returns the lowest belief of all objectives.
    fn of_all(&self, outcomes: &[Vec<Outcome>]) -> f64 {
        let growing = self.plan.role == Role::Grow;
        let beliefs = self.objectives.iter().zip(outcomes).map(|(it, outcomes)| belief(it, outcomes, growing));
        beliefs.fold(1.0, f64::min)
    }

    /// Returns the ended trial. `seconds`: the time that it took, including its pause.
    pub fn ended(&self, seconds: f64) -> Trial {
        let counts = match self.plan.role {
            Role::Confirm => self.confirmation.counts().to_vec(),
            _ => Vec::<Counts>::new(),
        };
        Trial {
            role: self.plan.role,
            load: self.plan.load,
            seconds,
            verdict: self.verdict.unwrap_or(Verdict::Undecided),
            belief: self.belief,
            counts,
        }
    }
}
