//! `make scale`: measures the resource use of the operator with ten thousand runs, and how fast statuses follow. It prints a table, and writes the
//! figures as JSON and as Markdown. If a figure violates its bound, it ends with an error.

mod bench;
mod churn;
mod copies;
mod figures;
mod finished;
mod idle;
mod suspended;
mod transitions;

use bench::{Bench, Flags, Part};
use clap::Parser as _;
use e2e::control_plane::ControlPlane;
use figures::Figures;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let bench = Bench { plane: ControlPlane::connect().await? };
    let mut figures = Figures::default();
    let wanted = |part: Part| flags.parts.is_empty() || flags.parts.contains(&part);
    if wanted(Part::Suspended) {
        suspended::measure(&bench, &flags, &mut figures).await?;
    }
    if wanted(Part::Annotated) {
        suspended::measure_annotated(&bench, &flags, &mut figures).await?;
    }
    if wanted(Part::Finished) {
        finished::measure(&bench, &flags, &mut figures).await?;
    }
    if wanted(Part::Churn) {
        churn::measure(&bench, &flags, &mut figures).await?;
    }
    let table = figures.markdown();
    std::fs::write(flags.out.with_extension("json"), figures.json()?)?;
    std::fs::write(flags.out.with_extension("md"), &table)?;
    print!("{table}");
    let worse = figures.worse();
    anyhow::ensure!(worse.is_empty(), "worse than their bounds: {}", worse.join("; "));
    Ok(())
}
