//! A document as the place where an objective reads its figures: the report of an earlier run, or of a run that another attempt measured.

use std::time::Duration;

use analysis::objectives::{Reading, Source, basis};
use crds::{
    FigureValue, Span,
    benchmark_run::{Metric, Stat},
};

use crate::{FiguresDocument, LabelsDocument, ReportDocument, Statistics};

impl ReportDocument {
    /// The names of the stages, in their order.
    pub fn stage_names(&self) -> Vec<&str> {
        self.stages.iter().map(|it| it.name.as_str()).collect()
    }

    /// The names of the stages of which a request ended: a stage that is a warm-up as a whole has no figures.
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
}

fn reading(figures: &FiguresDocument, labels: &LabelsDocument, metric: Metric, stat: Option<Stat>) -> Option<Reading> {
    let time = |statistics: &Option<Statistics>| time(statistics.as_ref()?.get(stat?));
    let throughput = figures.throughput.as_ref();
    let goodput = figures.goodput.as_ref();
    let value = match metric {
        Metric::Ttft => time(&figures.ttft_ms)?,
        Metric::Tpot => time(&figures.tpot_ms)?,
        Metric::Itl => time(&figures.itl_ms)?,
        Metric::Ntpot => time(&figures.ntpot_ms)?,
        Metric::E2e => time(&figures.latency_ms)?,
        Metric::SendLag => time(&figures.send_lag_ms)?,
        Metric::RequestsPerSecond => FigureValue::Number(throughput?.requests_per_second),
        Metric::OutputTokensPerSecond => FigureValue::Number(throughput?.output_tokens_per_second),
        Metric::TotalTokensPerSecond => FigureValue::Number(throughput?.total_tokens_per_second?),
        Metric::GoodputRequestsPerSecond => FigureValue::Number(goodput?.good_requests_per_second?),
        Metric::GoodputShare => FigureValue::Number(goodput?.good_share?),
        Metric::ErrorRatio => FigureValue::Number(figures.failed_share()?),
    };
    let basis = basis(metric, &labels.clock, &labels.itl, &labels.tokens).to_owned();
    Some(Reading { value, count: figures.succeeded, basis })
}

/// A time in milliseconds; `None` for a time that no clock has.
fn time(millis: f64) -> Option<FigureValue> {
    let nanos = (millis * 1e6).round();
    let in_range = (0.0..=u64::MAX as f64).contains(&nanos);
    in_range.then(|| FigureValue::Time(Span(Duration::from_nanos(nanos as u64))))
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
