//! Little's law, L = lambda W (Little, A proof for the queuing formula L = lambda W, 1961): over a long time, the mean number of requests in flight
//! equals the throughput times the mean latency.
//!
//! The law is exact for a time that contains all requests from start to end. A window can cut requests off. Then both sides agree if as many requests
//! are in flight at its start as at its end. The residual is not 0 if, for example, a queue grows or shrinks, or if requests do not end.

/// Both sides of the law within a window. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LittlesLaw {
    /// L: the mean number of requests in flight.
    pub concurrency: f64,
    /// lambda: number of requests that ended in the window, per second.
    pub throughput: f64,
    /// W: the mean latency of the requests that ended in the window.
    pub latency: f64,
    /// (L - lambda W) / L.
    pub residual: f64,
}

/// Sums over the requests of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LittlesLawSums {
    open: f64,
    close: f64,
    under_way: f64,
    ended: u64,
    latencies: f64,
}

impl LittlesLawSums {
    /// Creates the sums for a window from `open` to `close`, in seconds.
    pub fn new(open: f64, close: f64) -> LittlesLawSums {
        LittlesLawSums { open, close, under_way: 0.0, ended: 0, latencies: 0.0 }
    }

    /// Adds a request with its start and end, in seconds.
    pub fn add(&mut self, begun: f64, ended: f64) {
        self.under_way += (ended.min(self.close) - begun.max(self.open)).max(0.0);
        if self.open < ended && ended <= self.close {
            self.ended += 1;
            self.latencies += ended - begun;
        }
    }

    /// `None` if no request was in flight, or if none ended.
    pub fn law(&self) -> Option<LittlesLaw> {
        let length = self.close - self.open;
        let is_there = length > 0.0 && self.ended > 0 && self.under_way > 0.0;
        is_there.then(|| LittlesLaw {
            concurrency: self.under_way / length,
            throughput: self.ended as f64 / length,
            latency: self.latencies / self.ended as f64,
            residual: (self.under_way - self.latencies) / self.under_way,
        })
    }
}
