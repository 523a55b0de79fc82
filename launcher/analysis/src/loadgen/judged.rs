//! The LoadGen tests of a run with their verdicts.

use workload_profiles::workload::LoadGenTest;

use super::{
    outcome::TestOutcome,
    verdict::{TestVerdict, TrialVerdict},
};

/// The tests of a run with their verdicts.
#[derive(Clone, Debug)]
pub struct LoadGenTests {
    /// Each test with its verdict, in order.
    pub tests: Vec<(TestOutcome, TestVerdict)>,
    /// The trials that were run before the tests.
    pub trials: Vec<TrialVerdict>,
}

impl LoadGenTests {
    /// Judges the tests of a run.
    pub fn from_tests(tests: Vec<TestOutcome>, trials: Vec<TrialVerdict>) -> LoadGenTests {
        let judged = |test: TestOutcome| {
            let verdict = TestVerdict::from_outcome(&test);
            (test, verdict)
        };
        LoadGenTests { tests: tests.into_iter().map(judged).collect(), trials }
    }

    /// Returns the tests as a profile would request them. Includes the tests of a search that the last load did not issue.
    pub fn as_requested(&self) -> Vec<LoadGenTest> {
        let logs = self.tests.iter().map(|(test, _)| &test.log);
        logs.map(|it| LoadGenTest { settings: it.settings.clone(), audited: it.audited, trials_before: Vec::new() })
            .collect()
    }

    /// The verdicts on the tests, in order.
    pub fn verdicts(&self) -> impl Iterator<Item = &TestVerdict> {
        self.tests.iter().map(|(_, verdict)| verdict)
    }
}
