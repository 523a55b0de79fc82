//! Draws the area between two values.

use crate::{
    figure::{Interval, Tone},
    svg::{
        canvas::{Canvas, Path},
        frame::Frame,
        paint::Paint,
    },
    thin,
};

/// Half the drawn width of an interval without neighbours, in pixels.
const ALONE: f64 = 2.0;

pub(crate) fn draw(canvas: &mut Canvas, paint: Paint, frame: &Frame, intervals: &[Interval], tone: Tone) {
    let pixels = |it: &Interval| Some((frame.x(it.x)?, end(frame, it.low)?, end(frame, it.high)?));
    let placed: Vec<Option<(f64, f64, f64)>> = thin::intervals(intervals).iter().map(pixels).collect();
    let mut path = Path::default();
    for run in placed.split(Option::is_none) {
        let run: Vec<(f64, f64, f64)> = run.iter().flatten().copied().collect();
        match run[..] {
            [] => {}
            [(x, low, high)] => path.rectangle((x - ALONE, low), (x + ALONE, high)),
            _ => {
                let there = run.iter().map(|(x, _, high)| (*x, *high));
                let back = run.iter().rev().map(|(x, low, _)| (*x, *low));
                for (index, (x, y)) in there.chain(back).enumerate() {
                    if index == 0 { path.go(x, y) } else { path.line(x, y) }
                }
                path.close();
            }
        }
    }
    if !path.is_empty() {
        let colour = paint.tone(tone);
        canvas.path(&path.d, format_args!(r#"fill="{colour}" fill-opacity="0.2""#));
    }
}

/// The position of an end of an interval. On a logarithmic axis, zero is drawn at the low end.
fn end(frame: &Frame, value: f64) -> Option<f64> {
    frame.y(value).or_else(|| frame.y_within(value))
}
