//! Recorded arrivals: request i is due at its recorded time / speed. [`crate::trace`] reads the file.

use workload_profiles::workload::TraceEntry;

use super::nanos;

/// Returns the times of the entries, at most `count` of them, in nanoseconds. A speed of zero or less counts as 1.
pub(super) fn times(entries: &[TraceEntry], speed: f64, count: Option<u64>) -> Vec<u64> {
    let speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
    let most = count.map_or(entries.len(), |it| usize::try_from(it).unwrap_or(usize::MAX));
    // Avoids floating-point arithmetic at speed 1.
    let at = |entry: &TraceEntry| match speed == 1.0 {
        true => nanos(entry.at.0),
        // A recorded time can exceed 64 bits of nanoseconds, because only the replayed time is limited.
        false => (entry.at.0.as_nanos() as f64 / speed).round() as u64,
    };
    entries.iter().take(most).map(at).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crds::units::Span;

    use super::*;

    fn check(at: &[u64], speed: f64, count: Option<u64>, expected: &[u64]) {
        let entry = |at: &u64| TraceEntry { at: Span(Duration::from_nanos(*at)), input: None, output: None };
        let entries: Vec<TraceEntry> = at.iter().map(entry).collect();
        assert_eq!(times(&entries, speed, count), expected);
    }

    #[test]
    fn a_speed_shortens_all_times_alike() {
        check(&[0, 10, 10, 35], 1.0, None, &[0, 10, 10, 35]);
        check(&[0, 10, 10, 35], 2.5, None, &[0, 4, 4, 14]);
        check(&[0, 10, 10, 35], 0.5, Some(3), &[0, 20, 20]);
        check(&[5], f64::NAN, Some(9), &[5]);
        check(&[], 1.0, None, &[]);
    }
}
