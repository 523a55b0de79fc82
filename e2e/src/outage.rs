//! An outage of the API server while runs are in progress.

use std::time::{Duration, Instant};

use anyhow::Context;
use crds::{Outcome, status::Phase};

use crate::{Cluster, Namespace, tools};

/// Maximum time until the runs end after the API server is back.
const AFTER_RETURN: Duration = Duration::from_secs(60);

/// Kills the API server for a while. One run ends during the outage, and another run continues after it. Both specs contain `validity`. Both runs
/// must end with Passed, all of their requests, and one attempt.
///
/// # Errors
/// The error of the cluster, or a run takes too long.
///
/// # Panics
/// A run ends in a different way.
pub async fn assert_runs_outlive_an_outage(outage: Duration, validity: &str) -> anyhow::Result<()> {
    let mut namespace = Namespace::new(&Cluster::with_operator().await?, "outage").await?;
    let seconds = outage.as_secs();
    // The first run must still be in progress when the outage begins.
    let runs = [("ends-during-it", seconds.div_ceil(2) + 10), ("ends-after-it", seconds + 30)];
    for (name, duration) in runs {
        let profile = format!("{{variables: {{rate: '5', duration: '{duration}'}}}}");
        let spec = format!("target: {{simulator: {{}}}}\nprofile: {profile}\nstorage: {{none: {{}}}}\n{validity}");
        namespace.create_run(name, &spec).await?;
    }
    for (name, _) in runs {
        let running = |it: &crds::BenchmarkRunStatus| it.phase == Some(Phase::Running);
        namespace.wait_for(name, "phase Running", Duration::from_secs(90), running).await?;
    }
    tools::cluster(&["api-server", "stop"])?;
    tokio::time::sleep(outage).await;
    tools::cluster(&["api-server", "start"])?;
    let returned = Instant::now();
    // The connections of this test are dead as well, so it needs a new client.
    namespace.client = Cluster::connect().await?.client;
    for (name, duration) in runs {
        let rest = Duration::from_secs(duration);
        let limit = if name == "ends-after-it" { rest + AFTER_RETURN } else { AFTER_RETURN };
        let status = namespace.wait_finished(name, limit).await?;
        let summary = status.summary.clone().context("a run that measured has figures")?;
        println!(
            "figure 15: down for {outage:?}: run {name} ended {:.1} s after the outage, send lag p99 {:?}",
            returned.elapsed().as_secs_f64(),
            summary.send_lag_p99_microseconds.map(|it| Duration::from_micros(it.into())).unwrap_or_default()
        );
        assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
        assert_eq!((summary.requests, summary.failed, status.attempts.len()), (5 * duration, 0, 1), "{status:?}");
    }
    assert_eq!(namespace.jobs().await?.len(), 2, "one attempt is one Job");
    Ok(())
}
