//! The legend: the names of series with a sample of each.

use super::{
    canvas::{Anchor, Canvas, Font, Px},
    paint::Paint,
    shapes::{marks_path, phases},
    text,
};
use crate::{
    figure::{Figure, Shape, Tone},
    palette::{self, Marker},
};

/// An entry of the legend. It represents all series with its name. Their elements in the drawing have the index of the entry as their key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub name: String,
    pub samples: Vec<(Sample, Tone)>,
}

/// An element of a sample, which shows how a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    Line,
    Area,
    Marker,
    Bar,
    /// A bar with stripes.
    Striped,
}

/// The legend of a figure. The index of an entry is its key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Legend {
    pub entries: Vec<Entry>,
    /// The key of each series, in the order of the series. A series of requests uses this key and the following ones, one per phase.
    pub keys: Vec<usize>,
}

impl Legend {
    pub fn new(figure: &Figure) -> Legend {
        let mut legend = Legend::default();
        for series in &figure.series {
            let key = match &series.shape {
                Shape::Requests(all) => legend.requests(all.iter().any(|it| !it.succeeded)),
                // A heat map has no entry in the legend, because its colour key contains its name.
                Shape::Heat(_) => legend.entries.len(),
                shape => legend.series(&series.name, samples(shape), series.tone),
            };
            legend.keys.push(key);
        }
        legend
    }

    fn series(&mut self, name: &str, samples: &[Sample], tone: Tone) -> usize {
        let samples = samples.iter().map(|it| (*it, tone));
        match self.entries.iter_mut().position(|it| it.name == name) {
            Some(key) => {
                self.entries[key].samples.extend(samples);
                key
            }
            None => {
                self.entries.push(Entry { name: name.to_owned(), samples: samples.collect() });
                self.entries.len() - 1
            }
        }
    }

    /// Whether a page writes the names next to the lines instead of in a legend. It does so if the lines are percentiles of one measurement.
    pub fn is_at_lines(&self) -> bool {
        let percentile = |tone| matches!(tone, Tone::Median | Tone::High | Tone::Highest);
        let line = |it: &(Sample, Tone)| matches!(it.0, Sample::Line | Sample::Marker) && percentile(it.1);
        let verdict =
            |it: &(Sample, Tone)| it.0 == Sample::Marker && matches!(it.1, Tone::Good | Tone::Bad | Tone::Doubt);
        let any_line = self.entries.iter().any(|it| it.samples.iter().all(line));
        any_line && self.entries.iter().all(|it| it.samples.iter().all(line) || it.samples.iter().all(verdict))
    }

    fn requests(&mut self, with_failures: bool) -> usize {
        let first = self.entries.len();
        let phases = phases::PHASES.iter().take(if with_failures { 4 } else { 3 });
        self.entries.extend(phases.map(|it| Entry { name: it.name.to_owned(), samples: vec![(it.sample, it.tone)] }));
        first
    }
}

fn samples(shape: &Shape) -> &'static [Sample] {
    match shape {
        Shape::Line(_) | Shape::Steps(_) => &[Sample::Line],
        Shape::Band(_) => &[Sample::Area],
        Shape::Points { joined: true, .. } => &[Sample::Line, Sample::Marker],
        Shape::Points { joined: false, .. } => &[Sample::Marker],
        Shape::Bars(_) => &[Sample::Bar],
        Shape::Heat(_) | Shape::Requests(_) => &[],
    }
}

pub(crate) const SAMPLE_WIDTH: f64 = 26.0;
pub(crate) const SAMPLE_HEIGHT: f64 = 12.0;

/// Draws the sample of an entry. `(x, y)` is its upper left corner.
pub(crate) fn sample(canvas: &mut Canvas, paint: Paint, (x, y): (f64, f64), entry: &Entry) {
    let middle = y + SAMPLE_HEIGHT / 2.0;
    // Areas are drawn first, so that lines and markers are in front of them.
    for (kind, tone) in entry.samples.iter().filter(|it| it.0 != Sample::Line && it.0 != Sample::Marker) {
        let colour = paint.tone(*tone);
        let (left, width) = (Px(x + 3.0), Px(SAMPLE_WIDTH - 6.0));
        let opacity = if *kind == Sample::Area { r#" fill-opacity="0.22""# } else { "" };
        canvas.put(format_args!(
            r#"<rect x="{left}" y="{}" width="{width}" height="10" fill="{colour}"{opacity}/>"#,
            Px(y + 1.0)
        ));
        if *kind == Sample::Striped || (*kind == Sample::Bar && *tone == Tone::Bad) {
            let stripes = (0..4).map(|it| format!("M{} {}l6 -10", Px(x + 1.0 + 5.0 * f64::from(it)), Px(y + 11.0)));
            let d: String = stripes.collect();
            canvas.put(format_args!(r#"<path d="{d}" stroke="{}" stroke-width="1.5"/>"#, paint.background()));
        }
    }
    for (_, tone) in entry.samples.iter().filter(|it| it.0 == Sample::Line) {
        let dashes = dash_attribute(*tone);
        let rest = format!(r#" stroke-width="{}"{dashes}"#, palette::width(*tone));
        canvas.line((x, middle), (x + SAMPLE_WIDTH, middle), &paint.tone(*tone), &rest);
    }
    for (_, tone) in entry.samples.iter().filter(|it| it.0 == Sample::Marker) {
        put_markers(canvas, paint, *tone, 4.0, &[(x + SAMPLE_WIDTH / 2.0, middle)]);
    }
}

/// Draws the markers of a tone; `size` is half their width. They are filled, with an edge in the background colour. A cross consists of lines only,
/// which are thin for provisional values. The markers of undecided verdicts and of provisional values are hollow.
pub(crate) fn put_markers(canvas: &mut Canvas, paint: Paint, tone: Tone, size: f64, places: &[(f64, f64)]) {
    if places.is_empty() {
        return;
    }
    let (colour, edge) = (paint.tone(tone), paint.background());
    let marker = palette::marker(tone);
    let attributes = match (marker, tone) {
        (Marker::Cross, Tone::Provisional(_)) => format!(r#"fill="none" stroke="{colour}" stroke-width="1""#),
        (Marker::Cross, _) => format!(r#"fill="none" stroke="{colour}" stroke-width="2""#),
        (_, Tone::Doubt | Tone::Provisional(_)) => format!(r#"fill="{edge}" stroke="{colour}" stroke-width="2""#),
        _ => format!(r#"fill="{colour}" stroke="{edge}" stroke-width="1""#),
    };
    if !canvas.is_in_page() {
        let d = marks_path(marker, size, places.iter().copied());
        return canvas.put(format_args!(r#"<path d="{d}" {attributes}/>"#));
    }
    canvas.put(format_args!("<g {attributes}>"));
    for (x, y) in places {
        let (x, y, r) = (canvas.across(*x), Px(*y), Px(size));
        match marker {
            Marker::Circle => canvas.put(format_args!(r#"<circle cx="{x}" cy="{y}" r="{r}"/>"#)),
            // The sample is in pixels, so it is a nested `<svg>` element.
            _ => {
                let d = marks_path(marker, size, [(0.0, 0.0)]);
                canvas.put(format_args!(r#"<svg x="{x}" y="{y}"><path d="{d}"/></svg>"#));
            }
        }
    }
    canvas.put(format_args!("</g>"));
}

pub(crate) fn dash_attribute(tone: Tone) -> String {
    match palette::dashes(tone) {
        "" => String::new(),
        dashes => format!(r#" stroke-dasharray="{dashes}""#),
    }
}

/// A legend arranged in lines of limited width.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    /// For each entry: its upper left corner, relative to the upper left corner of the legend, and its text, cut to fit.
    pub entries: Vec<(f64, f64, String)>,
    pub height: f64,
}

const FONT: f64 = 12.0;
const LINE: f64 = 18.0;
const GAP: f64 = 6.0;
/// Maximum number of lines. More would leave no space for the figure, so later names are left out.
const MOST_LINES: f64 = 5.0;

pub(crate) fn placed(legend: &Legend, width: f64) -> Placed {
    let (mut x, mut y) = (0.0, 0.0);
    let mut entries = Vec::new();
    for entry in &legend.entries {
        let name = text::fitted(&entry.name, FONT, width - SAMPLE_WIDTH - GAP);
        let needs = SAMPLE_WIDTH + GAP + text::width(&name, FONT);
        if x > 0.0 && x + needs > width {
            (x, y) = (0.0, y + LINE);
        }
        if y >= LINE * MOST_LINES {
            break;
        }
        entries.push((x, y, name));
        x += needs + 18.0;
    }
    let height = if entries.is_empty() { 0.0 } else { entries[entries.len() - 1].1 + LINE };
    Placed { entries, height }
}

pub(crate) fn draw(canvas: &mut Canvas, paint: Paint, (left, top): (f64, f64), legend: &Legend, placed: &Placed) {
    let font = Font { size: FONT, paint: paint.text(), bold: false, halo: None };
    for (entry, (x, y, name)) in legend.entries.iter().zip(&placed.entries) {
        sample(canvas, paint, (left + x, top + y), entry);
        canvas.text(left + x + SAMPLE_WIDTH + GAP, top + y + 10.0, Anchor::Start, &font, name);
    }
}

/// The sample of an entry as a small drawing, for a legend in a page.
pub(crate) fn sample_svg(entry: &Entry) -> String {
    let mut canvas = Canvas::default();
    let (width, height) = (Px(SAMPLE_WIDTH), Px(SAMPLE_HEIGHT));
    canvas.put(format_args!(
        r#"<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-hidden="true" focusable="false">"#
    ));
    sample(&mut canvas, Paint(super::Style::Inline), (0.0, 0.0), entry);
    canvas.put(format_args!("</svg>"));
    canvas.finish()
}
