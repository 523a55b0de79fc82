use proptest::prelude::*;
use workload_profiles::loadgen::Mode;

use super::*;

fn qsl(count: u64) -> Qsl {
    Qsl { name: String::new(), total_sample_count: count, performance_sample_count: count }
}

fn performance(settings: &Settings, count: u64) -> Result<PhaseQueries, QueryError> {
    QueryGenerator::new(settings, &qsl(count))?.phase(Phase::Performance)
}

fn server(rate: f64, seconds: u64) -> Settings {
    Settings {
        scenario: Scenario::Server,
        server_target_qps: rate,
        min_duration_ms: seconds * 1_000,
        ..Settings::default()
    }
}

fn indices(phase: &PhaseQueries) -> Vec<u32> {
    (0..phase.len()).flat_map(|it| phase.samples(it)).copied().collect()
}

fn times(phase: &PhaseQueries) -> Vec<Duration> {
    (0..phase.len()).map(|it| phase.due(it)).collect()
}

/// Checks that the settings are rejected, with a message that begins with `begin`.
fn assert_refused(settings: Settings, count: u64, begin: &str) {
    let message = performance(&settings, count).expect_err("is refused").to_string();
    assert!(message.starts_with(begin), "{message}");
}

#[test]
fn what_would_not_end_is_refused() {
    let single = |latency| Settings { single_stream_expected_latency_ns: latency, ..Settings::default() };
    let multi = |count| Settings {
        scenario: Scenario::MultiStream,
        multi_stream_samples_per_query: count,
        ..Settings::default()
    };
    let offline = |rate| Settings { scenario: Scenario::Offline, offline_expected_qps: rate, ..Settings::default() };
    let least = |count| Settings { min_query_count: count, ..Settings::default() };
    let long = |it: Settings| Settings { min_duration_ms: u64::MAX, ..it };
    let equal = |it: Settings| Settings { sample_concatenate_permutation: true, ..it };

    assert_refused(server(0.0, 1), 9, "server_target_qps is 0; ");
    assert_refused(server(f64::NAN, 1), 9, "server_target_qps is NaN; ");
    assert_refused(server(f64::INFINITY, 1), 9, "server_target_qps is inf; ");
    assert_refused(offline(0.0), 9, "offline_expected_qps is 0; ");
    assert_refused(single(0.0), 9, "single_stream_expected_latency_ns is 0; ");
    assert_refused(single(-1.0), 9, "single_stream_expected_latency_ns is -1; ");
    assert_refused(multi(0), 9, "multi_stream_samples_per_query is 0; ");
    assert_refused(Settings::default(), 0, "total_sample_count is 0; ");

    assert_refused(server(20_000.0, 600), 9, "server_target_qps is 20000 and min_duration_ms 600000, for which");
    assert_refused(server(f64::MAX, 1), 9, "server_target_qps is 1797");
    assert_refused(long(server(1.0, 1)), 9, "server_target_qps is 1 and min_duration_ms 18446744073709551615");
    assert_refused(long(equal(server(1.0, 1))), 9, "server_target_qps is 1 and");
    assert_refused(single(0.1), 9, "single_stream_expected_latency_ns is 0.1 and min_duration_ms 10000");
    assert_refused(long(equal(Settings::default())), 9, "single_stream_expected_latency_ns is 1000000 and");
    assert_refused(offline(1e300), 9, "offline_expected_qps is 1000000");
    assert_refused(multi(u64::MAX), 9, "multi_stream_samples_per_query is 18446744073709551615");
    assert_refused(least(u64::MAX), 9, "min_query_count is 18446744073709551615");
    assert_refused(equal(least(u64::MAX)), 9, "min_query_count is 18446744073709551615");
    assert_refused(
        Settings { scenario: Scenario::Offline, ..least(u64::MAX) },
        9,
        "min_query_count is 18446744073709551615",
    );
    assert_refused(Settings::default(), u64::MAX, "performance_sample_count is 18446744073709551615");
    assert_refused(server(1e-12, 1), 9, "server_target_qps is 0.000000000001, so that a query would be due after");
    assert_refused(single(f64::MAX), 9, "single_stream_expected_latency_ns is 1797");
}

#[test]
fn what_the_library_leaves_to_chance_is_refused() {
    let of = |change: fn(&mut Settings)| {
        let mut settings = server(10.0, 1);
        change(&mut settings);
        settings
    };
    let same = |it: &mut Settings| (it.performance_issue_same, it.performance_issue_same_index) = (true, 9);
    assert_refused(of(same), 9, "performance_issue_same_index is 9, but the sample set has 9 samples; ");
    assert_refused(
        of(|it| (it.min_duration_ms, it.min_query_count) = (0, 0)),
        9,
        "min_duration_ms 0 and min_query_count 0",
    );
    let equal = |it: &mut Settings| (it.sample_concatenate_permutation, it.min_query_count) = (true, 0);
    assert_refused(of(equal), 9, "min_query_count is 0; ");
    let too_few = |it: &mut Settings| {
        (it.scenario, it.performance_issue_unique) = (Scenario::Offline, true);
        it.performance_sample_count_override = 10;
    };
    assert_refused(of(too_few), 9, "performance_sample_count with performance_issue_unique is 10 of 9 samples; ");
    let multi = |it: &mut Settings| {
        (it.scenario, it.performance_issue_unique) = (Scenario::MultiStream, true);
        it.sample_concatenate_permutation = true;
    };
    assert_refused(of(multi), 9, "performance_issue_unique is true, as is sample_concatenate_permutation");
    let none = Qsl { performance_sample_count: 0, ..qsl(9) };
    let message = QueryGenerator::new(&server(1.0, 1), &none).err().unwrap().to_string();
    assert!(message.starts_with("performance_sample_count is 0; "), "{message}");
    let no_set = QueryGenerator::new(&server(1.0, 1), &qsl(9)).unwrap().phase(Phase::Accuracy { set: 1 });
    assert_eq!(no_set, Err(QueryError::NoSet { set: 1, sets: 1 }));
}

#[test]
fn equal_issue_lasts_whole_passes() {
    let settings = |rate| Settings { sample_concatenate_permutation: true, ..server(rate, 600) };
    let official = |rate| Settings {
        schedule_rng_seed: 16_159_082_839_903_944_936,
        sample_index_rng_seed: 2_747_215_439_041_700_203,
        ..settings(rate)
    };
    assert_eq!(performance(&official(22.0), 13_368).unwrap().len(), 13_368);
    assert_eq!(performance(&official(23.0), 13_368).unwrap().len(), 26_736);
    let offline =
        Settings { scenario: Scenario::Offline, offline_expected_qps: 22.0, min_query_count: 13_368, ..settings(1.0) };
    let phase = performance(&offline, 13_368).unwrap();
    assert_eq!((phase.len(), phase.sample_count()), (1, 26_736));
}

#[test]
fn numbers_and_draws_go_on_through_the_phases_of_a_test() {
    let settings = Settings { mode: Mode::SubmissionRun, accuracy_log_probability: 0.3, ..server(50.0, 2) };
    let qsl = Qsl { performance_sample_count: 10, ..qsl(23) };
    let mut test = QueryGenerator::new(&settings, &qsl).unwrap();
    let phases: Vec<_> = (0..3).map(|set| test.phase(Phase::Accuracy { set }).unwrap()).collect();
    let starts: Vec<u64> = phases.iter().map(|it| it.first_query).collect();
    assert_eq!(starts, [0, 10, 20]);
    assert!(phases.iter().all(|it| it.logged_count() == it.sample_count()));
    let last = test.phase(Phase::Performance).unwrap();
    assert_eq!((last.first_query, last.first_sample), (23, 23));
    let alone = QueryGenerator::new(&settings, &qsl).unwrap().phase(Phase::Performance).unwrap();
    assert_eq!((indices(&last), times(&last)), (indices(&alone), times(&alone)));
    // The draws that select responses for the log depend on the sample's number in the test, not in the phase.
    assert!((0..last.len() - 23).all(|it| last.is_logged(it) == alone.is_logged(it + 23)));
    assert_ne!(last.logged, alone.logged);
}

#[test]
fn trials_begin_with_the_same_draws_at_their_own_rate() {
    let settings = server(50.0, 2);
    let mut test = QueryGenerator::new(&settings, &qsl(10)).unwrap();
    let base = test.phase(Phase::Performance).unwrap();
    let trial = test.trial(100.0).unwrap();
    assert_eq!(trial.first_query, base.len() as u64);
    assert!(trial.len() > base.len());
    let alone = performance(&server(100.0, 2), 10).unwrap();
    assert_eq!((indices(&trial), times(&trial)), (indices(&alone), times(&alone)));
    assert!(test.trial(0.0).is_err() && test.trial(f64::NAN).is_err());
}

#[test]
fn a_sampling_target_logs_about_so_many() {
    let base = Settings { accuracy_log_rng_seed: 720_381_539_243_781_796, ..server(100.0, 100) };
    let none = performance(&base, 10).unwrap();
    assert_eq!(none.logged_count(), 0);
    let some = performance(&Settings { accuracy_log_sampling_target: 500, ..base.clone() }, 10).unwrap();
    assert!((400..600).contains(&some.logged_count()), "{}", some.logged_count());
    // As in TEST06, which requests that as many samples are logged as it issues.
    let all = Settings {
        accuracy_log_sampling_target: 100,
        min_duration_ms: 0,
        min_query_count: 100,
        accuracy_log_probability: 0.0,
        ..base
    };
    assert_eq!(performance(&all, 10).unwrap().logged_count(), 100);
}

#[test]
fn behind_the_last_query_there_is_nothing() {
    let phase = performance(&server(10.0, 1), 10).unwrap();
    let end = phase.len();
    assert!(!phase.is_empty() && phase.due(end - 1) < phase.duration);
    for place in [end, usize::MAX] {
        assert_eq!((phase.due(place), phase.samples(place)), (phase.duration, &[][..]));
        assert!(!phase.is_logged(place));
    }
}

#[test]
fn a_sample_knows_its_query() {
    let settings = Settings {
        scenario: Scenario::MultiStream,
        multi_stream_samples_per_query: 4,
        min_duration_ms: 100,
        ..Settings::default()
    };
    let phase = performance(&settings, 10).unwrap();
    let queries: Vec<usize> = (0..phase.sample_count()).map(|it| phase.query_of(it)).collect();
    let expected: Vec<usize> = (0..phase.len()).flat_map(|it| phase.samples(it).iter().map(move |_| it)).collect();
    assert_eq!(queries, expected);
}

fn any_settings() -> impl Strategy<Value = (Settings, Qsl)> {
    let scenario = prop::sample::select(Scenario::ALL.to_vec());
    let counts = (1u64..60, 1u64..60, 0u64..70, 0u64..7, 0u64..70);
    let pace = (prop::num::f64::ANY, prop::num::f64::ANY, any::<bool>());
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), 0u64..70);
    (scenario, counts, pace, switches, any::<[u64; 4]>(), 0u64..3_000).prop_map(
        |(scenario, counts, pace, switches, seeds, min_duration_ms)| {
            let (total, loaded, least, each, replaced) = counts;
            // Half of the rates are arbitrary numbers; the other half are valid.
            let rate = if pace.2 { pace.0 } else { pace.0.abs() % 1_000.0 };
            let latency = if pace.2 { pace.1 } else { 1e5 + pace.1.abs() % 1e9 };
            let settings = Settings {
                scenario,
                min_duration_ms,
                min_query_count: least,
                multi_stream_samples_per_query: each,
                performance_sample_count_override: replaced / 2 * (replaced % 2),
                server_target_qps: rate,
                offline_expected_qps: rate,
                single_stream_expected_latency_ns: latency,
                multi_stream_expected_latency_ns: latency,
                sample_concatenate_permutation: switches.0,
                performance_issue_unique: switches.1,
                performance_issue_same: switches.2,
                performance_issue_same_index: switches.3,
                qsl_rng_seed: seeds[0],
                sample_index_rng_seed: seeds[1],
                schedule_rng_seed: seeds[2],
                accuracy_log_rng_seed: seeds[3],
                ..Settings::default()
            };
            (settings, Qsl { name: String::new(), total_sample_count: total, performance_sample_count: loaded })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_settings_are_refused_or_come_to_a_phase((settings, qsl) in any_settings()) {
        let mut phases = vec![Phase::Performance];
        phases.extend((0..Effective::new(&settings, &qsl).accuracy_sets(&qsl)).map(|set| Phase::Accuracy { set }));
        for phase in phases {
            match QueryGenerator::new(&settings, &qsl).and_then(|mut it| it.phase(phase)) {
                Err(error) => prop_assert!(!error.to_string().is_empty()),
                Ok(made) => {
                    prop_assert!(!made.is_empty());
                    prop_assert_eq!(made.sample_count(), made.len() * made.samples_per_query);
                    prop_assert!(indices(&made).iter().all(|it| u64::from(*it) < qsl.total_sample_count));
                    prop_assert!(made.due(made.len() - 1) <= made.duration);
                }
            }
        }
    }

    #[test]
    fn a_server_s_schedule_never_goes_back(seed: u64, rate in 0.1f64..5_000.0) {
        let phase = performance(&Settings { schedule_rng_seed: seed, ..server(rate, 2) }, 7).unwrap();
        let times = times(&phase);
        prop_assert_eq!(times[0], Duration::ZERO);
        prop_assert!(times.is_sorted() && *times.last().unwrap() <= phase.duration);
    }

    #[test]
    fn equal_issue_issues_every_sample_equally_often(
        scenario in prop::sample::select(vec![Scenario::SingleStream, Scenario::Server, Scenario::Offline]),
        seed: u64,
        count in 1u64..200,
        rate in 1.0f64..300.0,
    ) {
        let settings = Settings {
            scenario,
            sample_concatenate_permutation: true,
            sample_index_rng_seed: seed,
            offline_expected_qps: rate,
            single_stream_expected_latency_ns: 1e9 / rate,
            ..server(rate, 2)
        };
        let phase = performance(&settings, count).unwrap();
        let mut issued = vec![0; count as usize];
        indices(&phase).iter().for_each(|it| issued[*it as usize] += 1);
        prop_assert!(issued[0] > 0 && issued.iter().all(|it| *it == issued[0]), "{:?}", issued);
    }

    #[test]
    fn each_seed_has_its_own_part(seeds: [u64; 2], other: u64, equal: bool) {
        prop_assume!(seeds.iter().all(|it| *it as u32 != other as u32));
        let base = Settings {
            schedule_rng_seed: seeds[0],
            sample_index_rng_seed: seeds[1],
            sample_concatenate_permutation: equal,
            // So many queries that the schedule does not increase their number.
            min_query_count: 1_000,
            ..server(100.0, 1)
        };
        let made = performance(&base, 50).unwrap();
        let schedule = performance(&Settings { schedule_rng_seed: other, ..base.clone() }, 50).unwrap();
        prop_assert_eq!(indices(&schedule), indices(&made));
        prop_assert_ne!(times(&schedule), times(&made));
        let order = performance(&Settings { sample_index_rng_seed: other, ..base }, 50).unwrap();
        prop_assert_eq!(times(&order), times(&made));
        prop_assert_ne!(indices(&order), indices(&made));
    }

    #[test]
    fn seeds_count_by_32_bits(seeds: [u32; 4], more: u32) {
        let settings = |above: u64| {
            let [qsl, order, schedule, log] = seeds.map(|it| u64::from(it) | (above << 32));
            Settings {
                qsl_rng_seed: qsl,
                sample_index_rng_seed: order,
                schedule_rng_seed: schedule,
                accuracy_log_rng_seed: log,
                accuracy_log_probability: 0.5,
                ..server(100.0, 1)
            }
        };
        prop_assert_eq!(performance(&settings(0), 50), performance(&settings(u64::from(more)), 50));
    }
}
