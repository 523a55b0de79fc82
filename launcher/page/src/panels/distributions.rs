//! Distribution functions of TTFT, ITL and latency with confidence bands.

use charts::{Figure, Interval, Place, Series, Shape, Tone};
use crds::wording::percent;
use document::{DistributionDocument, DistributionsDocument, ReportDocument};

use super::{
    Content,
    plot::{NO_SUCCESS, figure, logarithmic, series, share},
};
use crate::text;

/// Maximum number of stages in a figure. A reader cannot distinguish more lines.
const MAX_STAGES: usize = 6;
/// Minimum number of effective values for a band. With fewer values, the band would extend by more than 0.25 to each side, too wide to be of use.
const FEWEST_FOR_A_BAND: f64 = 30.0;
/// The report has at most 118 points: every hundredth of the values, and more in the tails. If it has fewer points than this constant, each distinct
/// value has its own point, except very rare values.
const FEWEST_OF_A_SELECTION: usize = 100;
/// The probability that the band contains the whole true distribution function.
const LEVEL: f64 = 0.95;

struct Latency {
    id: &'static str,
    name: &'static str,
    of: fn(&DistributionsDocument) -> Option<&DistributionDocument>,
}

const LATENCIES: [Latency; 3] = [
    Latency { id: "cdf-ttft", name: "TTFT", of: |it| it.ttft_ms.as_ref() },
    Latency { id: "cdf-itl", name: "ITL", of: |it| it.itl_ms.as_ref() },
    Latency { id: "cdf-latency", name: "Latency", of: |it| it.latency_ms.as_ref() },
];

/// A stage with its distributions.
struct Source<'a> {
    name: &'a str,
    tone: Tone,
    distributions: &'a DistributionsDocument,
}

pub(super) fn content(document: &ReportDocument) -> Content {
    if document.figures.succeeded == 0 {
        return Err(NO_SUCCESS.to_owned());
    }
    let (sources, of) = sources(document);
    if sources.is_empty() {
        return Err("The report has no distributions: an older release wrote it. The quantiles are in the tables \
                    below."
            .to_owned());
    }
    let figures: Vec<Figure> = LATENCIES.iter().filter_map(|it| one(&sources, of, it)).collect();
    if figures.is_empty() {
        return Err("The distributions of the report hold no value.".to_owned());
    }
    Ok(figures)
}

/// The stages to show, evenly selected, and the total number of stages. In a run of one stage, the distributions can be stored with the run.
fn sources(document: &ReportDocument) -> (Vec<Source<'_>>, usize) {
    let stages: Vec<(&str, &DistributionsDocument)> =
        document.stages.iter().filter_map(|it| Some((it.name.as_str(), it.distributions.as_ref()?))).collect();
    let all = match (stages.is_empty(), &document.distributions) {
        (true, Some(of_run)) => vec![("all requests", of_run)],
        _ => stages,
    };
    let shown = all.len().min(MAX_STAGES);
    let chosen = (0..shown).filter_map(|place| {
        // Selects evenly, always including the first and the last stage.
        let index = if shown > 1 { place * (all.len() - 1) / (shown - 1) } else { 0 };
        let (name, distributions) = *all.get(index)?;
        let tone = if all.len() == 1 { Tone::Main } else { Tone::Category(place) };
        Some(Source { name, tone, distributions })
    });
    (chosen.collect(), all.len())
}

/// The figure for one latency; `None` if no stage has values.
fn one(sources: &[Source<'_>], stages: usize, latency: &Latency) -> Option<Figure> {
    let told: Vec<(&Source<'_>, &DistributionDocument)> = sources
        .iter()
        .filter_map(|it| Some((it, (latency.of)(it.distributions).filter(|it| !it.ms.0.is_empty())?)))
        .collect();
    if told.is_empty() {
        return None;
    }
    let count: u64 = told.iter().map(|(_, it)| it.count).sum();
    let mut caption = format!("The share of {} values that are at most this large.", text::count(count));
    if stages > sources.len() {
        caption.push_str(&format!(" {} of {stages} stages are shown, evenly chosen.", sources.len()));
    }
    let banded = told.iter().filter(|(_, it)| half_width(it).is_some()).count();
    caption.push_str(match (banded, told.len()) {
        (0, _) if told.iter().all(|(_, it)| it.effective_values.is_none()) => {
            " No band is drawn: the effective number of values is not known, and values that depend on each other count less."
        }
        (0, _) => " No band is drawn: that needs 30 effective values, and values that depend on each other count less.",
        (banded, all) if banded < all => {
            " A band contains the whole true curve with a probability of 95 % (Dvoretzky-Kiefer-Wolfowitz); lines without a band have fewer than 30 effective values."
        }
        _ => " The band contains the whole true curve with a probability of 95 % (Dvoretzky-Kiefer-Wolfowitz, with the effective number of values).",
    });
    let zeros: f64 = told.iter().map(|(_, it)| share_of_zeros(it) * it.count as f64).sum();
    let mut axis = logarithmic(latency.name, "ms");
    let mut left = None;
    if zeros > 0.0 {
        let share = percent(zeros / count.max(1) as f64);
        caption.push_str(&format!(" {share} of the values are 0 and lie left of the axis."));
        let end = left_end(told.iter().map(|(_, it)| *it));
        axis.includes.push(end);
        left = Some(end);
    }
    let mut figure = figure(latency.id, latency.name, caption, axis, share("Share of values"));
    for (source, distribution) in told {
        figure.series.extend(band(source, distribution, left));
        figure.series.push(curve(source, distribution, left));
    }
    Some(figure)
}

/// The share of zero values, which a logarithmic axis cannot show.
fn share_of_zeros(distribution: &DistributionDocument) -> f64 {
    let points = distribution.ms.0.iter().zip(&distribution.share.0);
    points.take_while(|(ms, _)| **ms <= 0.0).last().map_or(0.0, |(_, share)| *share)
}

/// The largest power of ten at or below all positive values. The axis begins there, with a label.
fn left_end<'a>(distributions: impl Iterator<Item = &'a DistributionDocument>) -> f64 {
    let least = distributions.flat_map(|it| &it.ms.0).copied().filter(|it| *it > 0.0).reduce(f64::min);
    10_f64.powf(least.unwrap_or(1.0).log10().floor())
}

/// Pairs (value in milliseconds, share). Zero values are placed at `left`, the start of the axis.
fn points(distribution: &DistributionDocument, left: Option<f64>) -> impl Iterator<Item = (f64, f64)> + '_ {
    let zeros = left.map(|it| (it, share_of_zeros(distribution))).filter(|(_, share)| *share > 0.0);
    let above = distribution.ms.0.iter().copied().zip(distribution.share.0.iter().copied()).filter(|(ms, _)| *ms > 0.0);
    zeros.into_iter().chain(above)
}

fn curve(source: &Source<'_>, distribution: &DistributionDocument, left: Option<f64>) -> Series {
    let places: Vec<Place> = points(distribution, left).map(|(x, share)| Place { x, y: Some(share) }).collect();
    // If there is a point for every value, the curve is a step function. If the points are a selection, the curve between them is unknown, and is
    // drawn as a line.
    let number = distribution.ms.0.len();
    let is_whole = number < FEWEST_OF_A_SELECTION || number as u64 >= distribution.count;
    let shape = if is_whole { Shape::Steps(places) } else { Shape::Line(places) };
    series(source.name, source.tone, shape)
}

fn band(source: &Source<'_>, distribution: &DistributionDocument, left: Option<f64>) -> Option<Series> {
    let half = half_width(distribution)?;
    let intervals = points(distribution, left).map(|(x, share)| Interval {
        x,
        low: (share - half).max(0.0),
        high: (share + half).min(1.0),
    });
    // The band has the same name as its line, so that one click hides both.
    Some(series(source.name, source.tone, Shape::Band(intervals.collect())))
}

/// Half the height of the band: sqrt(ln(2 / alpha) / 2n). P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals of
/// Probability 18 (1990). n is the effective number of values, because the inequality assumes independent values.
fn half_width(distribution: &DistributionDocument) -> Option<f64> {
    let n = distribution.effective_values.filter(|it| *it >= FEWEST_FOR_A_BAND)?;
    Some(((2.0 / (1.0 - LEVEL)).ln() / (2.0 * n)).sqrt())
}
