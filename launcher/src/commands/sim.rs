//! [I/O] `benchwright sim`: serves a simulated vLLM.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::{Args, ValueEnum};
use clock::Clock;
use crds::{
    benchmark_run::SimulatorPreset,
    resolve::DEV_MODE,
    units::{Seed, Span},
};
use jiff::tz::TimeZone;
use launcher::console;
use simulator::{
    LogForm, LogRelease, OptionError, ServerLog, SimOptions, Simulator, SleepMode, StartTimes,
    faults::{Fault, FaultKind},
};
use tokio::{
    net::TcpSocket,
    signal::unix::{SignalKind, signal},
};
use tracing::{info, warn};

use super::preset::PresetArg;

/// The error number for too many open files in a process.
const EMFILE: i32 = rustix::io::Errno::MFILE.raw_os_error();
/// Maximum number of connections that wait to be accepted. tokio's own listeners have the same limit.
const BACKLOG: u32 = 1024;
/// The environment variable with vLLM's log level.
const LOG_LEVEL: &str = "VLLM_LOGGING_LEVEL";

#[derive(Debug, thiserror::Error)]
pub(crate) enum SimError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("cannot listen on {address}; choose another --host or --port")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot start an event loop; raise the limit of open files (ulimit -n), or give it more memory")]
    Runtime(#[source] io::Error),
}

/// The texts of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum StartupLogArg {
    /// No log of the start.
    None,
    /// The texts of vLLM 0.16.
    #[value(name = "vllm-0.16")]
    Vllm016,
    /// The texts of vLLM 0.32.
    #[default]
    #[value(name = "vllm-0.32")]
    Vllm032,
}

/// The arguments of `benchwright sim`. An argument that is left out has the value of the preset.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  benchwright sim --port 8000
  benchwright sim --ttft 200ms --itl 20ms --fail-status 503 --fail-ratio 0.01")]
pub(crate) struct SimArgs {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,

    /// The port to listen on. With 0 the system chooses a free one; the first line on stdout contains it.
    #[arg(long, default_value_t = 8000)]
    port: u16,

    /// Number of threads that serve connections. All share one simulated engine.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,

    /// The server to simulate.
    #[arg(long, value_enum, ignore_case = true, default_value_t)]
    preset: PresetArg,

    /// The name under which the model is served.
    #[arg(long)]
    model: Option<String>,

    /// Names of LoRA adapters, served as further models; may be given several times.
    #[arg(long = "lora-module", value_name = "NAME")]
    lora_modules: Vec<String>,

    /// The seed of lengths, words, jitter and faults.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Time to the first token of a single request, for prompts of any length, such as 100ms. At least `--itl`.
    #[arg(long, value_name = "DURATION", help_heading = "Speed")]
    ttft: Option<Span>,

    /// Time between two tokens, for batches of any size, such as 10ms.
    #[arg(long, value_name = "DURATION", help_heading = "Speed")]
    itl: Option<Span>,

    /// Half the width of the random factor on each step, from 0 to less than 1.
    #[arg(long, help_heading = "Speed")]
    jitter: Option<f64>,

    /// Maximum number of sequences in a batch.
    #[arg(long, help_heading = "Engine")]
    max_num_seqs: Option<u32>,

    /// Maximum number of tokens that one step computes.
    #[arg(long, help_heading = "Engine")]
    max_num_batched_tokens: Option<u32>,

    /// Maximum number of tokens of prompt and answer together.
    #[arg(long, help_heading = "Engine")]
    max_model_len: Option<u32>,

    /// Number of tokens in a block of the KV cache.
    #[arg(long, help_heading = "Engine")]
    block_size: Option<u32>,

    /// Number of blocks in the KV cache, including one reserved block.
    #[arg(long, value_name = "BLOCKS", help_heading = "Engine")]
    num_gpu_blocks_override: Option<u32>,

    /// Keep the blocks of finished requests for prompts with the same beginning. This is the default.
    #[arg(long, overrides_with = "no_enable_prefix_caching", help_heading = "Engine")]
    enable_prefix_caching: bool,

    /// Compute every prompt in full.
    #[arg(long, overrides_with = "enable_prefix_caching", help_heading = "Engine")]
    no_enable_prefix_caching: bool,

    /// Report in the usage of each answer how many prompt tokens came from the prefix cache.
    #[arg(long, help_heading = "Engine")]
    enable_prompt_tokens_details: bool,

    /// The mean length in tokens of answers that end by themselves.
    #[arg(long, help_heading = "Speed")]
    mean_output_tokens: Option<u32>,

    /// How long the load of the model takes, such as 30s. The port is closed until the server has started. Nothing is loaded.
    #[arg(long, value_name = "DURATION", help_heading = "Start and sleep")]
    load_time: Option<Span>,

    /// How long the compilation takes; with the preset tiny the warm-up of a CPU.
    #[arg(long, value_name = "DURATION", help_heading = "Start and sleep")]
    compile_time: Option<Span>,

    /// How long the capture of CUDA graphs takes.
    #[arg(long, value_name = "DURATION", help_heading = "Start and sleep")]
    graph_capture_time: Option<Span>,

    /// Have vLLM's endpoints /sleep, /wake_up, /is_sleeping and /collective_rpc (reload_weights). As in vLLM they need the variable
    /// VLLM_SERVER_DEV_MODE=1, too.
    #[arg(long, help_heading = "Start and sleep")]
    enable_sleep_mode: bool,

    /// How long the server takes to fall asleep.
    #[arg(long, value_name = "DURATION", requires = "enable_sleep_mode", help_heading = "Start and sleep")]
    sleep_time: Option<Span>,

    /// How long it takes to wake up. After a sleep of level 2 the weights are loaded again; this takes --load-time.
    #[arg(long, value_name = "DURATION", requires = "enable_sleep_mode", help_heading = "Start and sleep")]
    wake_up_time: Option<Span>,

    /// The vLLM release that the start log on stderr imitates. VLLM_LOGGING_LEVEL=DEBUG adds the lines of level DEBUG.
    #[arg(long, value_enum, value_name = "RELEASE", default_value_t, help_heading = "Start and sleep")]
    startup_log: StartupLogArg,

    /// The folder for the traces of `/start_profile` and `/stop_profile`. Without it these paths do not exist, as in vLLM.
    #[arg(long, value_name = "DIR", help_heading = "Engine")]
    profiler_dir: Option<PathBuf>,

    /// Fault: answer generation requests with this status.
    #[arg(long, value_name = "CODE", group = "fault", value_parser = clap::value_parser!(u16).range(400..=599), help_heading = "Faults")]
    fail_status: Option<u16>,

    /// Fault: close the connection of a stream after this many tokens.
    #[arg(long, value_name = "TOKENS", group = "fault", help_heading = "Faults")]
    break_after_tokens: Option<u32>,

    /// Fault: stop sending on a stream after this many tokens, and leave the connection open.
    #[arg(long, value_name = "TOKENS", group = "fault", help_heading = "Faults")]
    stall_after_tokens: Option<u32>,

    /// Fault: accept connections and never answer any request.
    #[arg(long, group = "fault", help_heading = "Faults")]
    hang: bool,

    /// The share of requests with the fault, from 0 to 1.
    #[arg(long, default_value_t = 1.0, requires = "fault", help_heading = "Faults")]
    fail_ratio: f64,
}

impl SimArgs {
    /// Returns the options of the preset, with the values from the arguments.
    fn options(&self) -> Result<SimOptions, OptionError> {
        let mut options = SimOptions::preset(self.preset.into());
        let costs = &mut options.costs;
        if let Some(Span(itl)) = self.itl {
            costs.base = itl;
            costs.per_sequence = Duration::ZERO;
            costs.per_context_token = Duration::ZERO;
        }
        if let Some(ttft) = self.ttft {
            costs.per_prefill_token = Duration::ZERO;
            costs.per_prompt = ttft.0.checked_sub(costs.base + costs.per_sequence).ok_or_else(|| OptionError {
                option: "ttft",
                found: ttft.to_string(),
                wanted: "at least the time between tokens; lower --itl",
            })?;
        }
        let overrides = [
            (&mut options.max_num_seqs, self.max_num_seqs),
            (&mut options.max_num_batched_tokens, self.max_num_batched_tokens),
            (&mut options.max_model_len, self.max_model_len),
            (&mut options.mean_output_tokens, self.mean_output_tokens),
            (&mut options.block_size, self.block_size),
            (&mut options.num_gpu_blocks, self.num_gpu_blocks_override),
        ];
        for (option, value) in overrides {
            *option = value.unwrap_or(*option);
        }
        options.costs.jitter = self.jitter.unwrap_or(options.costs.jitter);
        options.model = self.model.clone().unwrap_or(options.model);
        options.lora_modules.clone_from(&self.lora_modules);
        options.seed = Seed(self.seed);
        options.prefix_caching = !self.no_enable_prefix_caching;
        options.prompt_tokens_details = self.enable_prompt_tokens_details;
        options.profiler_dir.clone_from(&self.profiler_dir);
        options.fault = self.fault();
        if self.enable_sleep_mode && std::env::var(DEV_MODE).is_ok_and(|it| it == "1") {
            let length = |it: Option<Span>| it.map_or(Duration::ZERO, |it| it.0);
            let (sleep, wake_up) = (length(self.sleep_time), length(self.wake_up_time));
            options.sleep_mode = Some(SleepMode { sleep, wake_up, reload: length(self.load_time) });
        }
        options.check()?;
        Ok(options)
    }

    fn on_cpu(&self) -> bool {
        SimulatorPreset::from(self.preset) == SimulatorPreset::Tiny
    }

    fn times(&self) -> Result<StartTimes, OptionError> {
        let length = |it: Option<Span>| it.map_or(Duration::ZERO, |it| it.0);
        let times = StartTimes {
            load: length(self.load_time),
            compile: length(self.compile_time),
            graph_capture: length(self.graph_capture_time),
        };
        if self.on_cpu() && !times.graph_capture.is_zero() {
            let found = self.graph_capture_time.unwrap_or_default().to_string();
            let wanted = "left out with the preset tiny, which simulates a CPU and captures no graphs";
            return Err(OptionError { option: "graph-capture-time", found, wanted });
        }
        Ok(times)
    }

    /// Returns the log that this process writes.
    fn log(&self) -> ServerLog {
        let release = match self.startup_log {
            StartupLogArg::Vllm016 => LogRelease::V0_16,
            StartupLogArg::None | StartupLogArg::Vllm032 => LogRelease::V0_32,
        };
        let debug = std::env::var(LOG_LEVEL).is_ok_and(|it| it.eq_ignore_ascii_case("debug"));
        let form = LogForm { release, on_cpu: self.on_cpu(), debug };
        let is_written = self.startup_log != StartupLogArg::None;
        let write = move |line: &str| {
            if is_written {
                console::say(line);
            }
        };
        ServerLog::new(form, Clock::start(), clock::now().to_zoned(TimeZone::system()), write)
    }

    fn fault(&self) -> Option<Fault> {
        let kind = (self.fail_status.map(FaultKind::Status))
            .or(self.break_after_tokens.map(FaultKind::BreakAfter))
            .or(self.stall_after_tokens.map(FaultKind::StallAfter))
            .or(self.hang.then_some(FaultKind::Hang))?;
        Some(Fault { kind, ratio: self.fail_ratio })
    }
}

/// Serves until SIGTERM or SIGINT. The first line on stdout contains the URL.
///
/// The threads share the connections and one simulated engine: one batch, one cache, one set of metrics.
pub(crate) fn run(args: SimArgs) -> Result<(), SimError> {
    let (options, times) = (args.options()?, args.times()?);
    let mut builder = match args.threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        threads => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(usize::from(threads)).thread_name("simulator");
            builder
        }
    };
    let runtime = builder.enable_all().build().map_err(SimError::Runtime)?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(SimError::Runtime)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(SimError::Runtime)?;
        let address = SocketAddr::new(args.host, args.port);
        let failed = |source: io::Error| match source.raw_os_error() {
            // There are too many open files, so another port would not help.
            Some(EMFILE) => SimError::Runtime(source),
            _ => SimError::Listen { address, source },
        };
        let socket = bound(address).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let log = args.log();
        // As in vLLM, connections are refused until the server has started.
        tokio::select! {
            () = log.start(&options, &times, address) => {}
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        }
        let listener = socket.listen(BACKLOG).map_err(failed)?;
        // The server continues even if nobody reads its stdout.
        if let Err(error) = console::print(format!("{} is served at http://{address}\n", options.model)) {
            warn!(%error, %address, "the address was not printed");
        }
        let shutdown = async {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            info!("a signal asked the server to end; running requests are aborted");
        };
        Simulator::logging(options, log).serve(listener, shutdown).await;
        Ok(())
    })
}

/// Returns a socket that is bound to this address but does not listen yet.
fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Without this option, the port of a server that has just ended would still be in use.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use simulator::latency::{Latency, StepLoad};

    use crds::benchmark_run::SimulatorPreset;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        sim: SimArgs,
    }

    fn parse(line: &str) -> Result<SimOptions, String> {
        let words = std::iter::once("sim").chain(line.split_whitespace());
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        cli.sim.options().map_err(|error| error.to_string())
    }

    #[test]
    fn without_arguments_it_is_the_gpu_preset() {
        assert_eq!(parse("").unwrap(), SimOptions::preset(SimulatorPreset::Gpu));
    }

    #[test]
    fn ttft_and_itl_are_what_a_lone_request_sees() {
        assert_eq!(parse("--preset GPU").unwrap(), parse("--preset gpu").unwrap(), "as a BenchmarkRun writes it");
        let options = parse("--preset gpu --ttft 120ms --itl 20ms --jitter 0 --model m --seed 3").unwrap();
        assert_eq!((options.model.as_str(), options.seed), ("m", Seed(3)));
        let mut latency = Latency::new(options.costs, options.seed);
        let first = StepLoad { prompts: 1, prefill_tokens: 999, sequences: 1, context_tokens: 0 };
        let later = StepLoad { prompts: 0, prefill_tokens: 0, sequences: 1, context_tokens: 999 };
        assert_eq!(latency.step(&first), Duration::from_millis(120));
        assert_eq!(latency.step(&later), Duration::from_millis(20));
    }

    #[test]
    fn the_prefix_cache_has_the_flags_of_vllm() {
        let caching = |line| parse(line).unwrap().prefix_caching;
        assert!(caching("") && caching("--enable-prefix-caching"));
        assert!(!caching("--no-enable-prefix-caching"));
        assert!(!caching("--enable-prefix-caching --no-enable-prefix-caching"));
        assert!(caching("--no-enable-prefix-caching --enable-prefix-caching"));
        let line = "--block-size 32 --num-gpu-blocks-override 2000 --enable-prompt-tokens-details";
        let options = parse(line).unwrap();
        assert_eq!((options.block_size, options.num_gpu_blocks, options.prompt_tokens_details), (32, 2_000, true));
    }

    #[test]
    fn faults_take_a_ratio_and_exclude_each_other() {
        let options = parse("--fail-status 503 --fail-ratio 0.25").unwrap();
        assert_eq!(options.fault, Some(Fault { kind: FaultKind::Status(503), ratio: 0.25 }));
        assert!(parse("--fail-status 503 --hang").unwrap_err().contains("cannot be used with"));
        assert!(parse("--fail-status 200").unwrap_err().contains("400..=599"));
        assert!(parse("--fail-ratio 0.5").unwrap_err().contains("required"));
        assert!(parse("--hang --fail-ratio 1.5").unwrap_err().contains("fail-ratio is 1.5"));
    }

    #[test]
    fn a_start_takes_no_time_unless_it_is_asked_to() {
        let times = |line: &str| {
            let words = std::iter::once("sim").chain(line.split_whitespace());
            Cli::try_parse_from(words).unwrap().sim.times().map_err(|error| error.to_string())
        };
        assert_eq!(times(""), Ok(StartTimes::default()));
        let seconds = Duration::from_secs;
        let expected = StartTimes { load: seconds(30), compile: seconds(20), graph_capture: seconds(5) };
        assert_eq!(times("--load-time 30s --compile-time 20s --graph-capture-time 5s"), Ok(expected));
        let error = times("--preset tiny --graph-capture-time 5s").unwrap_err();
        assert!(error.starts_with("graph-capture-time is 5s; it must be left out with the preset tiny"), "{error}");
    }

    #[test]
    fn a_wrong_option_is_named() {
        for (line, expected) in [
            ("--ttft 5ms --itl 20ms", "ttft is 5ms"),
            ("--max-num-seqs 0", "max-num-seqs is 0"),
            ("--max-num-batched-tokens 100", "max-num-batched-tokens is 100"),
            ("--max-model-len 1", "max-model-len"),
            (
                "--num-gpu-blocks-override 20",
                "num-gpu-blocks-override is 20, of which one is reserved, with 16 tokens each",
            ),
            ("--block-size 0", "block-size is 0"),
            ("--threads 0", "0 is not in 1..=256"),
            ("--jitter 1", "jitter is 1"),
            ("--jitter NaN", "jitter is NaN"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
