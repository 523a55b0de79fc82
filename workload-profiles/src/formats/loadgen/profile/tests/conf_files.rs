//! Where settings come from: the configuration files, `settings`, `seeds` and `mode`.

use super::{check_error, check_notices, loadgen, settings};
use crate::loadgen::Mode;

#[test]
fn later_settings_win_over_earlier_ones() {
    let conf = "user_conf: |\n  *.Server.target_qps = 3\n  *.Server.min_duration = 1000\n  llama3_1-8b.Server.min_query_count = 7\n";
    let of_conf = settings(conf);
    assert_eq!((of_conf.server_target_qps, of_conf.min_duration_ms, of_conf.min_query_count), (3.0, 1_000, 7));
    let over = settings(&format!("{conf}settings: {{min_duration: 2000, min_query_count: 8}}\ntarget_qps: 2.5"));
    assert_eq!((over.server_target_qps, over.min_duration_ms, over.min_query_count), (2.5, 2_000, 8));
    // LoadGen applies audit.config last, when the test starts.
    let audited = loadgen(&format!("{conf}settings: {{min_query_count: 8}}\naudit: TEST06"));
    assert!(audited.tests[0].audited);
    let it = &audited.tests[0].settings;
    assert_eq!((it.min_query_count, it.min_duration_ms, it.accuracy_log_sampling_target), (100, 0, 100));
    assert_eq!((it.mode, it.sample_concatenate_permutation), (Mode::PerformanceOnly, false));
}

#[test]
fn a_mode_comes_from_the_files_where_the_profile_has_none() {
    let conf = "user_conf: '*.*.mode = 1'\n";
    assert_eq!(settings(conf).mode, Mode::AccuracyOnly);
    assert_eq!(settings(&format!("{conf}mode: performance")).mode, Mode::PerformanceOnly);
    let both = "is both, but audit sets the mode PerformanceOnly for each test; leave mode out";
    check_error("mode: both\naudit: TEST06", &format!("mode: {both}"));
    let accuracy = "is AccuracyOnly, but audit sets the mode PerformanceOnly for each test; leave mode out";
    check_error("mode: accuracy\naudit: TEST06", &format!("mode: {accuracy}"));
    assert_eq!(settings("mode: performance\naudit: TEST06").mode, Mode::PerformanceOnly);
    assert_eq!(settings("user_conf: '*.*.mode = 1'\naudit: TEST06").mode, Mode::PerformanceOnly);
}

#[test]
fn a_bad_user_conf_is_refused_with_its_line() {
    check_error(
        "user_conf: |\n  # mine\n  *.Server.target_qps = 2 # two\n",
        "user_conf: user.conf, line 2: \"*.Server.target_qps = 2 # two\" has a comment after its value, for which LoadGen \
         refuses the whole file; write the comment on a line of its own",
    );
    check_notices(
        "user_conf: '*.Server.target_qps=2'",
        &["user_conf: user.conf, line 1: \"*.Server.target_qps=2\" is ignored, because it has no = between blanks; \
           write blanks around ="],
    );
    check_notices(
        "audit_config: 'llama3_1-8b.Server.min_duration = 5'",
        &[
            "audit_config: audit.config, line 1: \"llama3_1-8b.Server.min_duration = 5\" is ignored: in audit.config only \
           lines for all models are used; write *.Server.min_duration",
        ],
    );
}

#[test]
fn a_number_without_bound_is_refused_in_every_scenario() {
    let what = "write a finite number in the file or the key that sets it";
    let conf = "user_conf: '*.Offline.target_qps = inf'\ntarget_qps: 5";
    check_error(conf, &format!("settings.target_qps: is inf for Offline; {what}"));
    // The value is finite in milliseconds, but infinite in nanoseconds.
    let latency = "user_conf: '*.MultiStream.target_latency = 1e305'";
    check_error(latency, &format!("settings.target_latency: is inf for MultiStream; {what}"));
    let percentile = "user_conf: '*.SingleStream.target_latency_percentile = nan'";
    check_error(percentile, &format!("settings.target_latency_percentile: is NaN for SingleStream; {what}"));
}

#[test]
fn lines_for_a_benchmark_by_another_name_are_noticed() {
    let conf = "user_conf: |\n  llama3.1-8b.Server.target_qps = 7\n  gptj.Server.target_qps = 8\n  llama3_1-8b.Server.max_duration = 9\n";
    let notice = "user_conf: has lines for llama3.1-8b, which LoadGen ignores; write llama3_1-8b, which is LoadGen's name of the model";
    check_notices(conf, &[notice]);
    assert_eq!(settings(conf).server_target_qps, 1.0);
}

#[test]
fn seeds_of_ones_own_are_noticed() {
    let seeds = "seeds: {qsl: 1, sample_index: 2, schedule: 18446744073709551615, accuracy_log: 4}";
    let it = settings(seeds);
    let found = [it.qsl_rng_seed, it.sample_index_rng_seed, it.schedule_rng_seed, it.accuracy_log_rng_seed];
    assert_eq!(found, [1, 2, u64::MAX, 4]);
    check_notices(seeds, &["seeds: are not those of the round, so that a checker of submissions refuses the results"]);
    check_notices("seeds: {accuracy_log: 4}", &[]);
    assert_eq!(settings("round: v5.1").qsl_rng_seed, 1_780_908_523_862_526_354);
}

#[test]
fn a_wrong_round_is_the_only_problem_of_a_profile_with_settings() {
    check_error(
        "round: v9\nsettings: {min_duration: 5}\nseeds: {qsl: 1}\ntarget_qps: 3",
        "round: is \"v9\"; choose one of v6.1, v6.0, v5.1 and v5.0",
    );
}
