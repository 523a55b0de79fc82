//! Computes the position of each part of a drawing. All lengths are in pixels.

use super::{
    Size, Style,
    frame::{Frame, Vertical},
    legend::{self, Legend, Placed},
    shapes::heat,
    strip::{Strip, strip},
    text,
};
use crate::{
    extent,
    figure::{Figure, MarkAt, Scale, Shape},
    scale::Domain,
    ticks::{self, Ticks},
    units,
};

/// The margin of a standalone drawing.
const PAD: f64 = 12.0;
pub(crate) const TITLE: f64 = 15.0;
pub(crate) const TEXT: f64 = 12.0;
pub(crate) const SMALL: f64 = 11.0;
/// The labels are spaced for this text size, in pixels, because a page enlarges texts on a narrow screen.
const ROOM: f64 = 14.5;
/// Minimum height of the frame.
const LEAST_HEIGHT: f64 = 60.0;
const TITLE_LINE: f64 = 20.0;
const CAPTION_LINE: f64 = 14.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub style: Style,
    /// The margin on each side; 0 in a page, which provides its own margin.
    pub pad: f64,
    pub width: f64,
    pub height: f64,
    pub frame: Frame,
    pub x_ticks: Ticks,
    /// The labels of the y axis. Empty for a figure that shows requests.
    pub y_ticks: Ticks,
    /// The lines of the title, each with its base line.
    pub title: Vec<(String, f64)>,
    /// The legend, with the position of its top.
    pub legend: Option<(f64, Placed)>,
    pub caption: Vec<(String, f64)>,
    /// The base line of the title of the y axis.
    pub y_title: f64,
    /// The base line of the title of the x axis.
    pub x_title: f64,
    /// The names of shades and marks above the frame.
    pub strip: Strip,
    pub has_no_data: bool,
}

impl Layout {
    pub fn new(figure: &Figure, legend: &Legend, size: Size, style: Style) -> Layout {
        match style {
            Style::Standalone => Layout::of_file(figure, legend, size),
            Style::Inline => Layout::in_page(figure, size),
        }
    }

    /// The layout of a standalone drawing. `size` includes title, legend and caption.
    fn of_file(figure: &Figure, legend: &Legend, size: Size) -> Layout {
        let size = bounded(size, 160.0);
        let inner = size.width - 2.0 * PAD;
        let mut top = PAD;
        let title: Vec<(String, f64)> = text::wrapped(&figure.title, TITLE * 1.06, inner, 2)
            .into_iter()
            .map(|line| {
                top += TITLE_LINE;
                (line, top - 5.0)
            })
            .collect();
        top += 4.0;
        let placed = legend::placed(legend, inner);
        let legend = (!placed.entries.is_empty()).then_some((top, placed));
        top += legend.as_ref().map_or(0.0, |it| it.1.height + 4.0);
        let y_title = top + 11.0;
        top += 20.0;

        let lines = text::wrapped(&figure.caption, SMALL, inner, 3);
        let below = 38.0 + lines.len() as f64 * CAPTION_LINE + PAD + 2.0;
        let (y, y_ticks) = y_axis(figure, (size.height - top - below) / 38.0, 6.0);
        let widest = y_ticks.labels.iter().map(|(_, it)| text::width(it, ROOM)).fold(0.0, f64::max);
        let left = (PAD + widest + 8.0).min(size.width * 0.4);
        let right = size.width - PAD - 10.0;
        let (x, x_ticks) = x_axis(figure, right - left);
        let level = Frame { left, top, right, bottom: top, x, y };
        let strip = strip(figure, &level);
        top += strip.height;
        let height = size.height.max(top + LEAST_HEIGHT + below);
        let bottom = height - below;
        let caption = lines.into_iter().enumerate();
        Layout {
            style: Style::Standalone,
            pad: PAD,
            width: size.width,
            height,
            frame: Frame { top, bottom, ..level },
            x_ticks,
            y_ticks,
            title,
            legend,
            caption: caption.map(|(at, line)| (line, bottom + 38.0 + 14.0 + at as f64 * CAPTION_LINE)).collect(),
            y_title,
            x_title: bottom + 33.0,
            strip,
            has_no_data: has_no_data(figure),
        }
    }

    /// The layout of a drawing in a page. `size` is the size of the frame. The page shows title, legend and caption outside the drawing, and provides
    /// space for labels at its sides. The page can make the drawing wider than `size`; the labels must fit even if it does not.
    fn in_page(figure: &Figure, size: Size) -> Layout {
        let size = bounded(size, LEAST_HEIGHT);
        let (y, y_ticks) = y_axis(figure, size.height / 30.0, 5.0);
        let (x, x_ticks) = x_axis(figure, size.width);
        let key = if heat::key(figure).is_some() { KEY } else { 0.0 };
        let level = Frame { left: 0.0, top: key, right: size.width, bottom: key, x, y };
        let strip = strip(figure, &level);
        let top = key + strip.height + ABOVE;
        let bottom = top + size.height;
        let has_signs = figure.marks.iter().any(|it| matches!(it.at, MarkAt::Below(_)));
        Layout {
            style: Style::Inline,
            pad: 0.0,
            width: size.width,
            height: bottom + if has_signs { WITH_SIGNS } else { TICKS },
            frame: Frame { top, bottom, ..level },
            x_ticks,
            y_ticks,
            title: Vec::new(),
            legend: None,
            caption: Vec::new(),
            y_title: 10.0,
            x_title: bottom,
            strip,
            has_no_data: has_no_data(figure),
        }
    }
}

/// Height of the colour key of a heat map in a page, in pixels.
const KEY: f64 = 16.0;
/// Height above the highest label in a page, in pixels.
const ABOVE: f64 = 6.0;
/// Height of the labels below the axis in a page, in pixels.
const TICKS: f64 = 20.0;
/// Height of the labels below the axis if they have signs such as `✓`, in pixels.
const WITH_SIGNS: f64 = 40.0;

fn bounded(size: Size, least_height: f64) -> Size {
    let usual = Size::default();
    Size { width: within(size.width, 240.0, usual.width), height: within(size.height, least_height, usual.height) }
}

/// The range of the y axis, and as many labels as fit, at most `most`. A figure of requests has rows without labels.
fn y_axis(figure: &Figure, room: f64, most: f64) -> (Vertical, Ticks) {
    let most = room.clamp(2.0, most) as usize;
    let y = ticks::rounded(extent::of_y(figure), &figure.y.unit, most, &figure.y.includes);
    match rows(figure) {
        Some(rows) => (Vertical::Rows(rows), Ticks { labels: Vec::new(), minor: Vec::new(), unit: String::new() }),
        None => (Vertical::Values(y), ticks::ticks(y, &figure.y.unit, most)),
    }
}

fn has_no_data(figure: &Figure) -> bool {
    !figure.series.iter().any(|it| has_data(&it.shape))
}

fn within(value: f64, least: f64, otherwise: f64) -> f64 {
    if value.is_finite() { value.clamp(least, 4000.0) } else { otherwise }
}

/// The range and the labels of the x axis. As many labels as fit side by side.
fn x_axis(figure: &Figure, width: f64) -> (Domain, Ticks) {
    let domain = extent::of_x(figure);
    if !figure.x.labels.is_empty() {
        return (domain, chosen(figure, domain, width));
    }
    let rounded = |most| match domain.scale {
        // A linear axis ends where the data ends. A logarithmic axis ends at a value that can have a label.
        Scale::Log => ticks::rounded(domain, &figure.x.unit, most, &figure.x.includes),
        Scale::Linear => domain,
    };
    let at_most = |most| {
        let domain = rounded(most);
        (domain, ticks::ticks(domain, &figure.x.unit, most))
    };
    let fit = |(domain, ticks): &(Domain, Ticks)| {
        let ends = ticks.labels.iter().filter_map(|(at, label)| {
            let (middle, half) = (domain.share(*at)? * width, text::width(label, ROOM) / 2.0);
            Some((middle - half, middle + half))
        });
        let ends: Vec<(f64, f64)> = ends.collect();
        ends.windows(2).all(|pair| pair[0].1 + 12.0 <= pair[1].0)
    };
    (3..=6).rev().map(at_most).find(fit).unwrap_or_else(|| at_most(2))
}

/// The labels that the figure requests, as far as they fit side by side.
fn chosen(figure: &Figure, domain: Domain, width: f64) -> Ticks {
    let mut end = f64::NEG_INFINITY;
    let mut labels = Vec::new();
    for value in figure.x.labels.iter().copied().filter(|it| domain.contains(*it)) {
        let Some(share) = domain.share(value) else { continue };
        let label = units::value(value, "");
        let half = text::width(&label, SMALL) / 2.0;
        if share * width - half >= end + 6.0 {
            end = share * width + half;
            labels.push((value, label));
        }
    }
    Ticks { labels, minor: Vec::new(), unit: figure.x.unit.clone() }
}

/// The number of rows if the figure shows requests; `None` for a figure with values on the y axis.
fn rows(figure: &Figure) -> Option<usize> {
    let lists = figure.series.iter().filter_map(|it| match &it.shape {
        Shape::Requests(all) => Some(all.len()),
        _ => None,
    });
    lists.max()
}

fn has_data(shape: &Shape) -> bool {
    match shape {
        Shape::Line(places) | Shape::Steps(places) => {
            places.iter().any(|it| it.x.is_finite() && it.y.is_some_and(f64::is_finite))
        }
        Shape::Band(intervals) => {
            intervals.iter().any(|it| it.x.is_finite() && it.low.is_finite() && it.high.is_finite())
        }
        Shape::Points { points, .. } => points.iter().any(|it| it.x.is_finite() && it.y.is_finite()),
        Shape::Bars(bars) => bars.iter().any(|it| it.from.is_finite() && it.to.is_finite() && it.value.is_finite()),
        Shape::Heat(heat) => heat.counts.iter().flatten().any(|it| *it > 0),
        Shape::Requests(requests) => requests.iter().any(|it| it.due.is_finite() && it.ended.is_finite()),
    }
}
