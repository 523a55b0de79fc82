//! Tests properties of the step rule, for servers and verdicts of any kind.

use proptest::prelude::*;
use search::{Answer, Counts, Next, Plan, Recovery, Role, Settings, Stopped, Trial, Unit, Verdict, next};

/// The results of a search's trials, drawn from a list of numbers.
#[derive(Clone, Debug)]
struct Server {
    /// Loads above this one fail more often.
    capacity: f64,
    /// Each number decides one trial, in order. After the last number, the first one follows again.
    luck: Vec<f64>,
}

impl Server {
    fn run(&self, plan: &Plan, number: usize) -> Trial {
        let luck = self.luck[number % self.luck.len()];
        let belief = if plan.load <= self.capacity { luck.sqrt() } else { luck * luck };
        let verdict = match plan.role {
            Role::Confirm if (0.4..0.6).contains(&belief) => Verdict::Undecided,
            _ if luck > 0.995 => Verdict::ClientLimited,
            _ if belief >= 0.5 => Verdict::Passed,
            _ => Verdict::Failed,
        };
        let seconds = plan.seconds * (0.3 + 0.7 * luck);
        let counts = vec![Counts { misses: 1.0, requests: 100.0 }];
        Trial { role: plan.role, load: plan.load, seconds, verdict, belief, counts }
    }

    fn search(&self, settings: &Settings) -> (Vec<Trial>, Vec<Plan>, Answer) {
        let (mut trials, mut plans) = (Vec::new(), Vec::new());
        loop {
            match next(settings, &trials) {
                Next::Answer(answer) => return (trials, plans, answer),
                Next::Run(plan) => {
                    trials.push(self.run(&plan, trials.len()));
                    plans.push(plan);
                }
            }
            assert!(trials.len() < 100, "the search does not end: {trials:?}");
        }
    }
}

fn servers() -> impl Strategy<Value = Server> {
    let luck = prop::collection::vec(0.0..1.0_f64, 1..40);
    (-3.0..10.0_f64, luck).prop_map(|(log, luck)| Server { capacity: log.exp2(), luck })
}

fn settings() -> impl Strategy<Value = Settings> {
    let unit = prop::sample::select(vec![Unit::RequestsPerSecond, Unit::Concurrency]);
    let recovery = prop::sample::select(vec![Recovery::Required, Recovery::Reported, Recovery::Off]);
    (unit, recovery, 60.0..5_000.0_f64, 1.0..2_000.0_f64, 1.0..50.0_f64).prop_map(
        |(unit, recovery, budget, highest, first)| Settings {
            recovery,
            budget,
            highest: highest.floor(),
            first: first.floor(),
            ..Settings::new(unit)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn a_search_ends_within_its_budget_and_its_risk(server in servers(), settings in settings()) {
        let (trials, plans, answer) = server.search(&settings);
        let used: f64 = trials.iter().map(|it| it.seconds).sum();
        // Only the last trial may exceed the budget, by at most its own length. A growing trial takes 30 s.
        prop_assert!(used <= settings.budget + 60.0, "{used} of {}", settings.budget);
        // Confirmations with the same share count once. Shares after the first one count twice, because their counts are carried over.
        let mut shares: Vec<f64> = plans.iter().map(|it| it.risk).filter(|it| *it > 0.0).collect();
        shares.dedup();
        let spent: f64 = shares.iter().enumerate().map(|(at, it)| if at == 0 { *it } else { 2.0 * it }).sum();
        prop_assert!(spent <= settings.risk + 1e-12, "{shares:?}");
        // An answer must be a confirmed load.
        let confirmed = |wanted: Verdict| {
            let of = move |it: &&Trial| it.role == Role::Confirm && it.verdict == wanted;
            trials.iter().filter(of).map(|it| it.load)
        };
        let highest = confirmed(Verdict::Passed).fold(0.0, f64::max);
        if let Some(load) = answer.load {
            prop_assert!(load <= highest && load >= settings.lowest, "{answer:?}");
        }
        prop_assert_eq!(answer.stopped == Stopped::DoesNotRecover, answer.load.is_none() && answer.from_calm.is_some()
            && trials.iter().any(|it| it.role == Role::FromAbove && it.verdict != Verdict::Passed));
    }

    #[test]
    fn loads_are_within_their_bounds(server in servers(), settings in settings()) {
        for plan in server.search(&settings).1 {
            prop_assert!(plan.load >= settings.lowest.min(settings.highest) && plan.load <= settings.highest, "{plan:?}");
            prop_assert!(settings.unit != Unit::Concurrency || plan.load.fract() == 0.0, "{plan:?}");
            prop_assert!(plan.seconds > 0.0 && plan.seconds.is_finite(), "{plan:?}");
        }
    }

    #[test]
    fn no_load_is_confirmed_that_missed_or_lies_above_a_miss(server in servers(), settings in settings()) {
        let (trials, plans, _) = server.search(&settings);
        for (at, plan) in plans.iter().enumerate().filter(|(_, it)| it.role == Role::Confirm) {
            let missed = |it: &&Trial| it.role == Role::Confirm && it.verdict == Verdict::Failed;
            let lowest = trials[..at].iter().filter(missed).map(|it| it.load).fold(f64::INFINITY, f64::min);
            prop_assert!(plan.load < lowest, "{plan:?} after {:?}", &trials[..at]);
        }
    }

    #[test]
    fn a_resumed_search_goes_on_as_if_it_had_not_stopped(server in servers(), settings in settings()) {
        let (trials, plans, _) = server.search(&settings);
        for (at, plan) in plans.iter().enumerate() {
            prop_assert_eq!(&next(&settings, &trials[..at]), &Next::Run(plan.clone()));
        }
    }
}
