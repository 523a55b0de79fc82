//! Formats the launcher's `/metrics` as a progress line. docs/operator.md lists the metrics.

use std::time::Duration;

use crds::{figure::rate_text, units::Span, wording::one_line};
use tokio::time::Instant;

/// The launcher's counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counters {
    sent: f64,
    ended: f64,
    failed: f64,
    planned: Option<f64>,
    stage: Option<String>,
    stages: f64,
    stage_index: f64,
    ttft_median: Option<f64>,
}

impl Counters {
    /// Parses the metrics page. `None` before the load begins.
    pub(super) fn read(page: &str) -> Option<Counters> {
        let mut counters = Counters::default();
        let mut loaded = false;
        for line in page.lines().filter(|it| !it.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Some(value) = value.parse::<f64>().ok().filter(|it| it.is_finite()) else { continue };
            let Some(series) = series.strip_prefix("benchwright_") else { continue };
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            match name {
                "requests_sent_total" => (counters.sent, loaded) = (value, true),
                "requests_ended_total" => {
                    counters.ended += value;
                    if labels.contains("\"failed\"") {
                        counters.failed = value;
                    }
                }
                "requests_planned" => counters.planned = Some(value),
                "stages" => counters.stages = value,
                "stage_index" => counters.stage_index = value,
                "stage_info" => counters.stage = label(labels),
                "recent_ttft_median_seconds" => counters.ttft_median = Some(value),
                _ => {}
            }
        }
        loaded.then_some(counters)
    }
}

/// The value of the only label in `labels`.
fn label(labels: &str) -> Option<String> {
    let value = labels.split_once("=\"")?.1.strip_suffix("\"}")?;
    Some(one_line(&value.replace("\\\"", "\"").replace(r"\n", " ").replace(r"\\", "\\")))
}

/// Computes the request rate between two reads.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<(Instant, f64)>,
}

impl Pace {
    /// The progress line for these counters. If a counter decreased, a new load of a search has begun, and the line has no rate.
    pub(super) fn line(&mut self, now: &Counters, at: Instant) -> String {
        let since = self.last.replace((at, now.sent)).filter(|(_, sent)| *sent <= now.sent);
        let rate = since.and_then(|(then, sent)| {
            let seconds = at.saturating_duration_since(then).as_secs_f64();
            (seconds > 0.0).then(|| (now.sent - sent) / seconds)
        });
        let planned = now.planned.map(|it| format!(" of {it}")).unwrap_or_default();
        let mut parts = vec![
            format!("  sent {}{planned}", now.sent),
            format!("ended {}", now.ended),
            format!("failed {}", now.failed),
        ];
        parts.extend(rate.map(|it| format!("{}/s", rate_text(it))));
        parts.extend(now.ttft_median.map(|it| {
            let time = Duration::try_from_secs_f64(it).unwrap_or_default();
            format!("TTFT p50 {}", Span(time).rounded())
        }));
        if let Some(stage) = now.stage.as_ref().filter(|_| now.stages > 1.0) {
            parts.push(format!("stage {stage} ({} of {})", now.stage_index + 1.0, now.stages));
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP benchwright_measuring 1\nbenchwright_build_info{version=\"0.1.0\",commit=\"x\"} 1\n\
        benchwright_requests_planned 3000\nbenchwright_requests_sent_total 312\n\
        benchwright_requests_ended_total{outcome=\"succeeded\"} 300\nbenchwright_requests_ended_total{outcome=\"failed\"} 2\n\
        benchwright_stages 2\nbenchwright_stage_index 0\nbenchwright_stage_info{stage=\"r \\\"10\\\"\"} 1\n\
        benchwright_recent_ttft_median_seconds 0.0213\n";

    #[test]
    fn a_line_has_the_counts_and_the_rate_since_the_last_look() {
        let counters = Counters::read(PAGE).unwrap();
        let (mut pace, start) = (Pace::default(), Instant::now());
        let first = pace.line(&counters, start);
        assert_eq!(first, "  sent 312 of 3000, ended 302, failed 2, TTFT p50 21.3ms, stage r \"10\" (1 of 2)");
        let later = Counters { sent: 332.0, planned: None, stages: 1.0, ttft_median: None, ..counters };
        assert_eq!(pace.line(&later, start + Duration::from_secs(2)), "  sent 332, ended 302, failed 2, 10/s");
        let anew = Counters { sent: 5.0, ..later };
        assert_eq!(pace.line(&anew, start + Duration::from_secs(4)), "  sent 5, ended 302, failed 2");
    }

    #[test]
    fn before_the_load_there_is_no_line() {
        assert_eq!(Counters::read("benchwright_measuring 0\n"), None);
        assert_eq!(Counters::read("\u{0}garbage {{{ NaN\nbenchwright_requests_sent_total NaN\n"), None);
    }
}
