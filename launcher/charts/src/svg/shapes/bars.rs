//! Draws stacked bars.

use crate::{
    figure::Tone,
    stack::Stacked,
    svg::{
        canvas::{Canvas, Path},
        frame::Frame,
        paint::Paint,
    },
    thin,
};

/// Minimum width in pixels at which bars have gaps between them.
const WITH_GAP: f64 = 4.0;
/// Minimum width of a bar in pixels, so that it is visible.
const LEAST: f64 = 0.6;

pub(crate) fn draw(canvas: &mut Canvas, paint: Paint, frame: &Frame, bars: &[Stacked], tone: Tone, id: &str) {
    let mut path = Path::default();
    for bar in thin::by_value(bars, |it| it.high) {
        let (Some(from), Some(to)) = (frame.x_within(bar.from), frame.x_within(bar.to)) else { continue };
        let (Some(low), Some(high)) = (frame.y_within(bar.low), frame.y_within(bar.high)) else { continue };
        if bar.high == bar.low {
            continue;
        }
        let (from, to) = if to - from > WITH_GAP { (from + 0.5, to - 0.5) } else { (from, to.max(from + LEAST)) };
        path.rectangle((from, high), (to, low));
    }
    if path.is_empty() {
        return;
    }
    // Failures have stripes, so that a reader can find them without colour.
    let fill = if tone == Tone::Bad { format!("url(#{id}-stripes)").into() } else { paint.tone(tone) };
    canvas.path(&path.d, format_args!(r#"fill="{fill}""#));
}
