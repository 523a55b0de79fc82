//! Measures whether memory grows while runs are created and deleted.

use std::time::Duration;

use e2e::control_plane::{
    operator::Operator,
    runs::{create_all, delete_all, runs_path, short, suspended},
};

use crate::{
    bench::{Bench, Flags, steady_since, wait_for_phase},
    figures::Figures,
    suspended::mib,
    transitions::Observer,
};

const SOON: Duration = Duration::from_secs(300);
/// Number of suspended runs per round.
const ROUND: usize = 1_000;
/// Number of whole runs per round.
const WHOLE_ROUND: usize = 100;

/// The operator's memory after each round.
struct Growth(Vec<f64>);

impl Growth {
    async fn look(&mut self, operator: &Operator) -> anyhow::Result<()> {
        steady_since(operator).await?;
        self.0.push(mib(operator.memory()?.resident));
        Ok(())
    }

    /// Adds the growth after the first quarter of the rounds. The first rounds do not count, because they fill pools, buffers and the allocator's
    /// free lists.
    fn add_to(&self, figures: &mut Figures, what: &str) {
        let Some((first, last)) = self.0.get(self.0.len().div_ceil(4).max(1) - 1).zip(self.0.last()) else { return };
        figures.add(&format!("{what}: resident after a quarter"), *first, "MiB");
        figures.add(&format!("{what}: resident at the end"), *last, "MiB");
        figures.add_at_most(&format!("{what}: growth between"), (last / first - 1.0) * 100.0, "%", 5.0);
    }
}

/// Measures the growth first with whole runs, and then with suspended runs.
pub async fn measure(bench: &Bench, flags: &Flags, figures: &mut Figures) -> anyhow::Result<()> {
    let client = &bench.plane.client;
    let (operator, _) = bench.start_steady().await?;
    let finished = operator.metric("benchwright_operator_runs{phase=\"Succeeded\",").await? as usize;
    bench.plane.create_namespace("whole").await?;
    let (path, mut growth) = (runs_path("whole"), Growth(Vec::new()));
    for round in 0..flags.churn_whole.div_ceil(WHOLE_ROUND) {
        let observer = Observer::start(client, "whole");
        let runs = (0..WHOLE_ROUND).map(|it| short(&format!("whole-{round:03}-{it:03}"), 1));
        create_all(client, &path, runs).await?;
        observer.wait(WHOLE_ROUND, SOON, |it| it.finished.is_some()).await?;
        delete_all(client, &path).await?;
        wait_for_phase(&operator, "Succeeded", finished, SOON).await?;
        growth.look(&operator).await?;
    }
    growth.add_to(figures, &format!("{} whole runs that came and went", flags.churn_whole));
    bench.plane.create_namespace("churn").await?;
    let (path, mut growth) = (runs_path("churn"), Growth(Vec::new()));
    for round in 0..flags.churn.div_ceil(ROUND) {
        let runs = (0..ROUND).map(|it| suspended(&format!("churn-{round:03}-{it:03}")));
        create_all(client, &path, runs).await?;
        wait_for_phase(&operator, "Suspended", ROUND, SOON).await?;
        delete_all(client, &path).await?;
        wait_for_phase(&operator, "Suspended", 0, SOON).await?;
        growth.look(&operator).await?;
    }
    growth.add_to(figures, &format!("{} suspended runs that came and went", flags.churn));
    operator.kill().await
}
