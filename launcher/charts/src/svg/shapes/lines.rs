//! Draws lines and steps.

use crate::{
    figure::{Place, Tone},
    palette,
    svg::{
        canvas::{Canvas, Path},
        frame::Frame,
        legend::dash_attribute,
        paint::Paint,
    },
    thin,
};

pub(crate) fn line(canvas: &mut Canvas, paint: Paint, frame: &Frame, places: &[Place], tone: Tone) {
    let (mut path, mut dots) = (Path::default(), Path::default());
    for run in runs(frame, &thin::places(places)) {
        for (index, (x, y)) in run.iter().enumerate() {
            if index == 0 { path.go(*x, *y) } else { path.line(*x, *y) }
        }
        alone(&run, &mut dots);
    }
    stroke(canvas, paint, &path, &dots, tone);
}

pub(crate) fn steps(canvas: &mut Canvas, paint: Paint, frame: &Frame, places: &[Place], tone: Tone) {
    let (mut path, mut dots) = (Path::default(), Path::default());
    for run in runs(frame, &thin::places(places)) {
        let mut before = None;
        for &(x, y) in &run {
            match before {
                None => path.go(x, y),
                Some(_) => path.horizontal(x),
            }
            if before.is_some_and(|it| it != y) {
                path.vertical(y);
            }
            before = Some(y);
        }
        alone(&run, &mut dots);
    }
    stroke(canvas, paint, &path, &dots, tone);
}

/// Draws a value between two gaps as a dot: a line of zero length with round ends.
fn alone(run: &[(f64, f64)], dots: &mut Path) {
    if let [(x, y)] = *run {
        dots.go(x, y);
        dots.horizontal(x);
    }
}

/// The parts of the line between gaps, as positions in pixels.
fn runs(frame: &Frame, places: &[Place]) -> Vec<Vec<(f64, f64)>> {
    let pixels = |it: &Place| Some((frame.x(it.x)?, frame.y(it.y?)?));
    let placed: Vec<Option<(f64, f64)>> = places.iter().map(pixels).collect();
    placed
        .split(Option::is_none)
        .map(|run| run.iter().flatten().copied().collect())
        .filter(|run: &Vec<_>| !run.is_empty())
        .collect()
}

fn stroke(canvas: &mut Canvas, paint: Paint, path: &Path, dots: &Path, tone: Tone) {
    if path.is_empty() {
        return;
    }
    let (colour, dashes) = (paint.tone(tone), dash_attribute(tone));
    if !dots.is_empty() {
        canvas.path(&dots.d, format_args!(r#"fill="none" stroke="{colour}" stroke-width="5" stroke-linecap="round""#));
    }
    let width = palette::width(tone);
    // Round line ends would fill the gaps between short dashes.
    let ends = if dashes.is_empty() { "round" } else { "butt" };
    canvas.path(
        &path.d,
        format_args!(
            r#"fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round" stroke-linecap="{ends}"{dashes}"#
        ),
    );
}
