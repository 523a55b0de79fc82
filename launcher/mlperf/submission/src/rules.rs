//! Rules: what the check requires, whether MLPerf's own checker also requires it, and how to correct a violation. Pure.

use serde::{Serialize, Serializer};

/// Who rejects a tree that violates a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// MLPerf's checker of round v6.1.
    Checker,
    /// Only this check. MLPerf's checker overlooks the violation.
    Ours,
}

macro_rules! rules {
    ($($variant:ident $name:literal $source:ident $remedy:literal;)*) => {
        /// A rule of the check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "their names and remedies in the table say it")]
        pub enum Rule {
            $($variant,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)*];

            /// Returns the name of the rule in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Rule::$variant => $name,)*
                }
            }

            /// Returns who requires the rule.
            pub fn source(self) -> Source {
                match self {
                    $(Rule::$variant => Source::$source,)*
                }
            }

            /// Returns how to correct a violation.
            pub fn remedy(self) -> &'static str {
                match self {
                    $(Rule::$variant => $remedy,)*
                }
            }
        }
    };
}

rules! {
    // Rules for the tree as a whole.
    Empty "empty" Checker "give the folder that holds closed, open or network";
    Incomplete "incomplete" Ours "build the tree again without --incomplete, with everything that its INCOMPLETE.md lists";
    Link "link" Ours "put a copy of the file in place of the link";
    Unreadable "unreadable" Checker "put a readable file there, below the size limit";
    MissingFile "missing-file" Checker "put the file there, with the content that MLPerf's rules ask for";
    MissingQuietFile "missing-file-not-noticed" Ours "put the file there as LoadGen wrote it";
    NoSource "no-source" Checker "put into it the code that ran, or a README.md that says where the code is";
    SourceEmpty "empty-source" Ours "put into it the code that ran, or a README.md that says where the code is";
    NoCalibration "no-calibration" Ours "describe there how the weights were quantised, or that they were not";
    UnknownBenchmark "unknown-benchmark" Checker "name the folder as the round's benchmark, or check with another --round";
    UnknownScenario "unknown-scenario" Checker "remove the folder, or name it as the benchmark's scenarios";
    MissingScenario "missing-scenario" Checker "run that scenario too";
    // Rules for logs.
    LogMarker "log-marker" Checker "give the log as LoadGen wrote it";
    LogLine "log-line" Checker "run the test again; inf and nan in a log come from a test without any result";
    LogKeys "log-keys" Ours "give the log of a whole run, from its first line to its last";
    Scenario "scenario" Checker "put the logs into the folder of their scenario";
    AccuracyScenario "accuracy-scenario" Ours "put the logs into the folder of their scenario";
    TestMode "test-mode" Ours "give the log of a test of the required mode";
    SutName "sut-name" Checker
        "the network division requires these words: run with sut_name (harness: loadgen) or --network (the bridge)";
    AccuracySutName "accuracy-sut-name" Ours
        "the network division requires these words: run with sut_name (harness: loadgen) or --network (the bridge)";
    // Rules for performance.
    Seeds "seeds" Checker "run the test with the seeds of the round, or check with the --round of the logs";
    MinDuration "min-duration" Checker "run the test with min_duration 600000";
    SampleCount "performance-sample-count" Checker "run the test with the sample count of the benchmark";
    OfflineSamples "offline-samples" Checker "raise min_query_count or target_qps";
    TokenLatencies "token-latencies" Checker "run the test with use_token_latencies 1";
    EarlyStopping "early-stopping" Checker "lower target_qps, or run longer";
    TokenLimits "token-limits" Checker "lower target_qps until the 99th percentiles are below the limits";
    TargetLatency "target-latency" Checker "leave target_latency as mlperf.conf has it";
    Metric "metric" Checker "run the test again until it has a result";
    ResultKey "result-key" Checker
        "give the log of a whole run: MLPerf's checker reads this key before the metric, and fails without it";
    PowerFiles "power-files" Checker "put the files of a power measurement into the folder, or remove performance/power";
    Validity "validity" Ours "run the test until its result is VALID";
    SummaryDiffers "summary-differs" Ours "put there the summary that LoadGen wrote together with this detail log";
    PerformanceErrors "performance-errors" Ours "correct the error that the log shows, and run the test again";
    EqualIssue "equal-issue" Ours "run the test with sample_concatenate_permutation 1";
    InteractiveLimits "interactive-limits" Ours "lower target_qps until the 99th percentiles are below its limits";
    VerdictLimits "verdict-limits" Ours
        "leave ttft_latency, tpot_latency and target_latency_percentile as mlperf.conf has them";
    IssueOrder "issue-order" Ours "turn performance_issue_unique and performance_issue_same off, which only audits use";
    Audited "audited" Ours "run the test without audit.config";
    MadeUp "made-up-samples" Ours "run the test on the data set of the benchmark";
    // Rules for accuracy.
    AccuracyErrors "accuracy-errors" Checker "correct the error that the log shows, and run the accuracy test again";
    AccuracySampleCount "accuracy-sample-count" Checker "run the accuracy test on the whole data set";
    ScoreMissing "score-missing" Checker "keep the script's line: a Python dict of bare numbers, no np.float64(..)";
    ScoreBounds "score-bounds" Checker "run with weights, precision and sampling of the reference";
    NoHash "no-hash" Checker "truncate the accuracy log with `benchwright submission` or the official tool";
    HashShape "hash-shape" Ours "truncate the accuracy log with `benchwright submission` or the official tool";
    HashDiffers "hash-differs" Ours "truncate the whole accuracy log again";
    NotTruncated "not-truncated" Checker "truncate the accuracy log with `benchwright submission` or the official tool";
    // Rules for compliance tests.
    AuditMissing "test06-missing" Checker "run the test with audit TEST06 and give its results folder";
    AuditFailed "test06-failed" Checker "find the failed answers in the audit's accuracy log, correct the system, and run the audit again";
    AuditSkipped "test06-skipped" Ours "run the audit with token latencies, so that first tokens are checked";
    AuditUnfinished "test06-unfinished" Ours "write verify_accuracy.txt again with `benchwright submission test06`";
    AuditNoLog "test06-no-log" Ours "put the accuracy log of the audit there";
    AuditLog "test06-log" Ours "write verify_accuracy.txt again with `benchwright submission test06`";
    // Rules for system descriptions and measurements.
    SystemJson "system-json" Checker "write the description as JSON, an object with a text for each key";
    SystemKey "system-key" Checker "add the keys";
    SystemEmpty "system-empty" Checker "fill it in, with N/A if there is no value";
    SystemStatus "system-status" Checker "write one of these words";
    SystemType "system-type" Checker "write the type that the system was run as";
    SystemNames "system-names" Checker "make the names in the description and of the folders equal";
    SystemCounts "system-counts" Checker "write a number";
    SystemNoNodes "system-no-nodes" Ours "write how many machines the system has";
    SystemNetwork "system-network" Checker "the network division needs is_network and its keys, others have none";
    Measurements "measurements" Checker "fill it in; docs/submission.md describes what belongs there";
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
