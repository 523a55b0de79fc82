//! Analyses the metrics of the servers: figures of the run and of each stage, and contradictions with the client. Pure.

mod client_tokens;
mod other_requests;
mod remarks;

use std::{sync::Arc, time::Duration};

pub use client_tokens::{ClientTokens, TokenRange};
pub use other_requests::OtherRequests;
use server_metrics::{
    scraped::Scraped,
    series::{OverTime, Store, WindowFigures},
};

use workload_profiles::Workload;

use crate::{Measured, StageAnalysis};

/// The metrics of the servers, with the figures derived from them.
#[derive(Clone, Debug)]
pub struct ServerAnalysis {
    pub scraped: Arc<Scraped>,
    /// Time zero of the run, on the machine's monotonic clock.
    pub zero: Duration,
    /// The figures from time zero to the end of the last request.
    pub run: WindowFigures,
    /// The figures of each stage, in order; `None` for a stage without requests.
    pub stages: Vec<Option<WindowFigures>>,
    /// The window of `run`, split into time bins; `None` if the window has no length.
    pub over_time: Option<OverTime>,
    /// The tokens that the client counted; `None` if it did not count tokens.
    pub client: Option<ClientTokens>,
    /// Requests of other clients; `None` if the servers' request counts cannot be compared with the run.
    pub others: Option<OtherRequests>,
    /// One sentence per contradiction.
    pub remarks: Vec<String>,
}

impl ServerAnalysis {
    /// The figures of the metrics that were read during a load.
    pub(crate) fn of_load(
        scraped: Arc<Scraped>,
        measured: &Measured<'_>,
        workload: &Workload,
        stages: &[StageAnalysis],
    ) -> ServerAnalysis {
        let client = client_tokens::client_tokens(measured.recorder);
        let most_requests =
            client_tokens::has_one_answer_each(workload).then(|| client_tokens::most_requests(measured.recorder));
        ServerAnalysis::new(scraped, measured.zero, measured.wall, stages, client, most_requests)
    }

    /// Analyses metrics. `zero`: time zero of the run, on the machine's monotonic clock. `wall`: from `zero` to the end of the last request.
    /// `most_requests` is the maximum number of requests that a server can have finished for this run; `None` if unknown.
    pub fn new(
        scraped: Arc<Scraped>,
        zero: Duration,
        wall: Duration,
        stages: &[StageAnalysis],
        client: Option<ClientTokens>,
        most_requests: Option<u64>,
    ) -> ServerAnalysis {
        let figures = |from: Duration, to: Duration| scraped.store.figures(zero + from, zero + to, scraped.interval);
        let run = figures(Duration::ZERO, wall);
        let of_stage = |it: &StageAnalysis| Some(figures(it.figures.first_due?, it.figures.last_end?));
        let stages: Vec<_> = stages.iter().map(of_stage).collect();
        let over_time = scraped.store.over_time(zero, zero + wall, scraped.interval);
        let finished = || scraped.store.finished(zero, zero + wall, scraped.interval).filter(|_| run.whole);
        let others = most_requests.and_then(|most| OtherRequests::find(&finished()?, most));
        let remarks = remarks::remarks(&scraped, &run, &stages, client, others);
        ServerAnalysis { scraped, zero, run, stages, over_time, client, others, remarks }
    }

    /// The samples that were read.
    pub fn store(&self) -> &Store {
        &self.scraped.store
    }
}
