//! A fixed number of concurrent users. Each sends a turn every users / rate seconds, and the turns of all users are spread evenly over this
//! time. So request i of the stage is due at i / rate, and comes from user slot i modulo users. When the user in a slot has sent all turns,
//! a new user takes the slot. Sources: LMBenchmark, and `user-centric-rate` of AIPerf.

use workload_profiles::workload::Load;

/// Maps each request of a load of users to its session and turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserTurns {
    users: u64,
    turns: u64,
}

impl UserTurns {
    /// Returns `None` if the load does not simulate users.
    pub fn from_load(load: &Load) -> Option<UserTurns> {
        match load {
            Load::Users { users, turns, .. } => {
                Some(UserTurns { users: u64::from(*users).max(1), turns: u64::from(*turns).max(1) })
            }
            Load::Open { .. }
            | Load::Burst { .. }
            | Load::Trace { .. }
            | Load::Closed { .. }
            | Load::LoadGen { .. } => None,
        }
    }

    /// Returns the number of concurrent users.
    pub fn users(self) -> u64 {
        self.users
    }

    /// Returns the number of turns per user.
    pub fn turns(self) -> u64 {
        self.turns
    }

    /// Returns the session and the turn of a request, both from 0. Turn t of a session is due users / rate seconds after turn t - 1. The initial
    /// sessions, 0 to users - 1, can begin with a later turn than 0: their earlier turns are never sent. Every other session has all its turns.
    pub fn session_of(self, number: u64) -> (u64, u64) {
        let place = number % self.users;
        // The first turns of the initial users are spread evenly over a session.
        let first_turn = u128::from(place) * u128::from(self.turns) / u128::from(self.users);
        let turns = number / self.users + first_turn as u64;
        (turns / self.turns * self.users + place, turns % self.turns)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use crds::units::{RequestRate, Span};
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::tests::times;
    use std::time::Duration;

    fn load(users: u32, rate: f64, turns: u32, seconds: Option<u64>, count: Option<u64>) -> Load {
        let rate = RequestRate::try_from(rate).unwrap();
        Load::Users { users, rate, turns, duration: seconds.map(|it| Span(Duration::from_secs(it))), count }
    }

    fn sessions(load: &Load, count: u64) -> Vec<(u64, u64)> {
        let turns = UserTurns::from_load(load).unwrap();
        (0..count).map(|it| turns.session_of(it)).collect()
    }

    #[test]
    fn four_users_of_three_turns_begin_in_different_turns_and_are_followed_by_new_ones() {
        let load = load(4, 2.0, 3, None, Some(12));
        let due: Vec<u128> = times(&load, 1).iter().map(Duration::as_millis).collect();
        assert_eq!(due, (0..12).map(|it| it * 500).collect::<Vec<_>>());
        // The slots 0 to 3 begin with the turns 0, 0, 1 and 2. Slot 3 is the first to get a new user.
        let expected =
            [[(0, 0), (1, 0), (2, 1), (3, 2)], [(0, 1), (1, 1), (2, 2), (7, 0)], [(0, 2), (1, 2), (6, 0), (7, 1)]];
        assert_eq!(sessions(&load, 12), expected.concat());
    }

    #[test]
    fn a_duration_or_a_count_ends_the_load() {
        assert_eq!(times(&load(4, 2.0, 3, Some(10), None), 1).len(), 20);
        assert_eq!(times(&load(4, 2.0, 3, Some(10), Some(7)), 1).len(), 7);
        assert_eq!(times(&load(4, 2.0, 3, Some(10), Some(70)), 1).len(), 20);
        assert!(times(&load(4, 2.0, 3, None, None), 1).is_empty());
        assert_eq!(UserTurns::from_load(&Load::closed(1, 1)), None);
    }

    proptest! {
        #[test]
        fn the_rate_is_constant_and_no_user_sends_twice_within_a_gap(
            users in 1_u32..60, rate in 1_u32..400, turns in 1_u32..30, count in 1_u64..3_000,
        ) {
            let load = load(users, f64::from(rate) / 10.0, turns, None, Some(count));
            let due = times(&load, 1);
            prop_assert_eq!(due.len() as u64, count);
            // Any window of one second contains `rate` requests, rounded up or down.
            let per_second = f64::from(rate) / 10.0;
            for (index, from) in due.iter().enumerate().take_while(|(_, at)| **at + Duration::from_secs(1) <= due[due.len() - 1]) {
                let within = due[index..].iter().take_while(|at| **at < *from + Duration::from_secs(1)).count() as f64;
                prop_assert!((within - per_second).abs() <= 1.0, "{within} at {from:?}");
            }
            let gap = Duration::from_secs_f64(f64::from(users) / per_second);
            let mut last: BTreeMap<u64, (u64, Duration)> = BTreeMap::new();
            for ((session, turn), at) in sessions(&load, count).into_iter().zip(&due) {
                prop_assert!(turn < u64::from(turns));
                match last.insert(session, (turn, *at)) {
                    Some((turn_before, before)) => {
                        prop_assert_eq!(turn, turn_before + 1);
                        prop_assert!((*at - before).abs_diff(gap) <= Duration::from_nanos(2));
                    }
                    // Only the initial users can begin with a later turn.
                    None => prop_assert!(turn == 0 || session < u64::from(users)),
                }
            }
        }

        #[test]
        fn there_are_as_many_users_at_each_time(users in 1_u32..60, turns in 1_u32..30, round in 0_u64..50) {
            let load = load(users, 1.0, turns, None, Some(1));
            let round = sessions(&load, (round + 1) * u64::from(users)).split_off((round * u64::from(users)) as usize);
            let distinct: BTreeSet<u64> = round.iter().map(|it| it.0).collect();
            prop_assert_eq!(distinct.len(), users as usize);
            // The turns are mixed: each turn number occurs equally often, rounded up or down.
            let mut of_turn: BTreeMap<u64, u32> = (0..u64::from(turns)).map(|it| (it, 0)).collect();
            round.iter().for_each(|it| *of_turn.entry(it.1).or_default() += 1);
            let (least, most) = (of_turn.values().min().unwrap(), of_turn.values().max().unwrap());
            prop_assert!(most - least <= 1, "{of_turn:?}");
        }
    }
}
