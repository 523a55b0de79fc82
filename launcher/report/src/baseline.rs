//! The `report.json` of an earlier run, as far as objectives are compared with it. Of any release that writes the format: keys
//! that are not read do not matter.

use std::{collections::BTreeMap, time::Duration};

use analysis::objectives::{Reading, Source, basis};
use crds::{
    FigureValue, Outcome, Span,
    benchmark_run::{Metric, Stat},
};
use serde::Deserialize;

use crate::json::FORMAT;

/// The largest `report.json` that is read, in bytes: one with some thousand stages.
pub const MAX_BASELINE_BYTES: u64 = 64 << 20;

/// Why a text cannot be a baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// It is no report of this format.
    #[error("is no report.json: {0}; give the report.json of an earlier run, or its results folder")]
    NoReport(String),
    /// It is one of another format.
    #[error("has the format {found}, and this program reads {FORMAT}; give a report that this release can read")]
    Format {
        /// The format that it names.
        found: String,
    },
    /// Its own run was not valid, or not complete.
    #[error("is of a run that is {0}, so that its figures do not count; give a valid and complete run")]
    NotValid(String),
}

/// An earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineReport(Document);

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Document {
    format: String,
    #[serde(default)]
    outcome: String,
    #[serde(default)]
    partial: bool,
    #[serde(default)]
    model: Option<String>,
    figures: Figures,
    labels: Labels,
    #[serde(default)]
    stages: Vec<Stage>,
    #[serde(default)]
    profiling: Profiling,
}

/// The stages that a profiler touches.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Profiling {
    stages: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Stage {
    name: String,
    figures: Figures,
    labels: Labels,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Labels {
    clock: String,
    itl: String,
    tokens: String,
}

/// Statistics by name, rates by name.
type Numbers = BTreeMap<String, f64>;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Figures {
    succeeded: u64,
    failed: u64,
    ttft_ms: Numbers,
    tpot_ms: Numbers,
    itl_ms: Numbers,
    ntpot_ms: Numbers,
    latency_ms: Numbers,
    send_lag_ms: Numbers,
    throughput: Numbers,
    goodput: Numbers,
}

impl BaselineReport {
    /// Reads the text of a `report.json`.
    ///
    /// # Errors
    /// It is none, one of another format, or one whose figures do not count.
    pub fn parse(text: &str) -> Result<BaselineReport, BaselineError> {
        let no_report = |error: serde_json::Error| BaselineError::NoReport(error.to_string());
        #[derive(Deserialize)]
        struct Header {
            format: String,
        }
        let header: Header = serde_json::from_str(text).map_err(no_report)?;
        if header.format != FORMAT {
            return Err(BaselineError::Format { found: crds::wording::cut(&header.format) });
        }
        let document: Document = serde_json::from_str(text).map_err(no_report)?;
        let counts = Outcome::ALL.iter().any(|it| it.name() == document.outcome && it.has_valid_figures());
        if !counts {
            return Err(BaselineError::NotValid(crds::wording::cut(&document.outcome)));
        }
        if document.partial {
            return Err(BaselineError::NotValid("partial".into()));
        }
        Ok(BaselineReport(document))
    }
}

impl BaselineReport {
    /// The names of the stages, in their order.
    pub fn stages(&self) -> Vec<&str> {
        self.0.stages.iter().map(|it| it.name.as_str()).collect()
    }

    /// Those of the stages of which a request ended: a stage that is a warm-up as a whole has no figures.
    pub fn measured_stages(&self) -> Vec<&str> {
        let measured = self.0.stages.iter().filter(|it| it.figures.succeeded + it.figures.failed > 0);
        measured.map(|it| it.name.as_str()).collect()
    }
}

impl Source for BaselineReport {
    fn model(&self) -> Option<&str> {
        self.0.model.as_deref()
    }

    fn profiled(&self) -> &[String] {
        &self.0.profiling.stages
    }

    fn reading(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Option<Reading> {
        let (figures, labels) = match stage {
            None => (&self.0.figures, &self.0.labels),
            Some(name) => {
                let stage = self.0.stages.iter().find(|it| it.name == name)?;
                (&stage.figures, &stage.labels)
            }
        };
        let decided = figures.succeeded.saturating_add(figures.failed);
        let time = |statistics: &Numbers| {
            let millis = *statistics.get(statistic(stat?))?;
            let nanos = (millis * 1e6).round();
            let in_range = (0.0..=u64::MAX as f64).contains(&nanos);
            in_range.then(|| FigureValue::Time(Span(Duration::from_nanos(nanos as u64))))
        };
        let rate = |rates: &Numbers, name: &str| rates.get(name).copied().map(FigureValue::Number);
        let value = match metric {
            Metric::Ttft => time(&figures.ttft_ms),
            Metric::Tpot => time(&figures.tpot_ms),
            Metric::Itl => time(&figures.itl_ms),
            Metric::Ntpot => time(&figures.ntpot_ms),
            Metric::E2e => time(&figures.latency_ms),
            Metric::SendLag => time(&figures.send_lag_ms),
            Metric::RequestsPerSecond | Metric::OutputTokensPerSecond | Metric::TotalTokensPerSecond => {
                rate(&figures.throughput, metric.name())
            }
            Metric::GoodputRequestsPerSecond => rate(&figures.goodput, "goodRequestsPerSecond"),
            Metric::GoodputShare => rate(&figures.goodput, "goodShare"),
            Metric::ErrorRatio => (decided > 0).then(|| FigureValue::Number(figures.failed as f64 / decided as f64)),
        }?;
        let basis = basis(metric, &labels.clock, &labels.itl, &labels.tokens).to_owned();
        Some(Reading { value, count: figures.succeeded, basis })
    }
}

/// The key of a statistic in `report.json`.
fn statistic(stat: Stat) -> &'static str {
    match stat {
        Stat::P99P9 => "p99p9",
        _ => stat.name(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn report() -> Value {
        json!({
            "format": FORMAT,
            "outcome": "SLOViolated",
            "ofAnotherRelease": [1],
            "figures": {
                "succeeded": 99, "failed": 1, "ttftMs": {"count": 99, "p99": 402.123456, "p99p9": 500.5, "max": 600.0},
                "throughput": {"requestsPerSecond": 9.5}, "goodput": {"goodRequests": 90, "goodShare": 0.9},
            },
            "labels": {"clock": "scheduled", "itl": "token", "tokens": "server"},
            "stages": [{"name": "r10", "figures": {"itlMs": {"mean": 10.0}}, "labels": {"itl": "event"}}],
        })
    }

    #[test]
    fn each_figure_is_found_under_its_key() {
        let report = BaselineReport::parse(&report().to_string()).unwrap();
        let read = |stage, metric, stat| report.reading(stage, metric, stat).map(|it| (it.value, it.basis));
        let time = |text: &str| FigureValue::Time(text.parse().unwrap());
        assert_eq!(read(None, Metric::Ttft, Some(Stat::P99)), Some((time("402.123456ms"), "scheduled".into())));
        assert_eq!(read(None, Metric::Ttft, Some(Stat::P99P9)), Some((time("500.5ms"), "scheduled".into())));
        assert_eq!(read(Some("r10"), Metric::Itl, Some(Stat::Mean)), Some((time("10ms"), "event".into())));
        for (metric, number) in
            [(Metric::RequestsPerSecond, 9.5), (Metric::GoodputShare, 0.9), (Metric::ErrorRatio, 0.01)]
        {
            assert_eq!(read(None, metric, None), Some((FigureValue::Number(number), String::new())), "{metric:?}");
        }
        assert_eq!(read(None, Metric::Ttft, Some(Stat::P50)), None);
        assert_eq!(read(None, Metric::TotalTokensPerSecond, None), None);
        assert_eq!(read(Some("r20"), Metric::ErrorRatio, None), None);
    }

    #[test]
    fn a_text_that_is_no_valid_run_says_what_to_give() {
        let told = |change: fn(&mut Value)| {
            let mut report = report();
            change(&mut report);
            BaselineReport::parse(&report.to_string()).unwrap_err().to_string()
        };
        assert!(
            told(|it| it["format"] = "benchwright.dev/report/v9".into())
                .contains("has the format benchwright.dev/report/v9")
        );
        assert!(told(|it| it["outcome"] = "Invalid".into()).contains("of a run that is Invalid"));
        assert!(told(|it| it["partial"] = true.into()).contains("of a run that is partial"));
        assert!(told(|it| it["figures"] = 1.into()).contains("give the report.json of an earlier run"));
        for text in ["", "{", "[]", "null", "{\"format\": 1}"] {
            assert!(matches!(BaselineReport::parse(text), Err(BaselineError::NoReport(_))), "{text}");
        }
    }

    #[test]
    fn a_time_that_no_clock_has_is_none() {
        for millis in [json!(-1.0), json!(1e300), json!(null)] {
            let mut report = report();
            report["figures"]["ttftMs"]["p99"] = millis;
            let read = BaselineReport::parse(&report.to_string());
            assert!(read.is_err() || read.unwrap().reading(None, Metric::Ttft, Some(Stat::P99)).is_none());
        }
    }
}
