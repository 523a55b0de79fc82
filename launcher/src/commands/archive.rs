//! [I/O] `benchwright archive`: writes a results folder as a stream, for `kubectl benchwright results`.

use std::{
    io::{self, BufWriter},
    path::PathBuf,
};

use clap::Args;
use crds::{ExitCode, units::Span};
use launcher::console;
use tokio::signal::unix::{SignalKind, signal};

/// Buffer size of the stream, in bytes.
const BUFFER: usize = 256 << 10;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright archive results/latest > run.tar")]
pub(crate) struct ArchiveArgs {
    /// The results folder of a finished run
    #[arg(required_unless_present = "hold")]
    folder: Option<PathBuf>,
    /// Send only this file of the folder; may be given several times
    #[arg(long, value_name = "NAME", requires = "folder")]
    file: Vec<String>,
    /// Wait for this time, and do nothing else: keeps a container running, so that `kubectl benchwright results` can call this command in it
    #[arg(long, value_name = "TIME", conflicts_with = "folder")]
    hold: Option<Span>,
}

pub(crate) fn run(args: &ArchiveArgs) -> anyhow::Result<u8> {
    if let Some(time) = args.hold {
        hold(time)?;
    }
    let Some(folder) = &args.folder else { return Ok(0) };
    let out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    match archive::write(folder, &args.file, out) {
        Ok(written) => {
            for path in written.left_out {
                console::say(format_args!(
                    "benchwright: {} is not sent: it is a link, or not a regular file",
                    path.display()
                ));
            }
            Ok(0)
        }
        Err(error) => {
            console::say(format_args!("benchwright: {error}"));
            let exit = match error {
                archive::ArchiveError::Write(_) => ExitCode::Storage,
                _ => ExitCode::Configuration,
            };
            Ok(exit.code())
        }
    }
}

/// Waits until the time has passed, or until a signal arrives. Signals need this handling: the first process of a container has no default handlers.
fn hold(time: Span) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let signals = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        // Reaching the time limit is not an error.
        let _ = clock::limit(time.0, signals).await;
        Ok(())
    })
}
