use proptest::prelude::*;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A member with the name `namespace/name`, created at this second.
fn member(name: &str, second: i64, exclusive: bool, place: Place) -> Member {
    let (namespace, name) = name.split_once('/').unwrap();
    Member {
        uid: format!("uid-{name}"),
        namespace: namespace.into(),
        name: name.into(),
        created: at(second),
        turns: [Timestamp::MIN; 2],
        exclusive,
        is_cluster_wide: true,
        place,
    }
}

const NOW: i64 = 100;

fn told(run: &Member, others: &[Member]) -> Option<String> {
    busy(run, others.iter(), at(NOW)).map(|it| it.message("http://h:80"))
}

#[test]
fn a_run_waits_for_the_holder_and_for_older_runs() {
    use Place::{Aside, Draining, Holding, Waiting};
    let run = member("bench/chat", 10, true, Waiting);
    let draining = |until: i64| Draining { until: at(until) };
    for (others, expected) in [
        (vec![], None),
        (vec![run.clone()], None),
        (vec![member("bench/a", 20, true, Holding)], Some("1st in line for http://h:80; bench/a uses it now")),
        (vec![member("other/a", 20, true, Holding)], Some("1st in line for http://h:80; other/a uses it now")),
        (vec![member("bench/a", 5, true, Waiting)], Some("2nd in line for http://h:80; bench/a begins first")),
        (vec![member("bench/a", 20, true, Waiting)], None),
        (vec![member("bench/a", 5, true, Aside)], None),
        (
            vec![member("bench/a", 5, true, draining(101))],
            Some("1st in line for http://h:80; the pod of bench/a has not ended yet"),
        ),
        (vec![member("bench/a", 5, true, draining(100))], None),
        (
            vec![
                member("bench/a", 5, true, Waiting),
                member("other/b", 20, true, Holding),
                member("bench/c", 6, true, Waiting),
            ],
            Some("3rd in line for http://h:80; other/b uses it now"),
        ),
        // If two runs were created in the same second, their UIDs decide.
        (vec![member("bench/b", 10, true, Waiting)], Some("2nd in line for http://h:80; bench/b begins first")),
        (vec![member("bench/d", 10, true, Waiting)], None),
    ] {
        assert_eq!(told(&run, &others).as_deref(), expected, "{others:?}");
    }
}

#[test]
fn runs_that_share_do_not_wait_for_each_other_but_for_exclusive_ones() {
    use Place::{Holding, Waiting};
    let shared = member("bench/chat", 10, false, Waiting);
    let exclusive = member("bench/chat", 10, true, Waiting);
    for (run, other, waits) in [
        (&shared, member("bench/a", 5, false, Holding), false),
        (&shared, member("bench/a", 5, false, Waiting), false),
        (&shared, member("bench/a", 5, true, Holding), true),
        (&shared, member("bench/a", 5, true, Waiting), true),
        (&exclusive, member("bench/a", 5, false, Holding), true),
        (&exclusive, member("bench/a", 5, false, Waiting), true),
        (&exclusive, member("bench/a", 15, false, Waiting), false),
    ] {
        assert_eq!(busy(run, [other.clone()].iter(), at(NOW)).is_some(), waits, "{run:?} after {other:?}");
    }
}

#[test]
fn a_run_that_has_the_target_does_not_go_back_into_the_line() {
    let run = member("bench/chat", 10, true, Place::Holding);
    assert_eq!(told(&run, &[member("bench/a", 5, true, Place::Waiting)]), None);
    assert!(told(&run, &[member("bench/a", 5, true, Place::Holding)]).is_some());
}

#[test]
fn namespaces_take_turns_and_a_run_that_had_its_turn_goes_behind_the_others_of_its_namespace() {
    let with_turns = |name: &str, second: i64, turns: [i64; 2]| Member {
        turns: turns.map(at),
        ..member(name, second, true, Place::Waiting)
    };
    let mut runs = vec![
        with_turns("a/again", 1, [70, 60]),
        with_turns("a/old", 2, [70, 0]),
        with_turns("a/new", 3, [70, 0]),
        with_turns("b/last", 9, [0, 0]),
        with_turns("c/older", 4, [50, 0]),
    ];
    let mut order = Vec::new();
    while let Some(first) = next(runs.iter()).first().map(|it| it.uid.clone()) {
        order.push(first.trim_start_matches("uid-").to_owned());
        runs.retain(|it| it.uid != first);
    }
    assert_eq!(order, ["last", "older", "old", "new", "again"]);
}

#[test]
fn runs_of_other_namespaces_count_if_both_are_cluster_wide() {
    use Place::{Holding, Waiting};
    let narrow = |it: Member| Member { is_cluster_wide: false, ..it };
    let run = member("bench/chat", 10, true, Waiting);
    for (run, other, waits) in [
        (run.clone(), member("other/a", 5, true, Holding), true),
        (narrow(run.clone()), member("other/a", 5, true, Holding), false),
        (run.clone(), narrow(member("other/a", 5, true, Holding)), false),
        (narrow(run.clone()), member("bench/a", 5, true, Holding), true),
        (run, narrow(member("bench/a", 5, true, Holding)), true),
    ] {
        assert_eq!(busy(&run, [other.clone()].iter(), at(NOW)).is_some(), waits, "{run:?} after {other:?}");
    }
}

#[test]
fn numbers_have_their_endings() {
    let all: Vec<_> = [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111, 112].map(|it| Ordinal(it).to_string()).into();
    assert_eq!(all, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "101st", "111th", "112th"]);
}

#[test]
fn the_further_back_the_seldomer_a_run_looks() {
    let look = |position: usize, ahead: Ahead| Busy { position, ahead, name: String::new() }.next_look().as_secs();
    assert_eq!([1, 5, 10, 50, 1_000].map(|it| look(it, Ahead::Has)), [30, 30, 60, 300, 600]);
    assert_eq!((look(1, Ahead::Drains), look(2, Ahead::Drains)), (2, 30));
    let turns_a_minute: f64 = (1..=1_000).map(|it| 60.0 / look(it, Ahead::Has) as f64).sum();
    assert!(turns_a_minute < 150.0, "a thousand waiting runs take {turns_a_minute} turns a minute");
}

#[test]
fn an_end_looks_at_each_of_ten_thousand_waiting_runs_at_most_three_times() {
    const RUNS: usize = 10_000;
    for exclusive in [true, false] {
        let waiting: Vec<_> =
            (0..RUNS).map(|it| member(&format!("bench/r{it}"), it as i64, exclusive, Place::Waiting)).collect();
        let looks = std::cell::Cell::new(0);
        let woken = next(waiting.iter().inspect(|_| looks.set(looks.get() + 1)));
        assert_eq!((woken.len(), woken[0].name.as_str()), (if exclusive { 1 } else { RUNS }, "r0"));
        assert!(looks.get() <= 3 * RUNS, "{} looks", looks.get());
    }
}

/// An event for the runs of one target.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A run requests the target, and begins if it may.
    Ask(usize),
    /// The attempt of a run that occupies the target ends, but its pod remains.
    End(usize),
    /// The pod of a run is gone.
    Gone(usize),
    /// A user suspends a waiting run, or resumes a suspended one.
    Toggle(usize),
}

fn event() -> impl Strategy<Value = Event> {
    (0..8_usize, 0..4_u8).prop_map(|(run, kind)| match kind {
        0 => Event::End(run),
        1 => Event::Gone(run),
        2 => Event::Toggle(run),
        _ => Event::Ask(run),
    })
}

/// Simulates one event.
fn happen(runs: &mut [Member], finished: &mut [bool], event: Event) {
    match event {
        Event::Ask(run)
            if runs[run].place == Place::Waiting
                && !finished[run]
                && busy(&runs[run], runs.iter(), at(NOW)).is_none() =>
        {
            runs[run].place = Place::Holding;
        }
        Event::End(run) if runs[run].place == Place::Holding => {
            finished[run] = true;
            runs[run].place = Place::Draining { until: at(i64::from(u32::MAX)) };
        }
        Event::Gone(run) if matches!(runs[run].place, Place::Draining { .. }) => runs[run].place = Place::Aside,
        Event::Toggle(run) if !finished[run] => {
            runs[run].place = match runs[run].place {
                Place::Waiting => Place::Aside,
                Place::Aside => Place::Waiting,
                other => other,
            };
        }
        _ => {}
    }
}

fn assert_never_two(runs: &[Member]) {
    let loads: Vec<_> = runs.iter().filter(|it| matches!(it.place, Place::Holding | Place::Draining { .. })).collect();
    let alone = loads.len() <= 1 || loads.iter().all(|it| !it.exclusive);
    assert!(alone, "an exclusive run shares its target: {loads:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_runs_that_are_woken_are_those_that_may_begin(
        places in proptest::collection::vec((0..4_u8, any::<bool>(), 0..4_i64, any::<bool>(), any::<bool>()), 0..8),
        is_mixed in any::<bool>(),
    ) {
        let place = |it: u8| match it {
            0 => Place::Holding,
            1 => Place::Aside,
            _ => Place::Waiting,
        };
        let runs: Vec<Member> = (0..).zip(&places)
            .map(|(it, (at, exclusive, created, is_wide, is_other))| Member {
                is_cluster_wide: *is_wide || !is_mixed,
                ..member(&format!("{}/r{it}", if *is_other { "o" } else { "n" }), *created, *exclusive, place(*at))
            })
            .collect();
        let waiting = runs.iter().filter(|it| it.place == Place::Waiting);
        let free: Vec<_> = waiting.filter(|it| busy(it, runs.iter(), at(NOW)).is_none()).collect();
        prop_assert_eq!(next(runs.iter()), free);
    }

    #[test]
    fn an_exclusive_run_is_never_joined_and_every_run_gets_its_turn(
        shared in proptest::collection::vec(any::<bool>(), 8),
        created in proptest::collection::vec(0..4_i64, 8),
        events in proptest::collection::vec(event(), 0..200),
    ) {
        let mut runs: Vec<Member> = (0..8)
            .map(|it| member(&format!("n{}/r{it}", it % 2), created[it], !shared[it], Place::Waiting))
            .collect();
        let mut finished = [false; 8];
        for event in events {
            happen(&mut runs, &mut finished, event);
            assert_never_two(&runs);
        }
        // From here on runs only request the target, and every run that has begun ends. So each run must have begun after a bounded number of rounds.
        for _ in 0..=runs.len() {
            for run in 0..runs.len() {
                if runs[run].place == Place::Aside {
                    happen(&mut runs, &mut finished, Event::Toggle(run));
                }
            }
            for run in 0..runs.len() {
                for event in [Event::Ask(run), Event::End(run), Event::Gone(run)] {
                    happen(&mut runs, &mut finished, event);
                    assert_never_two(&runs);
                }
            }
        }
        prop_assert!(finished.iter().all(|it| *it), "a run was never let in: {runs:?}");
    }
}
