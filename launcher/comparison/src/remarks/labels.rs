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
        meaning: "TTFT and latency count from different moments; give both runs an open-loop load, or both a closed-loop load",
    },
    Label {
        name: "window",
        of: |it| &it.window,
        severity: Severity::NotComparable,
        concerns: Concerns::All,
        meaning: "the figures cover different parts of the load; give both stages the same warm-up and cool-down",
    },
    Label {
        name: "tokens",
        of: |it| &it.tokens,
        severity: Severity::NotComparable,
        concerns: Concerns::Dependent,
        meaning: "output tokens were counted in different ways; let both servers send usage (stream_options.include_usage)",
    },
    Label {
        name: "itl",
        of: |it| &it.itl,
        severity: Severity::NotComparable,
        concerns: Concerns::Dependent,
        meaning: "one ITL is a time between tokens, the other is a gap between events; let both servers send usage",
    },
    Label {
        name: "arrivals",
        of: |it| &it.arrivals,
        severity: Severity::NotComparable,
        concerns: Concerns::All,
        meaning: "requests arrived in different patterns, so queues differ; give both runs the same arrivals",
    },
    Label {
        name: "prompts",
        of: |it| &it.prompts,
        severity: Severity::NotComparable,
        concerns: Concerns::All,
        meaning: "prompts repeat in different ways, so a prefix cache helps one run more; use the same profile, without promptSalt",
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
        meaning: "the runs compute TPOT by different formulas; measure both with the same release",
    },
    Label {
        name: "ntpot",
        of: |it| &it.ntpot,
        severity: Severity::NotComparable,
        concerns: Concerns::DerivedFrom(Figure::Ntpot),
        meaning: "the runs compute NTPOT by different formulas; measure both with the same release",
    },
    Label {
        name: "percentiles",
        of: |it| &it.percentiles,
        severity: Severity::Note,
        concerns: Concerns::All,
        meaning: "percentiles from histograms have only three exact digits; keep the records of both runs (perRequestRecords: Full)",
    },
    Label {
        name: "events",
        of: |it| &it.events,
        severity: Severity::Note,
        concerns: Concerns::DerivedFrom(Figure::Itl),
        meaning: "in one run an event holds several tokens, so its ITL is a mean over them; compare TPOT",
    },
    Label {
        name: "cache",
        of: |it| &it.cache,
        severity: Severity::Note,
        concerns: Concerns::All,
        meaning: "only one server reports how many prompt tokens came from its cache; start the other with --enable-prompt-tokens-details",
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
