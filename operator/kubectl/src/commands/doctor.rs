//! `doctor`: checks that cluster, operator and rights meet the needs of runs.

use clap::Args;

use crate::{
    connection::Connection,
    console,
    doctor::{self, State},
    failure::Failure,
};

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright doctor --namespace team-a")]
pub(crate) struct DoctorArgs {}

/// The exit code of a check that failed.
const FAILED: u8 = 1;

pub(crate) async fn run(_: &DoctorArgs, connection: &Connection) -> Result<u8, Failure> {
    let findings = doctor::examine(connection).await;
    let has_failed = findings.iter().any(|it| it.state == State::Failed);
    console::print(doctor::text(&findings));
    Ok(if has_failed { FAILED } else { 0 })
}
