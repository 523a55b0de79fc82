//! The times at which the requests of a stage are due. The engine draws them before the first request. Pure.

use std::time::Duration;

/// Sorted times, from the start of the stage. Eight bytes per request, so that ten million requests fit into memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    nanos: Vec<u64>,
}

impl Schedule {
    pub fn len(&self) -> u64 {
        self.nanos.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.nanos.is_empty()
    }

    /// Returns the time at which a request is due; `None` if the schedule has fewer requests.
    pub fn get(&self, number: u64) -> Option<Duration> {
        let index = usize::try_from(number).ok()?;
        self.nanos.get(index).copied().map(Duration::from_nanos)
    }

    /// Returns the mean rate in requests per second, from the start of the stage to the last request. It can differ from the profile's
    /// rate, because a schedule can replay a trace or contain all requests at one time.
    pub fn mean_rate(&self) -> f64 {
        let last = self.nanos.last().copied().map(Duration::from_nanos).unwrap_or_default();
        self.len() as f64 / last.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns all times, in order.
    pub fn iter(&self) -> impl Iterator<Item = Duration> + '_ {
        self.nanos.iter().copied().map(Duration::from_nanos)
    }
}

impl Schedule {
    /// Keeps only the first `most` requests.
    pub fn truncate(&mut self, most: u64) {
        self.nanos.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
}

impl Schedule {
    /// Creates a schedule. The times must be sorted.
    pub fn from_nanos(nanos: Vec<u64>) -> Schedule {
        Schedule { nanos }
    }
}

impl FromIterator<Duration> for Schedule {
    /// Creates a schedule. The times must be sorted.
    fn from_iter<T: IntoIterator<Item = Duration>>(times: T) -> Self {
        Schedule { nanos: times.into_iter().map(nanos).collect() }
    }
}

/// Converts to nanoseconds. The result is limited to 64 bits, 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
