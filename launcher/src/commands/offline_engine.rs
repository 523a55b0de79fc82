//! [I/O] `benchwright offline-engine`: serves vLLM's LLM class, without vLLM's API server.

use std::{
    ffi::OsString,
    io,
    net::{IpAddr, SocketAddr},
};

use clap::Args;
use launcher::console;
use offline_engine::{OfflineEngineError, Options};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Engine(#[from] OfflineEngineError),
    #[error("cannot listen on {address}: {source}; choose another --host or --port")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot start an event loop: {0}; raise the limit of open files (ulimit -n), or give it more memory")]
    Runtime(io::Error),
}

/// The arguments of `benchwright offline-engine`: its own come before the model, and vLLM's arguments after it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  benchwright offline-engine meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096")]
pub(crate) struct OfflineEngineArgs {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,

    /// The port to listen on. With 0 the system chooses a free one; the first line on stdout contains it.
    #[arg(long, default_value_t = 8000)]
    port: u16,

    /// The Python that has vLLM.
    #[arg(long, env = "BENCHWRIGHT_PYTHON", default_value = "python3")]
    python: OsString,

    /// The model: its name on a hub, or its path.
    model: String,

    /// Further arguments, as `vllm serve` takes them, such as --max-model-len 4096. If --served-model-name has several names, the first counts.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Serves until a signal arrives or the engine ends.
pub(crate) fn run(args: OfflineEngineArgs) -> Result<(), CommandError> {
    let OfflineEngineArgs { host, port, python, model, arguments } = args;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CommandError::Runtime)?;
    runtime.block_on(async {
        let address = SocketAddr::from((host, port));
        let listening = |source| CommandError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let mut ends = signal(SignalKind::terminate()).map_err(CommandError::Runtime)?;
        let mut interrupts = signal(SignalKind::interrupt()).map_err(CommandError::Runtime)?;
        let shutdown = async {
            tokio::select! { _ = ends.recv() => {} _ = interrupts.recv() => {} }
        };
        let text =
            format!("vLLM's engine with {model}, without vLLM's own API server: http://{address}/v1/completions\n");
        if let Err(error) = console::print(text) {
            tracing::warn!(%error, "the address was not printed");
        }
        let served = served_name(&arguments).unwrap_or_else(|| model.clone());
        let all = [OsString::from(model)].into_iter().chain(arguments).collect();
        let options = Options { python, arguments: all, model: served };
        Ok(offline_engine::serve(options, listener, shutdown).await?)
    })
}

/// The served model name in the arguments of vLLM.
fn served_name(arguments: &[OsString]) -> Option<String> {
    let texts: Vec<&str> = arguments.iter().filter_map(|it| it.to_str()).collect();
    let at = texts.iter().position(|it| it.starts_with("--served-model-name"))?;
    let name = texts[at].split_once('=').map(|it| it.1).or_else(|| texts.get(at + 1).copied())?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_model_is_that_which_vllm_is_given() {
        let name = |arguments: &[&str]| served_name(&arguments.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(name(&["--max-model-len", "5"]), None);
        assert_eq!(name(&["--seed", "5", "--served-model-name", "a", "b"]).as_deref(), Some("a"));
        assert_eq!(name(&["--served-model-name=a"]).as_deref(), Some("a"));
        assert_eq!(name(&["--served-model-name"]), None);
    }
}
