//! Tests with a collector that accepts connections but never responds. The clock is paused, so all times are virtual.

use std::{sync::Arc, time::Duration};

use kube::{core::ObjectMeta, runtime::controller::Action};
use operator::{
    metrics::Metrics,
    traces::{self, Traces},
};
use tokio::{net::TcpListener, time::Instant};
use tracing_subscriber::layer::SubscriberExt as _;

/// More turns than the queue and one batch can hold together.
const TURNS: usize = 5_000;
const LIMIT: Duration = Duration::from_secs(3);

fn dropped(metrics: &Metrics) -> usize {
    let text = metrics.text();
    let count = text.lines().find_map(|it| it.strip_prefix("benchwright_operator_dropped_spans_total "));
    count.and_then(|it| it.parse().ok()).expect("the metric is a number")
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_never_answers_delays_neither_turns_nor_the_end() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let endpoint = traces::endpoint(Some(&endpoint), |_| None)?.expect("the flag is set");
    let traces = Traces::new(&endpoint)?;
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(traces.layer()));
    let metrics = Arc::<Metrics>::default();
    let sending = traces.start(Arc::clone(&metrics));

    let began = Instant::now();
    for number in 0..TURNS {
        let run = ObjectMeta { name: Some(format!("run-{number}")), ..ObjectMeta::default() };
        traces::turn(&run, async { Ok(Action::await_change()) }).await?;
    }
    assert_eq!(began.elapsed(), Duration::ZERO, "no turn has waited");
    // Each request times out after ten seconds.
    while dropped(&metrics) < TURNS / 2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    traces::turn(&ObjectMeta::default(), async { Ok(Action::await_change()) }).await?;
    let ends = Instant::now();
    sending.end(LIMIT).await;
    assert!(ends.elapsed() <= LIMIT, "{:?}", ends.elapsed());
    traces::turn(&ObjectMeta::default(), async { Ok(Action::await_change()) }).await?;
    Ok(())
}
