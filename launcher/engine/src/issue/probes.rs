//! [I/O] Probes: small, evenly spaced requests beside the load of a stage, with their own tallies. They form an open loop on the first
//! worker's connections, and do not count towards the load's concurrency limit.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    task::{JoinHandle, JoinSet},
};
use workload_profiles::workload::Probes;

use super::{
    context::RequestContext,
    in_flight::{Due, RequestKind, check_join, drain, poll_and_spawn, run_request},
    prepare::Prepared,
    shared::Shared,
};
use crate::{
    client::body::{Content, Prompt},
    requests::RequestedLengths,
    stop::StopState,
};
use clock::Sleeper;

/// Maximum number of probes in flight. More would add no information about a server that has stalled.
const MAX_UNDER_WAY: usize = 1_000;

/// The running probes of one stage.
pub(super) struct Probing {
    over: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Probing {
    /// Starts the probes. The first one is sent at `start`.
    pub(super) fn start(
        context: &Arc<RequestContext>,
        sleeper: &Arc<Sleeper>,
        probes: Probes,
        stage: usize,
        start: Duration,
    ) -> Probing {
        let (over, mut ended) = oneshot::channel();
        let (context, sleeper) = (Arc::clone(context), Arc::clone(sleeper));
        let task = tokio::spawn(async move {
            let mut in_flight = JoinSet::new();
            let mut stop = context.shared.stop.watch();
            for number in 0_u64.. {
                let due = start + Duration::from_secs_f64(number as f64 / probes.rate.per_second());
                // A probe that must wait for other probes is sent late. Its send lag shows that.
                let permit = async {
                    while in_flight.len() >= MAX_UNDER_WAY {
                        in_flight.join_next().await.into_iter().for_each(check_join);
                    }
                };
                tokio::select! {
                    biased;
                    _ = &mut ended => break,
                    _ = stop.wait_for(|it| *it != StopState::Run) => break,
                    () = async { tokio::join!(sleeper.until(due), permit); } => {}
                }
                let due = Due { at: due, ..Due::default() };
                let prepared = make(&context.shared, probes, stage, number);
                poll_and_spawn(
                    &mut in_flight,
                    run_request(Arc::clone(&context), RequestKind::Probe, stage, prepared, due),
                );
                while let Some(joined) = in_flight.try_join_next() {
                    check_join(joined);
                }
            }
            drain(&context.shared, in_flight, Some((stage, start))).await;
        });
        Probing { over, task }
    }

    /// Ends the probes of a stage whose load has ended, and waits for the last answers.
    pub(super) async fn end(self) {
        // An error means that the load was stopped, so that the task has already ended.
        let _ = self.over.send(());
        check_join(self.task.await);
    }
}

fn make(shared: &Shared, probes: Probes, stage: usize, number: u64) -> Prepared {
    let began = shared.clock.now();
    let mut prompt = String::new();
    let requested = RequestedLengths { input: Some(probes.input), output: Some(probes.output), is_exact: false };
    shared.plan.probes.write(stage, number, &mut prompt);
    let body = shared.plan.template.body(&Content::new(Prompt::Text(&prompt), requested.output));
    Prepared {
        number,
        class: None,
        headers: None,
        body,
        id: shared.run_id.header(format_args!("probe-{stage}-{number}")),
        requested,
        leaves: None,
        keep_output: false,
        build: shared.clock.now().saturating_sub(began),
    }
}
