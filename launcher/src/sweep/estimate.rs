//! The expected duration of a run's load. Pure.

use std::time::Duration;

use workload_profiles::{
    Workload,
    workload::{Load, Stage},
};

/// The time of all stages and the pauses between them. `None` if a stage ends with its requests, so that its duration depends on the server.
pub(super) fn length(workload: &Workload) -> Option<Duration> {
    let of_stage = |stage: &Stage| {
        let load = match stage.load {
            Load::Open { duration, .. } | Load::Closed { duration, .. } => duration,
            _ => None,
        };
        load.map(|it| it.0 + stage.pause_after.0)
    };
    workload.stages.iter().map(of_stage).sum()
}

/// A duration as text, such as `45 s`, `12 min` or `3 h 5 min`. Minutes are rounded up.
pub(super) fn text(length: Duration) -> String {
    let seconds = length.as_secs();
    let minutes = seconds.div_ceil(60);
    match (seconds, minutes / 60, minutes % 60) {
        (0..=119, ..) => format!("{seconds} s"),
        (_, 0, minutes) => format!("{minutes} min"),
        (_, hours, 0) => format!("{hours} h"),
        (_, hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_shown_in_minutes_and_hours() {
        let found = [45, 119, 121, 3_600, 11_100].map(|it| text(Duration::from_secs(it)));
        assert_eq!(found, ["45 s", "119 s", "3 min", "1 h", "3 h 5 min"]);
    }
}
