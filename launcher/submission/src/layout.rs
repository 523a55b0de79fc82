//! Layout: where files lie in a tree, by round. Pure.

use workload_profiles::loadgen::{Round, Scenario};

/// Marks a tree that was written though something is missing.
pub(super) const INCOMPLETE: &str = "INCOMPLETE.md";

/// A division of the submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Division {
    /// The same model and data as the reference: results can be compared.
    Closed,
    /// Anything that is described.
    Open,
    /// As closed, with the load coming over a network.
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

    /// Whether results have to keep the bounds of the benchmark.
    pub(super) fn bounded(self) -> bool {
        self != Division::Open
    }
}

/// A folder of a scenario. Interactive is the Server scenario with other limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place {
    Offline,
    Server,
    Interactive,
    SingleStream,
    MultiStream,
}

impl Place {
    const ALL: [Place; 5] =
        [Place::Offline, Place::Server, Place::Interactive, Place::SingleStream, Place::MultiStream];

    pub(super) fn name(self) -> &'static str {
        match self {
            Place::Interactive => "Interactive",
            other => other.scenario().name(),
        }
    }

    pub(super) fn named(name: &str) -> Option<Place> {
        Place::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Where logs of a scenario go; `interactive` tells which limits a Server test had.
    pub(super) fn of(scenario: &str, interactive: bool) -> Option<Place> {
        let place = Place::named(scenario)?;
        Some(if place == Place::Server && interactive { Place::Interactive } else { place })
    }

    /// The scenario from which an edge system may infer its result.
    pub(super) fn inferred_from(self) -> Option<Place> {
        (self == Place::Offline).then_some(Place::SingleStream)
    }

    /// What the logs in it say.
    pub(super) fn scenario(self) -> Scenario {
        match self {
            Place::Offline => Scenario::Offline,
            Place::Server | Place::Interactive => Scenario::Server,
            Place::SingleStream => Scenario::SingleStream,
            Place::MultiStream => Scenario::MultiStream,
        }
    }
}

/// The paths of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// From v6.0 on all that belongs to a scenario lies in one folder.
    together: bool,
}

impl Layout {
    pub(super) fn of(round: Round) -> Layout {
        Layout { together: matches!(round, Round::V6_0 | Round::V6_1) }
    }

    pub(super) fn source(self) -> &'static str {
        if self.together { "src" } else { "code" }
    }

    /// The logs; `case` is system, benchmark and scenario, with slashes between them.
    pub(super) fn results(self, submitter: &str, case: &str) -> String {
        format!("{submitter}/results/{case}")
    }

    /// Facts about the weights, README.md and user.conf.
    pub(super) fn measurements(self, submitter: &str, case: &str) -> String {
        let folder = if self.together { "results" } else { "measurements" };
        format!("{submitter}/{folder}/{case}")
    }

    /// The name of the facts about the weights. Older rounds take any `<system>*.json`.
    pub(super) fn facts(self, system: &str) -> String {
        if self.together { "measurements.json".into() } else { format!("{system}.json") }
    }

    /// Whether all files of a scenario lie in one folder, as from v6.0 on.
    pub(super) fn together(self) -> bool {
        self.together
    }

    /// The compliance tests.
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
        let new = Layout::of(Round::V6_0);
        assert_eq!(new.measurements("closed/us", case), new.results("closed/us", case));
        let old = Layout::of(Round::V5_1);
        assert_eq!(old.measurements("closed/us", case), format!("closed/us/measurements/{case}"));
        assert_eq!(old.compliance("closed/us", case), format!("closed/us/compliance/{case}"));
        assert_eq!((new.source(), old.source()), ("src", "code"));
        assert_eq!((new.facts("h100"), old.facts("h100")), ("measurements.json".into(), "h100.json".into()));
    }

    #[test]
    fn interactive_is_a_server_test() {
        assert_eq!(Place::of("Server", true), Some(Place::Interactive));
        assert_eq!(Place::of("Offline", true), Some(Place::Offline));
        assert_eq!(Place::named("Interactive").map(Place::scenario), Some(Scenario::Server));
        assert_eq!(Place::named("server"), None);
    }
}
