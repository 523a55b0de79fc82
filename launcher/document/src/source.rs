//! Lets objectives read figures from a document: from the report of an earlier run, or of a measurement by another attempt of this run.

use ::figures::Figure;
use analysis::{
    objectives::{Certainty, Drift, Reading, Source, basis},
    uncertainty::SteadyVerdict,
};
use crds::{
    FigureValue, Span,
    benchmark_run::{Metric, Stat},
};

use crate::{FiguresDocument, LabelsDocument, ReportDocument, UncertaintyDocument};

impl ReportDocument {
    /// The names of the stages, in their order.
    pub fn stage_names(&self) -> Vec<&str> {
        self.stages.iter().map(|it| it.name.as_str()).collect()
    }

    /// The names of the stages with a finished request. A stage that is entirely warm-up has no figures.
    pub fn measured_stages(&self) -> Vec<&str> {
        let measured = self.stages.iter().filter(|it| it.figures.decided() > 0);
        measured.map(|it| it.name.as_str()).collect()
    }
}

impl Source for ReportDocument {
    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn profiled(&self) -> &[String] {
        self.profiling.as_ref().map_or(&[], |it| &it.stages)
    }

    fn reading(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Option<Reading> {
        let (figures, labels) = match stage {
            None => (&self.figures, &self.labels),
            Some(name) => {
                let stage = self.stages.iter().find(|it| it.name == name)?;
                (&stage.figures, &stage.labels)
            }
        };
        reading(figures, labels, metric, stat)
    }

    fn invalid(&self) -> Vec<(&str, String)> {
        let reason = |it: &str| it.split_once(':').map_or(it, |(name, _)| name).to_owned();
        let stages = self.stages.iter();
        stages.filter_map(|it| Some((it.name.as_str(), reason(it.invalid.first()?)))).collect()
    }

    /// The certainty is known for a stage and for a run of one stage. Several stages together have no interval.
    fn certainty(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Certainty {
        let stage = match (stage, &self.stages[..]) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), stages) => stages.iter().find(|it| it.name == name),
        };
        stage.map(|it| certainty(&it.uncertainty, metric, stat)).unwrap_or_default()
    }
}

fn certainty(of: &UncertaintyDocument, metric: Metric, stat: Option<Stat>) -> Certainty {
    let figure = Figure::from_metric(metric);
    let (interval, effective_values) = match figure.row().unit.has_statistics() {
        true => {
            let it = of.latencies(figure);
            let [low, high] = match stat {
                // p95 lies between p90 and p99, and so does its interval.
                Some(Stat::P95) => [Stat::P90, Stat::P99].map(|stat| it?.get(stat)),
                _ => [it.zip(stat).and_then(|(it, stat)| it.get(stat)); 2],
            };
            // The lower bound of a mean can be negative.
            let bounds = low.and_then(|it| it.low).zip(high.and_then(|it| it.high));
            let interval = bounds.and_then(|(low, high)| Some((time(low.max(0.0))?, time(high.max(0.0))?)));
            let own = matches!(stat, Some(Stat::Mean | Stat::P50 | Stat::P90 | Stat::P99)).then_some(low);
            let of_mean = || it.and_then(|it| it.mean.as_ref());
            (interval, own.unwrap_or_else(of_mean).and_then(|it| it.effective_values))
        }
        false => {
            let it = of.estimate(figure);
            let bounds = it.and_then(|it| Some((FigureValue::Number(it.low?), FigureValue::Number(it.high?))));
            (bounds, it.and_then(|it| it.effective_values))
        }
    };
    let verdict = of.steady_state.as_ref().map(|it| it.verdict.as_str());
    let is = |wanted: SteadyVerdict| verdict == Some(wanted.name());
    let drift = match () {
        () if is(SteadyVerdict::DriftingUp) => Some(Drift::Up),
        () if is(SteadyVerdict::DriftingDown) => Some(Drift::Down),
        () => None,
    };
    Certainty { interval, effective_values, drift }
}

fn reading(figures: &FiguresDocument, labels: &LabelsDocument, metric: Metric, stat: Option<Stat>) -> Option<Reading> {
    let figure = Figure::from_metric(metric);
    let (value, count) = match figure.row().unit.has_statistics() {
        true => {
            let statistics = figures.statistics(figure)?;
            (time(statistics.get(stat?))?, statistics.count)
        }
        false => (FigureValue::Number(figures.number(figure)?), count(figures, figure)),
    };
    let basis = basis(metric, &labels.clock, &labels.itl, &labels.tokens).to_owned();
    Some(Reading { value, count, basis })
}

/// Number of requests that a rate or a share is computed from.
fn count(figures: &FiguresDocument, figure: Figure) -> u64 {
    match figure {
        Figure::GoodputShare => figures.requests,
        Figure::ErrorRatio => figures.decided(),
        _ => figures.succeeded,
    }
}

/// Converts milliseconds; `None` for a value outside the range of times.
fn time(millis: f64) -> Option<FigureValue> {
    Span::from_millis_f64(millis).map(FigureValue::Time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> ReportDocument {
        ReportDocument::read(include_str!("../../page/fixtures/report.json")).unwrap()
    }

    #[test]
    fn each_figure_is_read_with_the_label_that_it_depends_on() {
        let mut report = report();
        report.figures.failed = 1;
        report.figures.succeeded = 99;
        report.figures.ttft_ms.as_mut().unwrap().p99 = 402.123456;
        report.stages[0].labels.itl = "event".into();
        let read = |stage, metric, stat| report.reading(stage, metric, stat).map(|it| (it.value, it.basis));
        let time = |text: &str| FigureValue::Time(text.parse().unwrap());
        assert_eq!(read(None, Metric::Ttft, Some(Stat::P99)), Some((time("402.123456ms"), "scheduled".into())));
        assert_eq!(read(Some("r10"), Metric::Itl, Some(Stat::Mean)), Some((time("10ms"), "event".into())));
        for (metric, number) in
            [(Metric::RequestsPerSecond, 10.0), (Metric::GoodputShare, 0.5), (Metric::ErrorRatio, 0.01)]
        {
            assert_eq!(read(None, metric, None), Some((FigureValue::Number(number), String::new())), "{metric:?}");
        }
        assert_eq!(read(None, Metric::Ttft, None), None, "a time without a statistic");
        assert_eq!(read(Some("r20"), Metric::ErrorRatio, None), None);
        assert_eq!((report.stage_names(), report.measured_stages()), (vec!["r10"], vec!["r10"]));
        report.stages[0].figures.succeeded = 0;
        assert_eq!(report.measured_stages(), Vec::<&str>::new());
    }

    #[test]
    fn a_time_that_no_clock_has_is_none() {
        for millis in [-1.0, 1e300, f64::NAN] {
            let mut report = report();
            report.figures.ttft_ms.as_mut().unwrap().p99 = millis;
            assert_eq!(report.reading(None, Metric::Ttft, Some(Stat::P99)), None);
        }
    }
}
