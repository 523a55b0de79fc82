//! The labels of an axis: their positions and their texts.

use crate::{
    figure::Scale,
    scale::Domain,
    units::{Display, Kind, without_zeros},
};

/// The labels of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ticks {
    /// Values in increasing order, each with its label.
    pub labels: Vec<(f64, String)>,
    /// Values of grid lines that have no label.
    pub minor: Vec<f64>,
    /// The unit for the title of the axis. Empty if the labels contain the unit, or if there is none.
    pub unit: String,
}

/// Maximum number of labels. More would crowd an axis.
const MOST: usize = 6;

/// Rounds a range outwards to values that can have a label. Ends in `fixed` stay.
pub(crate) fn rounded(domain: Domain, unit: &str, most: usize, fixed: &[f64]) -> Domain {
    let once = |domain: Domain| {
        let (low, high) = match domain.scale {
            Scale::Linear => {
                let per = display(domain, unit).per;
                let step = step(domain, per, most) * per;
                ((domain.low / step + 1e-6).floor() * step, (domain.high / step - 1e-6).ceil() * step)
            }
            Scale::Log => (at_or_below(domain.low), at_or_above(domain.high)),
        };
        let keep = |new: f64, old: f64| if fixed.contains(&old) || !new.is_finite() { old } else { new };
        let (low, high) = (keep(low, domain.low), keep(high, domain.high));
        if low < high { Domain { low, high, ..domain } } else { domain }
    };
    // Rounding makes the range longer. That may require larger steps, which move the ends further. So it is repeated.
    once(once(once(domain)))
}

/// At most `most` labels, and at most six.
pub(crate) fn ticks(domain: Domain, unit: &str, most: usize) -> Ticks {
    let most = most.clamp(2, MOST);
    let mut ticks = match domain.scale {
        Scale::Linear => linear(domain, unit, most),
        Scale::Log => logarithmic(domain, unit, most),
    };
    // Labels can be equal if their values differ by less than the last digit shown.
    ticks.labels.dedup_by(|next, before| next.1 == before.1);
    ticks
}

fn display(domain: Domain, unit: &str) -> Display {
    Kind::from_unit(unit).display(domain.low.abs().max(domain.high.abs()))
}

/// The smallest step with at most `most` labels, in units of `per`: 1, 2 or 5 times a power of ten, or 25, 250 and so on.
fn step(domain: Domain, per: f64, most: usize) -> f64 {
    let (low, high) = (domain.low / per, domain.high / per);
    let least = (high - low) / most.max(2) as f64;
    let power = 10f64.powf(least.log10().floor());
    let labels = |step: f64| (high / step + 1e-6).floor() - (low / step - 1e-6).ceil() + 1.0;
    let fits = |it: &f64| *it >= least * 0.999 && labels(*it) <= most.max(2) as f64;
    let leading = [1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 25.0, 50.0].into_iter();
    // A step of 25 times a power of ten is only used if its multiples are whole numbers. Otherwise they would need one more digit.
    let leading = leading.filter(|it| (*it != 2.5 || power >= 10.0) && (*it != 25.0 || power >= 1.0));
    leading.map(|it| it * power).find(fits).unwrap_or(100.0 * power)
}

fn linear(domain: Domain, unit: &str, most: usize) -> Ticks {
    let display = display(domain, unit);
    let step = step(domain, display.per, most);
    let first = (domain.low / display.per / step - 1e-6).ceil();
    let last = domain.high / display.per + step * 1e-6;
    let label = |at: f64| match number(at, step) {
        // Zero needs no suffix such as `k`.
        zero if zero == "0" && display.title.is_none() => zero,
        number => number + display.suffix,
    };
    let labels = (0..=most + 1).map(|it| (first + it as f64) * step).take_while(|at| *at <= last);
    let labels = labels.map(|at| (at * display.per, label(at))).collect();
    Ticks { labels, minor: Vec::new(), unit: display.title.unwrap_or(unit).to_owned() }
}

/// Formats a multiple of `step` with the decimals that `step` needs.
fn number(value: f64, step: f64) -> String {
    let decimals = -step.log10().floor();
    if value.abs() < step / 2.0 {
        return "0".to_owned();
    }
    if decimals > 6.0 || value.abs() >= 1e7 {
        return format!("{value:.3e}").replace(".000e", "e");
    }
    let decimals = decimals.max(0.0) as usize;
    separated(without_zeros(&format!("{value:.decimals$}")))
}

/// Inserts commas between groups of three digits.
fn separated(number: &str) -> String {
    let digits = number.find('.').unwrap_or(number.len());
    let first = usize::from(number.starts_with('-'));
    let mut out = String::with_capacity(number.len() + 2);
    for (place, it) in number.char_indices() {
        if place > first && place < digits && (digits - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(it);
    }
    out
}

/// The leading digits that values with labels have on a logarithmic axis, from few labels to many.
const LEADING: [&[f64]; 3] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0]];

fn logarithmic(domain: Domain, unit: &str, most: usize) -> Ticks {
    let kind = Kind::from_unit(unit);
    let mut at = with_leading(domain, LEADING[0]);
    for leading in &LEADING[1..] {
        let more = with_leading(domain, leading);
        if more.len() <= most {
            at = more;
        }
    }
    if at.len() > most {
        let every = at.len().div_ceil(most);
        at = at.into_iter().step_by(every).collect();
    }
    let decades = (domain.high / domain.low).log10();
    if at.len() < 3 && decades < 2.0 {
        // On such a short axis, equal steps give more labels than powers of ten.
        let mut ticks = linear(domain, unit, most);
        ticks.labels.retain(|(at, _)| domain.contains(*at) && *at > 0.0);
        return ticks;
    }
    let minor =
        if decades > 6.0 { Vec::new() } else { with_leading(domain, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]) };
    // If the same unit suits both ends, all labels have it. Otherwise each label has its own unit.
    let ends = (kind.display(at[0]), kind.display(at[at.len() - 1]));
    let shared = ends.0 == ends.1 && kind != Kind::Number;
    let label = |value: f64| {
        let display = if shared { ends.0 } else { own_display(kind, value) };
        let shown = value / display.per;
        let power = 10f64.powf(shown.log10().floor());
        let name = if shared || kind != Kind::Number { display.title.unwrap_or_default() } else { "" };
        let space = if name.is_empty() || shared { "" } else { "\u{a0}" };
        let name = if shared { "" } else { name };
        format!("{}{}{space}{name}", number((shown / power).round() * power, power), display.suffix)
    };
    let title = match kind {
        Kind::Number => unit,
        _ if shared => ends.0.title.unwrap_or_default(),
        _ => "",
    };
    Ticks { labels: at.into_iter().map(|it| (it, label(it))).collect(), minor, unit: title.to_owned() }
}

/// The unit for one label. Durations of a second or more are in seconds, even if the axis is in milliseconds.
fn own_display(kind: Kind, value: f64) -> Display {
    match kind {
        // On such an axis, labels are powers of ten in seconds, and these are no round numbers of minutes.
        Kind::Duration(seconds) if value * seconds >= 0.999 => {
            Display { per: 1.0 / seconds, suffix: "", title: Some("s") }
        }
        _ => kind.display(value * 1.000_001),
    }
}

/// The values of a range that have one of these leading digits, in increasing order.
fn with_leading(domain: Domain, leading: &[f64]) -> Vec<f64> {
    let (first, last) = (domain.low.log10().floor() as i32, domain.high.log10().ceil() as i32);
    let within = |it: &f64| (domain.low * 0.999_999..=domain.high * 1.000_001).contains(it);
    (first..=last).flat_map(|power| leading.iter().map(move |it| it * 10f64.powi(power))).filter(within).collect()
}

fn at_or_below(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [5.0, 2.0].into_iter().map(|it| it * power).find(|it| *it <= value * 1.000_001).unwrap_or(power)
}

fn at_or_above(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|it| it * power).find(|it| *it >= value * 0.999_999).unwrap_or(power * 10.0)
}
