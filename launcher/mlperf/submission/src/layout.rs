//! Layout: where the files of a submission tree are, depending on the round. Pure.

use workload_profiles::loadgen::{Round, Scenario};

/// The name of the file that marks a tree as incomplete.
pub(super) const INCOMPLETE: &str = "INCOMPLETE.md";

/// A division of MLPerf submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Division {
    /// Uses the same model and data as the reference, so that results are comparable.
    Closed,
    /// Allows anything that is described.
    Open,
    /// Like closed, but the load comes over a network.
    Network,
}

impl Division {
    pub(super) const ALL: [Division; 3] = [Division::Closed, Division::Open, Division::Network];

    pub(super) fn name(self) -> &'static str {
        match self {
            Division::Closed => "closed",
            Division::Open => "open",
            Division::Network => "network",
        }
    }

    /// Whether results must meet the limits of the benchmark.
    pub(super) fn bounded(self) -> bool {
        self != Division::Open
    }
}

/// The folder of a scenario. Interactive is the Server scenario with other limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum ScenarioFolder {
    Offline,
    Server,
    Interactive,
    SingleStream,
    MultiStream,
}

impl ScenarioFolder {
    const ALL: [ScenarioFolder; 5] = [
        ScenarioFolder::Offline,
        ScenarioFolder::Server,
        ScenarioFolder::Interactive,
        ScenarioFolder::SingleStream,
        ScenarioFolder::MultiStream,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            ScenarioFolder::Interactive => "Interactive",
            other => other.scenario().name(),
        }
    }

    pub(super) fn from_name(name: &str) -> Option<ScenarioFolder> {
        ScenarioFolder::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the folder for logs of a scenario. `interactive`: whether a Server test had the limits of Interactive.
    pub(super) fn from_log(scenario: &str, interactive: bool) -> Option<ScenarioFolder> {
        let scenario_folder = ScenarioFolder::from_name(scenario)?;
        Some(if scenario_folder == ScenarioFolder::Server && interactive {
            ScenarioFolder::Interactive
        } else {
            scenario_folder
        })
    }

    /// Returns the scenario whose results an edge system may use to infer the results of this one.
    pub(super) fn inferred_from(self) -> Option<ScenarioFolder> {
        (self == ScenarioFolder::Offline).then_some(ScenarioFolder::SingleStream)
    }

    /// Returns LoadGen's scenario, which the logs in the folder contain.
    pub(super) fn scenario(self) -> Scenario {
        match self {
            ScenarioFolder::Offline => Scenario::Offline,
            ScenarioFolder::Server | ScenarioFolder::Interactive => Scenario::Server,
            ScenarioFolder::SingleStream => Scenario::SingleStream,
            ScenarioFolder::MultiStream => Scenario::MultiStream,
        }
    }
}

/// Builds the paths in a tree of one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Whether all files of a scenario are in one folder. This is so since v6.0.
    together: bool,
}

impl Layout {
    pub(super) fn new(round: Round) -> Layout {
        Layout { together: matches!(round, Round::V6_0 | Round::V6_1) }
    }

    pub(super) fn source(self) -> &'static str {
        if self.together { "src" } else { "code" }
    }

    /// Returns the folder of the logs. `case` consists of system, benchmark and scenario, separated by slashes.
    pub(super) fn results(self, submitter: &str, case: &str) -> String {
        format!("{submitter}/results/{case}")
    }

    /// Returns the folder of README.md, user.conf and the facts about the weights.
    pub(super) fn measurements(self, submitter: &str, case: &str) -> String {
        let folder = if self.together { "results" } else { "measurements" };
        format!("{submitter}/{folder}/{case}")
    }

    /// Returns the name of the file with the facts about the weights. Older rounds accept any `<system>*.json`.
    pub(super) fn facts(self, system: &str) -> String {
        if self.together { "measurements.json".into() } else { format!("{system}.json") }
    }

    /// Whether all files of a scenario are in one folder. This is so since v6.0.
    pub(super) fn together(self) -> bool {
        self.together
    }

    /// Returns the folder of the compliance tests.
    pub(super) fn compliance(self, submitter: &str, case: &str) -> String {
        let folder = if self.together { "results" } else { "compliance" };
        format!("{submitter}/{folder}/{case}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_rounds_have_a_folder_for_each_kind_of_file() {
        let case = "a/llama3.1-8b/Offline";
        let new = Layout::new(Round::V6_0);
        assert_eq!(new.measurements("closed/us", case), new.results("closed/us", case));
        let old = Layout::new(Round::V5_1);
        assert_eq!(old.measurements("closed/us", case), format!("closed/us/measurements/{case}"));
        assert_eq!(old.compliance("closed/us", case), format!("closed/us/compliance/{case}"));
        assert_eq!((new.source(), old.source()), ("src", "code"));
        assert_eq!((new.facts("h100"), old.facts("h100")), ("measurements.json".into(), "h100.json".into()));
    }

    #[test]
    fn interactive_is_a_server_test() {
        assert_eq!(ScenarioFolder::from_log("Server", true), Some(ScenarioFolder::Interactive));
        assert_eq!(ScenarioFolder::from_log("Offline", true), Some(ScenarioFolder::Offline));
        assert_eq!(ScenarioFolder::from_name("Interactive").map(ScenarioFolder::scenario), Some(Scenario::Server));
        assert_eq!(ScenarioFolder::from_name("server"), None);
    }
}
