//! The catalogue of figures: one row per figure with its name, title, unit and meaning. Also formats figures as text. Pure.
//!
//! Objectives, comparisons, repeats, CSV columns and tables use this catalogue. `docs/metrics.md` contains it as a table, and a test checks that they
//! agree.

mod catalogue;
pub mod text;

use crds::benchmark_run::{Metric, Stat};
use serde::Serialize;

use catalogue::CATALOGUE;

/// A figure of a run or a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    GoodputRequestsPerSecond,
    RequestsPerSecond,
    InputTokensPerSecond,
    OutputTokensPerSecond,
    TotalTokensPerSecond,
    Ttft,
    TtftSent,
    Tpot,
    Itl,
    EventGap,
    Ntpot,
    NtpotOfLlmd,
    Latency,
    LatencySent,
    SendLag,
    PermitWait,
    Isl,
    Osl,
    GoodputShare,
    ErrorRatio,
    CachedShare,
    InverseOfTpotP90,
    MedianOfInverseTpot,
    InverseOfNtpotP90,
    CostPerMillionOutputTokens,
}

/// The kind of a figure's values, and whether it has one value or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Many times in milliseconds, one per request or per token.
    Milliseconds,
    /// Many lengths in tokens, one per request.
    Tokens,
    /// A single rate per second.
    PerSecond,
    /// A single share, from 0 to 1.
    Share,
    /// A single rate: output tokens per second for one user.
    TokensPerSecond,
    /// A single amount of money.
    Money,
}

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Way {
    Up,
    Down,
}

/// A group of figures that depend on each other: if a server becomes slower, all of them change together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Ttft,
    /// TPOT, ITL and interactivity, which depend on the time between tokens.
    Decode,
    /// Latency and NTPOT, which depend on the time of the whole request.
    Request,
    /// Rates and costs.
    Rates,
    Errors,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 5] = [Family::Ttft, Family::Decode, Family::Request, Family::Rates, Family::Errors];

    /// Whether the figures of this family are times.
    pub fn is_time(self) -> bool {
        matches!(self, Family::Ttft | Family::Decode | Family::Request)
    }
}

/// The comparability label that a figure depends on. Two values of the figure can be compared only if this label is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The figure depends on no label.
    None,
    /// The label `clock`: whether the time of a request counts from when it was scheduled, or from when it was sent.
    Clock,
    /// The label `itl`: how gaps between events are converted to times between tokens.
    Itl,
    /// The label `tokens`: who counted the tokens.
    Tokens,
}

impl Basis {
    /// Returns the label of a measurement for this basis, or an empty text for [`Basis::None`].
    pub fn choose<'a>(self, clock: &'a str, itl: &'a str, tokens: &'a str) -> &'a str {
        match self {
            Basis::None => "",
            Basis::Clock => clock,
            Basis::Itl => itl,
            Basis::Tokens => tokens,
        }
    }
}

/// A row of the catalogue, which describes one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The described figure.
    pub figure: Figure,
    /// The name of the figure in objectives, comparisons and files, such as `ttft`. `report.json` and CSV add the unit to the names of times and
    /// lengths.
    pub name: &'static str,
    /// The name of the figure in tables, such as `TTFT`.
    pub title: &'static str,
    /// What kind of values the figure has.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Way,
    /// The family of the figure.
    pub family: Family,
    /// The comparability label that the figure depends on.
    pub basis: Basis,
    /// The metric of an objective; `None` if objectives cannot use this figure.
    pub metric: Option<Metric>,
    /// What the figure means, as one sentence without a full stop. `docs/metrics.md` has the formula.
    pub meaning: &'static str,
}

impl Figure {
    /// Every figure, in the order in which tables show them.
    pub fn all() -> impl Iterator<Item = Figure> {
        CATALOGUE.iter().map(|it| it.figure)
    }

    /// The row of this figure.
    pub fn row(self) -> &'static Row {
        // The rows are in the order of the variants. A test checks this.
        &CATALOGUE[self as usize]
    }

    /// The figure that belongs to the metric of an objective.
    ///
    /// # Panics
    /// Never: a test checks that each metric has a figure.
    pub fn from_metric(metric: Metric) -> Figure {
        Figure::all().find(|it| it.row().metric == Some(metric)).expect("each metric is in the catalogue")
    }

    /// The figure with a key such as `ttftMs`. `None` if there is none.
    pub fn from_key(key: &str) -> Option<Figure> {
        Figure::all().find(|it| it.key() == key)
    }

    /// The title, with the unit if it is a rate: `TTFT`, `requests/s`.
    pub fn label(self) -> String {
        Value::plain(self).label()
    }

    /// The name of one statistic of this figure in tables, such as `TTFT p99`.
    pub fn titled(self, stat: Stat) -> String {
        Value::stat(self, stat).title()
    }

    /// The key in `report.json` and CSV: the name with its unit, such as `ttftMs`.
    pub fn key(self) -> String {
        let suffix = match self.row().unit {
            Unit::Milliseconds => "Ms",
            Unit::Tokens => "Tokens",
            Unit::PerSecond | Unit::Share | Unit::TokensPerSecond | Unit::Money => "",
        };
        format!("{}{suffix}", self.row().name)
    }
}

impl Unit {
    /// Whether a figure with this unit has many values, so that it has statistics such as a mean.
    pub fn has_statistics(self) -> bool {
        matches!(self, Unit::Milliseconds | Unit::Tokens)
    }

    /// The unit to append to a number; empty for a share and for money.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Tokens => "tokens",
            Unit::PerSecond => "/s",
            Unit::TokensPerSecond => "tok/s",
            Unit::Share | Unit::Money => "",
        }
    }
}

/// A figure and, if it has many values, a statistic: `ttft.p99`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The figure.
    pub figure: Figure,
    /// `None` for a figure with one value.
    pub stat: Option<Stat>,
}

impl Value {
    /// A figure with one value.
    pub const fn plain(figure: Figure) -> Value {
        Value { figure, stat: None }
    }

    /// One statistic of a figure with many values.
    pub const fn stat(figure: Figure, stat: Stat) -> Value {
        Value { figure, stat: Some(stat) }
    }

    /// The name for users and in comparisons: `ttft.p99`, `requestsPerSecond`.
    pub fn name(self) -> String {
        self.with_stat(self.figure.row().name, ".")
    }

    /// The key in files of figures: `ttftMs.p99`, `requestsPerSecond`.
    pub fn key(self) -> String {
        self.with_stat(&self.figure.key(), ".")
    }

    /// The name in tables, such as `TTFT p99` or `requests`.
    pub fn title(self) -> String {
        self.with_stat(self.figure.row().title, " ")
    }

    /// The title, with the unit if it is a rate: `TTFT p99`, `requests/s`.
    pub fn label(self) -> String {
        let unit = self.figure.row().unit;
        if unit == Unit::PerSecond { self.title() + unit.symbol() } else { self.title() }
    }

    fn with_stat(self, of: &str, between: &str) -> String {
        self.stat.map_or_else(|| of.to_owned(), |stat| format!("{of}{between}{}", stat.name()))
    }
}

/// The catalogue as a Markdown table.
pub fn markdown() -> String {
    let mut text =
        "| name | title | unit | better | label | what it is |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    for Row { figure, name, title, unit, better, basis, meaning, .. } in CATALOGUE {
        let key = figure.key();
        let names = if key == name { format!("`{name}`") } else { format!("`{name}`, `{key}`") };
        let unit = match unit {
            Unit::PerSecond => "per second",
            Unit::Share => "0 to 1",
            Unit::Money => "money",
            Unit::TokensPerSecond => "tokens/s",
            Unit::Milliseconds | Unit::Tokens => unit.symbol(),
        };
        let better = match better {
            Way::Up => "up",
            Way::Down => "down",
        };
        let basis = basis.choose("`clock`", "`itl`", "`tokens`");
        text += &format!("| {names} | {title} | {unit} | {better} | {basis} | {meaning} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crds::benchmark_run::MetricUnit;

    use super::*;

    #[test]
    fn each_figure_has_one_row_at_its_place_and_a_name_of_its_own() {
        for (place, row) in CATALOGUE.iter().enumerate() {
            assert_eq!(row.figure as usize, place, "{}", row.name);
            assert_eq!(*row.figure.row(), *row);
        }
        for names in [
            Figure::all().map(|it| it.row().name.to_owned()).collect::<BTreeSet<_>>(),
            Figure::all().map(Figure::key).collect(),
        ] {
            assert_eq!(names.len(), CATALOGUE.len());
        }
    }

    #[test]
    fn each_metric_of_an_objective_is_a_figure_of_the_same_name_and_unit() {
        for metric in Metric::ALL {
            let row = Figure::from_metric(metric).row();
            assert_eq!(row.name, metric.name());
            let unit = match metric.unit() {
                MetricUnit::Time => Unit::Milliseconds,
                MetricUnit::PerSecond => Unit::PerSecond,
                MetricUnit::Share => Unit::Share,
            };
            assert_eq!(row.unit, unit, "{}", row.name);
        }
    }

    #[test]
    fn names_titles_and_keys_have_the_statistic() {
        let p99 = Value::stat(Figure::Ttft, Stat::P99);
        assert_eq!(
            [p99.name(), p99.key(), p99.title(), p99.label()],
            ["ttft.p99", "ttftMs.p99", "TTFT p99", "TTFT p99"]
        );
        let rate = Value::plain(Figure::RequestsPerSecond);
        assert_eq!([rate.name(), rate.title(), rate.label()], ["requestsPerSecond", "requests", "requests/s"]);
    }

    /// With `UPDATE_GOLDEN=1`, the test writes the table instead.
    #[test]
    fn the_docs_have_the_catalogue() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (begin, end) = ("<!-- figures -->\n", "<!-- end of figures -->\n");
        let (before, rest) = page.split_once(begin).unwrap();
        let (found, after) = rest.split_once(end).unwrap();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, format!("{before}{begin}{}{end}{after}", markdown())).unwrap();
            return;
        }
        assert_eq!(found, markdown(), "UPDATE_GOLDEN=1 cargo test -p figures writes the table anew");
    }

    /// The status of a run has the same figures in other units. `kubectl explain` shows the comments of its fields, which must use the same text.
    #[test]
    fn kubectl_explains_the_figures_of_a_status_in_the_words_of_the_catalogue() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds/src/summary.rs");
        let source = std::fs::read_to_string(path).unwrap();
        for figure in [Figure::Ttft, Figure::Itl, Figure::Tpot, Figure::Latency] {
            let Row { name, meaning, .. } = figure.row();
            let (before, _) = source.split_once(&format!("    pub {name}: Option<Quantiles>,")).unwrap();
            let docs: Vec<&str> =
                before.lines().rev().take_while(|it| it.starts_with("    ///") || it.starts_with("    #[")).collect();
            let docs = docs.iter().rev().filter_map(|it| it.strip_prefix("    /// ")).collect::<Vec<_>>().join(" ");
            assert!(docs.starts_with(meaning), "{name}: {docs:?} is not {meaning:?}");
        }
    }
}
