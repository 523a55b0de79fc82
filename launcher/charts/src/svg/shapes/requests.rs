//! Draws requests as horizontal lines with up to three phases.

use super::{open_group, phases::PHASES};
use crate::{
    figure::Request,
    svg::{
        canvas::{Canvas, Path},
        frame::Frame,
        legend::put_markers,
        paint::Paint,
    },
    thin,
};

const FAILED: usize = 3;
/// The share of a row's height that its bar takes.
const FILLED: f64 = 0.78;
/// Maximum height of a bar in pixels. Higher bars would not be more readable.
const THICKEST: f64 = 12.0;

pub(crate) fn draw(canvas: &mut Canvas, paint: Paint, frame: &Frame, requests: &[Request], key: usize, id: &str) {
    let mut paths: [Path; 4] = Default::default();
    let mut ends = Vec::new();
    let every = requests.len().div_ceil(thin::MOST).max(1);
    for (index, request) in requests.iter().enumerate().step_by(every) {
        let (top, height) = frame.row(index);
        // If rows are left out, the remaining rows become higher.
        let height = height * every as f64;
        let thick = (height * FILLED).clamp(0.5, THICKEST);
        let middle = top + height / 2.0;
        for (phase, from, to) in phases(request) {
            let (Some(from), Some(to)) = (frame.x_within(from), frame.x_within(to)) else { continue };
            if to > from {
                paths[phase].rectangle((from, middle - thick / 2.0), (to, middle + thick / 2.0));
            }
        }
        if let (false, Some(x)) = (request.succeeded, frame.x_within(request.ended)) {
            ends.push((x, middle));
        }
    }
    for (phase, path) in paths.iter().enumerate() {
        if path.is_empty() && (phase != FAILED || ends.is_empty()) {
            continue;
        }
        open_group(canvas, Some(key + phase));
        let tone = PHASES[phase].tone;
        let colour = paint.tone(tone);
        let fill = if phase == FAILED { format!("url(#{id}-stripes)").into() } else { colour.clone() };
        if !path.is_empty() {
            canvas.path(&path.d, format_args!(r#"fill="{fill}""#));
        }
        if phase == FAILED {
            put_markers(canvas, paint, tone, 3.0, &ends);
        }
        canvas.put(format_args!("</g>"));
    }
}

/// The phases of a request as (index in `PHASES`, start, end).
pub(crate) fn phases(it: &Request) -> impl Iterator<Item = (usize, f64, f64)> {
    let sent = it.sent.unwrap_or(it.ended);
    let first = it.first_token.unwrap_or(it.ended);
    let known = [
        Some((0, it.due, sent)),
        it.sent.map(|sent| (1, sent, first)),
        it.sent.and(it.first_token).map(|first| (2, first, it.ended)),
    ];
    let last = known.iter().flatten().count() - 1;
    let failed = !it.succeeded;
    let known = known.into_iter().flatten().enumerate();
    known.map(move |(index, (phase, from, to))| (if failed && index == last { FAILED } else { phase }, from, to))
}
