//! Draws named values as horizontal bars, one per line, in the given order.

use super::{
    Px, Style,
    canvas::{Anchor, Canvas, Font, Path},
    layout::{SMALL, TEXT, TITLE},
    legend::{self, Entry, Legend, Sample},
    paint::Paint,
    style::element_id,
    text,
};
use crate::{
    figure::{Scale, Tone},
    scale::Domain,
    ticks,
};

/// Named bars in groups. Each group has its own colour. Names can contain any characters.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The id for elements and files: lower-case letters, digits and hyphens.
    pub id: String,
    pub title: String,
    /// What the drawing shows, and from which data, in one or two sentences.
    pub caption: String,
    /// The unit of the values, as for an axis. Shares have an axis from 0 to 1; other values have an axis from 0 to the maximum.
    pub unit: String,
    /// The names of the groups.
    pub groups: Vec<String>,
    /// The bars from top to bottom. A bar without a name belongs to the nearest named bar above it. If there are such bars, there is extra space
    /// above each named bar.
    pub bars: Vec<Ranked>,
    /// A vertical line across all bars, as its value and its name.
    pub line: Option<(f64, String)>,
}

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    pub name: String,
    /// The index of its group.
    pub group: usize,
    /// The value. If it is not finite or not positive, no bar is drawn.
    pub value: f64,
    /// The text at the end of the bar, such as the value with its unit.
    pub note: String,
}

const PAD: f64 = 12.0;
/// The height of a bar, in pixels.
const BAR: f64 = 11.0;
/// The height of the line that contains the bar, in pixels.
const LINE: f64 = 16.0;
const TITLE_LINE: f64 = 20.0;
const CAPTION_LINE: f64 = 14.0;
/// Extra space above a named bar if some bars have no name, in pixels.
const GAP: f64 = 8.0;
/// Number of steps between the labels of an axis of shares.
const STEPS: u32 = 4;
/// Maximum number of labels on the axis if the unit is not a share.
const MOST_LABELS: usize = 6;
/// Maximum share of the width that names can take.
const MOST_NAMES: f64 = 0.4;

/// Draws the bars as one `<svg>` element of this width, with title, legend and caption. The height depends on the number of bars.
pub fn draw_ranking(ranking: &Ranking, width: f64) -> String {
    let width = if width.is_finite() { width.clamp(320.0, 4000.0) } else { 760.0 };
    let (inner, paint) = (width - 2.0 * PAD, Paint(Style::Standalone));
    let mut canvas = Canvas::default();
    let entry = |(index, name): (usize, &String)| Entry {
        name: name.clone(),
        samples: vec![(Sample::Bar, Tone::Category(index))],
    };
    let groups = Legend { entries: ranking.groups.iter().enumerate().map(entry).collect(), keys: Vec::new() };
    let placed = legend::placed(&groups, inner);

    let title = text::wrapped(&ranking.title, TITLE * 1.06, inner, 2);
    let caption = text::wrapped(&ranking.caption, SMALL, inner, 4);
    let legend_top = PAD + title.len() as f64 * TITLE_LINE + 4.0;
    // The name of the vertical line is above the bars.
    let top = legend_top + placed.height + 24.0;
    let places = places(&ranking.bars);
    let bottom = top + places.last().map_or(0.0, |it| it + LINE) + 4.0;
    let height = bottom + 26.0 + caption.len() as f64 * CAPTION_LINE + PAD;

    let widest = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|it| text::width(it, TEXT)).fold(0.0, f64::max).min(width * MOST_NAMES)
    };
    let names = widest(&mut ranking.bars.iter().map(|it| &it.name));
    let notes = widest(&mut ranking.bars.iter().map(|it| &it.note));
    let (left, right) = (PAD + names + 8.0, (width - PAD - notes - 8.0).max(PAD + names + 40.0));
    let (high, labels) = axis(ranking);
    let x = |value: f64| left + (value / high).clamp(0.0, 1.0) * (right - left);

    let id = element_id(&ranking.id);
    let (px_width, px_height) = (Px(width), Px(height));
    canvas.put(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {px_width} {px_height}" width="{px_width}" height="{px_height}" role="img" aria-labelledby="{id}-title" aria-describedby="{id}-desc" font-family="Noto Sans, Helvetica, Arial, sans-serif"><title id="{id}-title">{}</title><desc id="{id}-desc">{}</desc><rect width="{px_width}" height="{px_height}" fill="{}"/>"#,
        text::escape(&ranking.title),
        text::escape(&described(ranking)),
        paint.background(),
    ));
    let font = |size: f64, paint| Font { size, paint, bold: false, halo: None };
    for (place, line) in title.iter().enumerate() {
        let y = PAD + (place as f64 + 1.0) * TITLE_LINE - 5.0;
        canvas.text(PAD, y, Anchor::Start, &Font { bold: true, ..font(TITLE, paint.text()) }, line);
    }
    legend::draw(&mut canvas, paint, (PAD, legend_top), &groups, &placed);
    for (step, (value, label)) in labels.iter().enumerate() {
        canvas.line((x(*value), top), (x(*value), bottom), if step == 0 { paint.axis() } else { paint.grid() }, "");
        canvas.text(x(*value), bottom + 14.0, Anchor::Middle, &font(SMALL, paint.muted()), label);
    }
    for (group, _) in ranking.groups.iter().enumerate() {
        let mut path = Path::default();
        let has_bar = |it: &Ranked| it.group == group && it.value.is_finite() && it.value > 0.0;
        for (place, bar) in ranking.bars.iter().enumerate().filter(|(_, it)| has_bar(it)) {
            let y = top + 4.0 + places[place];
            path.rectangle((left, y), (x(bar.value), y + BAR));
        }
        if !path.is_empty() {
            let fill = paint.tone(Tone::Category(group));
            canvas.put(format_args!(r#"<path d="{}" fill="{fill}"/>"#, path.d));
        }
    }
    if let Some((value, name)) = ranking.line.as_ref().filter(|it| it.0.is_finite()) {
        let rest = r#" stroke-width="1.5" stroke-dasharray="4 4""#;
        canvas.line((x(*value), top - 14.0), (x(*value), bottom), paint.text(), rest);
        let (anchor, at) = if *value > high / 2.0 { (Anchor::End, -5.0) } else { (Anchor::Start, 5.0) };
        canvas.text(x(*value) + at, top - 6.0, anchor, &font(SMALL, paint.text()), name);
    }
    for (place, bar) in ranking.bars.iter().enumerate() {
        let y = top + 4.0 + places[place] + BAR - 1.5;
        canvas.text(left - 8.0, y, Anchor::End, &font(TEXT, paint.text()), &text::fitted(&bar.name, TEXT, names + 0.1));
        let note = text::fitted(&bar.note, SMALL, notes + 0.1);
        canvas.text(right + 8.0, y, Anchor::Start, &font(SMALL, paint.muted()), &note);
    }
    for (place, line) in caption.iter().enumerate() {
        let y = bottom + 26.0 + (place as f64 + 1.0) * CAPTION_LINE;
        canvas.text(PAD, y, Anchor::Start, &font(SMALL, paint.muted()), line);
    }
    canvas.put(format_args!("</svg>"));
    canvas.finish()
}

/// The top of each bar, relative to the first one.
fn places(bars: &[Ranked]) -> Vec<f64> {
    let is_grouped = bars.iter().any(|it| it.name.is_empty());
    let mut next = 0.0;
    let place = |(index, bar): (usize, &Ranked)| {
        if is_grouped && index > 0 && !bar.name.is_empty() {
            next += GAP;
        }
        let place = next;
        next += LINE;
        place
    };
    bars.iter().enumerate().map(place).collect()
}

/// The value at the right end of the axis, which is above zero, and the labels.
fn axis(ranking: &Ranking) -> (f64, Vec<(f64, String)>) {
    if ranking.unit == "share" {
        let label = |step| (f64::from(step) / f64::from(STEPS), format!("{} %", 100 * step / STEPS));
        return (1.0, (0..=STEPS).map(label).collect());
    }
    let values = ranking.bars.iter().map(|it| it.value).filter(|it| *it >= 0.0);
    let domain = Domain::from_values(Scale::Linear, values.chain([0.0]));
    let domain = ticks::rounded(domain, &ranking.unit, MOST_LABELS, &[0.0]);
    let ticks = ticks::ticks(domain, &ranking.unit, MOST_LABELS);
    let label = |(value, label): (f64, String)| (value, format!("{label} {}", ticks.unit).trim_end().to_owned());
    (domain.high, ticks.labels.into_iter().map(label).collect())
}

/// Describes the drawing in words, for readers who cannot see it.
fn described(ranking: &Ranking) -> String {
    let mut sentences = vec![ranking.caption.clone()];
    if let (Some(first), Some(last)) = (ranking.bars.first(), ranking.bars.last()) {
        let count = ranking.bars.len();
        sentences.push(format!("{count} bars, from {} ({}) to {} ({}).", first.name, first.note, last.name, last.note));
    }
    sentences.extend(ranking.line.as_ref().map(|(_, name)| format!("A line: {name}.")));
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(shares: &[f64]) -> Ranking {
        let bar = |(index, share): (usize, &f64)| Ranked {
            name: format!("subject <{index}>"),
            group: index % 2,
            value: *share,
            note: format!("{share}"),
        };
        Ranking {
            id: "ranking".into(),
            title: "Title".into(),
            caption: "Caption.".into(),
            unit: "share".into(),
            groups: vec!["STEM".into(), "Other".into()],
            bars: shares.iter().enumerate().map(bar).collect(),
            line: Some((0.5, "overall 50 %".into())),
        }
    }

    /// Reads the height of a drawing from its attribute.
    fn height(svg: &str) -> f64 {
        svg.split(" height=\"").nth(1).and_then(|it| it.split('"').next()).unwrap().parse().unwrap()
    }

    #[test]
    fn each_bar_has_a_line_and_its_name() {
        let svg = draw_ranking(&ranking(&[1.0, 0.5, 0.25]), 760.0);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
        assert!(svg.contains(">subject &lt;2&gt;</text>") && svg.contains(">overall 50 %</text>"), "{svg}");
        assert!(svg.contains("3 bars, from subject &lt;0&gt; (1) to subject &lt;2&gt; (0.25)."), "{svg}");
        assert_eq!(height(&draw_ranking(&ranking(&[0.5; 57]), 760.0)) - height(&svg), 54.0 * LINE);
        // Each of the two groups has one path for its bars. The first group has two rectangles.
        let bars: Vec<&str> = svg.split("<path d=\"").filter(|it| it.contains("Z\" fill=\"#")).collect();
        assert_eq!(bars.iter().map(|it| it.matches('Z').count()).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn bars_in_seconds_have_an_axis_to_the_greatest_of_them() {
        let seconds = Ranking { unit: "s".into(), ..ranking(&[70.0, 61.0, 15.0]) };
        let svg = draw_ranking(&seconds, 760.0);
        for label in [">0 s</text>", ">20 s</text>", ">80 s</text>"] {
            assert!(svg.contains(label), "{svg}");
        }
        let mut grouped = seconds.clone();
        grouped.bars[1].name.clear();
        assert_eq!(height(&draw_ranking(&grouped, 760.0)) - height(&svg), GAP);
    }

    #[test]
    fn values_that_are_none_have_no_bar() {
        for share in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut none = ranking(&[share]);
            none.bars[0].note = "no value".into();
            none.unit = if share == 0.0 { "s".into() } else { none.unit };
            let svg = draw_ranking(&none, f64::NAN);
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("Z\" fill=\"#"), "{svg}");
        }
        assert!(draw_ranking(&Ranking { bars: Vec::new(), ..ranking(&[]) }, 0.0).ends_with("</svg>"));
    }
}
