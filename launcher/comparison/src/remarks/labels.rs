//! Compares the comparability labels of two stages.

use ::document::{LabelsDocument, StageDocument};
use figures::Figure;

use super::remark::{Remark, Severity};
use crate::figure::{depends_on, source};

/// The figures that become incomparable if a label differs.
enum Concerns {
    All,
    /// The figures whose meaning depends on the label. Objectives use the same rule.
    Dependent,
    /// A figure and the figures derived from it.
    DerivedFrom(Figure),
}

struct Label {
    name: &'static str,
    of: fn(&LabelsDocument) -> &str,
    severity: Severity,
    concerns: Concerns,
    meaning: &'static str,
}

const LABELS: [Label; 12] = [
    Label {
        name: "clock",
        of: |it| &it.clock,
        severity: Severity::NotComparable,
        concerns: Concerns::Dependent,
        meaning: "TTFT and latency count from another moment; give both runs an open-loop load, or both a closed-loop one",
    },
    Label {
        name: "window",
        of: |it| &it.window,
        severity: Severity::NotComparable,
        concerns: Concerns::All,
        meaning: "other parts of the load are in the figures; give both stages the same warm-up and cool-down",
    },
    Label {
        name: "tokens",
        of: |it| &it.tokens,
        severity: Severity::NotComparable,
        concerns: Concerns::Dependent,
        meaning: "output tokens were counted otherwise; let both servers send usage (stream_options.include_usage)",
    },
    Label {
        name: "itl",
        of: |it| &it.itl,
        severity: Severity::NotComparable,
        concerns: Concerns::Dependent,
        meaning: "the one is a time between tokens, the other a gap between events; let both servers send usage",
    },
    Label {
        name: "arrivals",
        of: |it| &it.arrivals,
        severity: Severity::NotComparable,
        concerns: Concerns::All,
        meaning: "requests came in another pattern, so that queues differ; give both runs the same arrivals",
    },
    Label {
        name: "prompts",
        of: |it| &it.prompts,
        severity: Severity::NotComparable,
        concerns: Concerns::All,
        meaning: "prompts repeat otherwise, so that a prefix cache helps the one run more; use the same profile, without a given promptSalt",
    },
    Label {
        name: "failures",
        of: |it| &it.failures,
        severity: Severity::NotComparable,
        concerns: Concerns::All,
        meaning: "failed requests are in the latencies of one run; measure both with the same release",
    },
    Label {
        name: "tpot",
        of: |it| &it.tpot,
        severity: Severity::NotComparable,
        concerns: Concerns::DerivedFrom(Figure::Tpot),
        meaning: "TPOT has another formula; measure both with the same release",
    },
    Label {
        name: "ntpot",
        of: |it| &it.ntpot,
        severity: Severity::NotComparable,
        concerns: Concerns::DerivedFrom(Figure::Ntpot),
        meaning: "NTPOT has another formula; measure both with the same release",
    },
    Label {
        name: "percentiles",
        of: |it| &it.percentiles,
        severity: Severity::Note,
        concerns: Concerns::All,
        meaning: "those of histograms have three digits; keep the records of both runs (perRequestRecords: Full) for exact ones",
    },
    Label {
        name: "events",
        of: |it| &it.events,
        severity: Severity::Note,
        concerns: Concerns::DerivedFrom(Figure::Itl),
        meaning: "an event holds several tokens in one run, whose ITL is a mean over them; compare TPOT",
    },
    Label {
        name: "cache",
        of: |it| &it.cache,
        severity: Severity::Note,
        concerns: Concerns::All,
        meaning: "one server says how many prompt tokens came from its cache, and the other does not; start it with --enable-prompt-tokens-details",
    },
];

pub(super) fn of_stages(base: &StageDocument, other: &StageDocument) -> Vec<Remark> {
    let differs = |label: &Label| {
        let (one, two) = ((label.of)(&base.labels), (label.of)(&other.labels));
        // If a label is empty, nothing was measured that depends on it.
        if one == two || one.is_empty() || two.is_empty() {
            return None;
        }
        let remark = Remark::new(label.severity, label.name, one, two, label.meaning);
        Some(match label.concerns {
            Concerns::All => remark,
            Concerns::Dependent => remark.about(|it| depends_on(it, label.name)),
            Concerns::DerivedFrom(figure) => remark.about(|it| source(it) == figure),
        })
    };
    LABELS.iter().filter_map(differs).collect()
}
