//! When a trial ends, and with which verdict: looks at the requests so far.

use crate::{
    evidence::{Confirmation, Look, Objective, Outcome, WARM_UP_OF_CONFIRMATION, belief},
    trial::{Counts, Plan, Role, Trial, Verdict},
};

/// The time before the window of an exploring trial, in seconds.
const WARM_UP: f64 = 5.0;
/// The time between two looks at an exploring trial, in seconds, and the window of the first look that may end it.
const LOOK_EVERY: f64 = 5.0;
const FIRST_WINDOW: f64 = 10.0;
/// An exploring trial ends early at a belief of this or less, and while growing at a belief of that or more.
const SURELY: (f64, f64) = (0.05, 0.8);
/// How long a trial from above overloads the server, in seconds, and the factor of the load meanwhile.
const OVERLOAD: f64 = 10.0;
const OVERLOAD_FACTOR: f64 = 2.0;
/// The time between two looks at a trial from above, and the window of each, in seconds.
const RECOVERY_LOOK_EVERY: f64 = 30.0;
const RECOVERY_WINDOW: f64 = 28.0;
/// The belief from which on the server has recovered.
const RECOVERED: f64 = 0.4;

/// A trial in progress. Times are in seconds from the start of its load.
#[derive(Clone, Debug)]
pub struct Watch {
    objectives: Vec<Objective>,
    plan: Plan,
    confirmation: Confirmation,
    /// The times of the looks, in order. The last is the end of the trial.
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
            Role::Grow | Role::Narrow | Role::Aside => every(WARM_UP + FIRST_WINDOW, LOOK_EVERY),
            Role::Confirm => confirmation.looks().iter().map(|it| WARM_UP_OF_CONFIRMATION + it).collect(),
            Role::FromAbove => every(OVERLOAD + RECOVERY_LOOK_EVERY, RECOVERY_LOOK_EVERY),
        };
        let (objectives, plan) = (objectives.to_vec(), plan.clone());
        Watch { objectives, plan, confirmation, looks, made: 0, belief: 0.5, verdict: None }
    }

    /// The factor of the load at a time.
    pub fn load_factor(&self, at: f64) -> f64 {
        if self.plan.role == Role::FromAbove && at < OVERLOAD { OVERLOAD_FACTOR } else { 1.0 }
    }

    /// When the factor of the load changes; `None`: never.
    pub fn load_changes(&self) -> Option<f64> {
        (self.plan.role == Role::FromAbove).then_some(OVERLOAD)
    }

    /// The time of the next look; `None` once the trial has a verdict.
    pub fn next_look(&self) -> Option<f64> {
        self.looks.get(self.made).copied().filter(|_| self.verdict.is_none())
    }

    /// The first due time that counts at a look.
    pub fn window_start(&self, look: f64) -> f64 {
        match self.plan.role {
            Role::WarmUp => look,
            Role::Grow | Role::Narrow | Role::Aside => WARM_UP,
            Role::Confirm => WARM_UP_OF_CONFIRMATION,
            Role::FromAbove => look - RECOVERY_WINDOW,
        }
    }

    /// Makes the next look. `outcomes`: one list per objective, each in the order of due times, of the requests due from
    /// [`window_start`](Self::window_start) on that [`outcomes`](crate::outcomes) decides. Returns the verdict if the trial ends.
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
            Role::Grow | Role::Narrow | Role::Aside => {
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

    /// The belief in the least likely objective.
    fn of_all(&self, outcomes: &[Vec<Outcome>]) -> f64 {
        let growing = self.plan.role == Role::Grow;
        let beliefs = self.objectives.iter().zip(outcomes).map(|(it, outcomes)| belief(it, outcomes, growing).belief);
        beliefs.fold(1.0, f64::min)
    }

    /// The trial as it ended. `seconds`: the time it took, with its pause.
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
