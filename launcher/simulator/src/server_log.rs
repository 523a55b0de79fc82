//! [I/O] The log of the simulated server, in vLLM's words, from its start until it serves. The start takes the configured times. Nothing is loaded,
//! compiled or captured, and the version in the log names the simulator.
//!
//! Every duration in the log was measured. A step that takes no time is omitted, except for loading the model, which every server does.

use std::{fmt, net::SocketAddr, time::Duration};

use jiff::{SignedDuration, Zoned};

use super::{options::SimOptions, route};
use clock::Clock;

/// The release of vLLM that the log imitates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogRelease {
    /// vLLM 0.16.
    V0_16,
    /// vLLM 0.32.
    #[default]
    V0_32,
}

impl LogRelease {
    fn version(self) -> &'static str {
        // The part after `+` marks the simulator. It is a local version, as in builds from source.
        match self {
            LogRelease::V0_16 => "0.16.0+simulator",
            LogRelease::V0_32 => "0.32.0+simulator",
        }
    }

    /// The name of the process with the engine.
    fn engine(self) -> &'static str {
        match self {
            LogRelease::V0_16 => "EngineCore_DP0",
            LogRelease::V0_32 => "EngineCore",
        }
    }

    /// The name of the process that loads the model and computes. In releases without separate worker processes, it is the name of the engine.
    fn worker(self) -> &'static str {
        match self {
            LogRelease::V0_16 => "EngineCore_DP0",
            LogRelease::V0_32 => "Worker",
        }
    }
}

/// The format of a server's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogForm {
    /// The release that the log imitates.
    pub release: LogRelease,
    /// Whether the server runs on a CPU. It then compiles during its warm-up, and captures no graphs.
    pub on_cpu: bool,
    /// Whether the log contains lines of level DEBUG.
    pub debug: bool,
}

/// How long the steps of a start take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartTimes {
    /// Time to load the weights.
    pub load: Duration,
    /// Time to compile. The first quarter is Dynamo's, the rest is Inductor's. On a CPU it is the warm-up.
    pub compile: Duration,
    /// Time to capture CUDA graphs. A server on a CPU captures none.
    pub graph_capture: Duration,
}

/// Writes the log of a server.
pub struct ServerLog {
    form: LogForm,
    clock: Clock,
    /// The time of day at time zero of `clock`.
    zero: Zoned,
    pid: u32,
    write: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for ServerLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServerLog").field("form", &self.form).finish_non_exhaustive()
    }
}

const SERVER: &str = "APIServer";

impl ServerLog {
    /// Creates a log. `zero` is the time of day at time zero of `clock`, in the time zone of the log. `write` gets one line at a time, without its
    /// line end.
    pub fn new(form: LogForm, clock: Clock, zero: Zoned, write: impl Fn(&str) + Send + Sync + 'static) -> ServerLog {
        ServerLog { form, clock, zero, pid: std::process::id(), write: Box::new(write) }
    }

    /// Starts the server: waits for the time of each step, and writes vLLM's lines until it serves. `address` is where it will listen.
    pub async fn start(&self, options: &SimOptions, times: &StartTimes, address: SocketAddr) {
        let release = self.form.release;
        self.announce(options, address);
        let model = &options.model;
        let engine = release.engine();
        self.debug(engine, "Waiting for init message from front-end.");
        let config = format!(
            "model={}, speculative_config=None, load_format=dummy, tensor_parallel_size=1, seed={}",
            python(model),
            options.seed.0
        );
        self.info(engine, &format!("Initializing a V1 LLM engine (v{}) with config: {config}", release.version()));
        self.load(model, times.load).await;
        let loaded = self.clock.now();
        self.compile(times.compile).await;
        self.describe_cache(options);
        if !times.graph_capture.is_zero() {
            let took = self.take(times.graph_capture).await;
            let seconds = took.as_secs();
            self.info(release.worker(), &format!("Graph capturing finished in {seconds} secs, took 0.00 GiB"));
        }
        let unit = if release == LogRelease::V0_16 { "seconds" } else { "s" };
        let took = seconds(self.clock.now().saturating_sub(loaded));
        self.info(engine, &format!("init engine (profile, create kv cache, warmup model) took {took} {unit}"));
        self.serve(options, address);
    }

    /// Writes the lines before the engine starts: the version, the arguments and the model.
    fn announce(&self, options: &SimOptions, address: SocketAddr) {
        if !self.form.on_cpu {
            self.debug(SERVER, "No plugins for group vllm.platform_plugins found.");
            self.debug(SERVER, "Automatically detected platform cuda.");
        }
        self.debug(SERVER, "Available plugins for group vllm.general_plugins:");
        let model = &options.model;
        let version = self.form.release.version();
        for line in [
            String::new(),
            "       █     █     █▄   ▄█".to_owned(),
            format!(" ▄▄ ▄█ █     █     █ ▀▄▀ █  version {version}"),
            format!("  █▄█▀ █     █     █     █  model   {model}"),
            "   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀".to_owned(),
            String::new(),
        ] {
            self.info(SERVER, &line);
        }
        let name = python(model);
        let (host, port) = (python(&address.ip().to_string()), address.port());
        let most = options.max_model_len;
        let sleep_mode = if options.sleep_mode.is_some() { ", 'enable_sleep_mode': True" } else { "" };
        self.info(
            SERVER,
            &format!(
                "non-default args: {{'model_tag': {name}, 'host': {host}, 'port': {port}, 'model': {name}, 'max_model_len': {most}, \
                 'load_format': 'dummy', 'served_model_name': [{name}]{sleep_mode}}}"
            ),
        );
        self.info(SERVER, &format!("Using max model len {most}"));
    }

    async fn load(&self, model: &str, length: Duration) {
        let worker = self.form.release.worker();
        self.info(worker, &format!("Starting to load model {model}..."));
        let took = self.take(length).await;
        self.info(worker, &format!("Loading weights took {} seconds", seconds(took)));
        if !self.form.on_cpu {
            let took = took.as_secs_f64();
            self.info(worker, &format!("Model loading took 0.0 GiB memory and {took:.6} seconds"));
        }
    }

    async fn compile(&self, length: Duration) {
        let worker = self.form.release.worker();
        if self.form.on_cpu {
            self.info(worker, "Warming up model for the compilation...");
            self.take(length).await;
            self.info(worker, "Warming up done.");
            return;
        }
        if length.is_zero() {
            return;
        }
        self.info(worker, "Using no cache directory, because nothing is compiled, for vLLM's torch.compile");
        let dynamo = self.take(length / 4).await;
        self.info(worker, &format!("Dynamo bytecode transform time: {} s", seconds(dynamo)));
        let inductor = self.take(length - length / 4).await;
        let verb = if self.form.release == LogRelease::V0_16 { "takes" } else { "took" };
        self.info(worker, &format!("torch.compile {verb} {} s in total", seconds(dynamo + inductor)));
    }

    fn describe_cache(&self, options: &SimOptions) {
        let engine = self.form.release.engine();
        let tokens = u64::from(options.num_gpu_blocks - 1) * u64::from(options.block_size);
        let most = options.max_model_len;
        let size = format!("KV cache size: {} tokens", grouped(tokens));
        let concurrency = format!(
            "Maximum concurrency for {} tokens per request: {:.2}x",
            grouped(u64::from(most)),
            tokens as f64 / f64::from(most)
        );
        match self.form.release {
            // vLLM 0.16 names a GPU even if it runs on a CPU.
            LogRelease::V0_16 => {
                self.info(engine, &format!("GPU {size}"));
                self.info(engine, &concurrency);
            }
            LogRelease::V0_32 => {
                let device = if self.form.on_cpu { "CPU" } else { "GPU" };
                self.info(engine, &format!("{device} {size}, {concurrency}"));
            }
        }
    }

    /// Writes the lines of the API server.
    fn serve(&self, options: &SimOptions, address: SocketAddr) {
        let starting = match self.form.release {
            LogRelease::V0_16 => "Starting vLLM API server 0 on",
            LogRelease::V0_32 => "Starting vLLM server on",
        };
        self.info(SERVER, &format!("{starting} http://{address}"));
        self.info(SERVER, "Available routes are:");
        for (path, methods) in route::listed(options) {
            self.info(SERVER, &format!("Route: {path}, Methods: {methods}"));
        }
        let pid = self.pid;
        for text in [
            format!("Started server process [{pid}]"),
            "Waiting for application startup.".to_owned(),
            "Application startup complete.".to_owned(),
        ] {
            // Uvicorn's lines have no time stamp.
            match self.form.release {
                LogRelease::V0_16 => (self.write)(&format!("({SERVER} pid={pid}) INFO:     {text}")),
                LogRelease::V0_32 => (self.write)(&format!("INFO:     {text}")),
            }
        }
    }

    /// Logs that the server fell asleep.
    pub(super) fn fell_asleep(&self, took: Duration) {
        let (engine, worker) = (self.form.release.engine(), self.form.release.worker());
        if !self.form.on_cpu {
            self.info(worker, "Sleep mode freed 0.00 GiB memory, 0.00 GiB memory is still in use.");
        }
        self.info(engine, &format!("It took {:.6} seconds to fall asleep.", took.as_secs_f64()));
    }

    /// Logs that these parts of the server woke up.
    pub(super) fn woke_up(&self, took: Duration, tags: &[&str]) {
        let tags: Vec<String> = tags.iter().map(|it| python(it)).collect();
        let text = format!("It took {:.6} seconds to wake up tags {{{}}}.", took.as_secs_f64(), tags.join(", "));
        self.info(self.form.release.engine(), &text);
    }

    /// Waits for `length`, and returns the measured time.
    async fn take(&self, length: Duration) -> Duration {
        let began = self.clock.now();
        if !length.is_zero() {
            // The future never completes, so only the time limit ends this wait.
            let _ = clock::limit(length, std::future::pending::<()>()).await;
        }
        self.clock.now().saturating_sub(began)
    }

    fn debug(&self, process: &str, message: &str) {
        if self.form.debug {
            self.line(process, "DEBUG", message);
        }
    }

    fn info(&self, process: &str, message: &str) {
        self.line(process, "INFO", message);
    }

    /// Writes a line. The simulator is a single process, which logs under the names of vLLM's processes, with one process id.
    fn line(&self, process: &str, level: &str, message: &str) {
        let passed = SignedDuration::try_from(self.clock.now()).unwrap_or(SignedDuration::MAX);
        let now = self.zero.saturating_add(passed);
        let pid = self.pid;
        (self.write)(&format!(
            "({process} pid={pid}) {level} {} [simulator:0] {message}",
            now.strftime("%m-%d %H:%M:%S")
        ));
    }
}

/// Formats seconds like vLLM.
fn seconds(length: Duration) -> String {
    format!("{:.2}", length.as_secs_f64())
}

/// Formats a text as a Python string literal.
fn python(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Formats a number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use crds::benchmark_run::SimulatorPreset;
    use jiff::{civil::date, tz::TimeZone};
    use startup::{Figure, Outcome, Startup, StepName};

    use super::*;

    /// Starts a server on the runtime's clock, and returns its log.
    async fn log_of(form: LogForm, options: &SimOptions, times: &StartTimes) -> String {
        let lines: Arc<Mutex<String>> = Arc::default();
        let written = Arc::clone(&lines);
        let write = move |line: &str| *written.lock().unwrap() += &format!("{line}\n");
        let zero = date(2026, 12, 31).at(23, 59, 55, 0).to_zoned(TimeZone::UTC).unwrap();
        let log = ServerLog::new(form, Clock::from_runtime(), zero, write);
        log.start(options, times, SocketAddr::from(([127, 0, 0, 1], 8000))).await;
        drop(log);
        Arc::into_inner(lines).unwrap().into_inner().unwrap()
    }

    fn read(log: &str) -> Startup {
        let reference = date(2027, 1, 1).at(1, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap();
        startup::read_bytes(log.as_bytes(), &reference)
    }

    const TIMES: StartTimes = StartTimes {
        load: Duration::from_secs(5),
        compile: Duration::from_secs(8),
        graph_capture: Duration::from_secs(3),
    };

    /// Checks the steps in a log, and their seconds.
    #[track_caller]
    fn assert_steps(log: &str, expected: &[(StepName, f64)]) {
        let steps: Vec<_> = read(log).steps.iter().map(|it| (it.name, it.seconds)).collect();
        assert_eq!(steps, expected, "{log}");
    }

    #[track_caller]
    fn assert_figure(log: &str, figure: Figure, expected: Option<f64>) {
        assert_eq!(read(log).figures.get(&figure).copied(), expected, "{figure:?} in\n{log}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_has_the_steps_that_were_asked_for() {
        let options = SimOptions::preset(SimulatorPreset::Gpu);
        for (release, version) in [(LogRelease::V0_16, "0.16.0+simulator"), (LogRelease::V0_32, "0.32.0+simulator")] {
            let log = log_of(LogForm { release, ..LogForm::default() }, &options, &TIMES).await;
            let found = read(&log);
            assert_eq!((found.outcome, found.version.as_deref()), (Outcome::Ready, Some(version)), "{log}");
            assert_eq!(
                (found.model.as_deref(), found.load_format.as_deref()),
                (Some("sim-8b"), Some("dummy")),
                "{log}"
            );
            assert_eq!(found.ready_seconds, Some(16.0), "the start goes on over New Year: {log}");
            assert_eq!(found.log.notices, Vec::<String>::new(), "{log}");
            assert_eq!(found.args.unwrap()["port"], 8000, "{log}");
            assert_steps(
                &log,
                &[
                    (StepName::GetModelInfo, 0.0),
                    (StepName::WorkerInitialization, 0.0),
                    (StepName::ModelLoading, 5.0),
                    (StepName::PytorchCompilation, 8.0),
                    (StepName::Dynamo, 2.0),
                    (StepName::Inductor, 6.0),
                    (StepName::CudaGraphCapture, 3.0),
                    (StepName::ApiServerStarts, 0.0),
                ],
            );
            assert_figure(&log, Figure::WeightsLoadSeconds, Some(5.0));
            assert_figure(&log, Figure::ModelSizeGib, Some(0.0));
            assert_figure(&log, Figure::TorchCompileSeconds, Some(8.0));
            assert_figure(&log, Figure::GraphCaptureSeconds, Some(3.0));
            assert_figure(&log, Figure::EngineInitSeconds, Some(11.0));
            assert_figure(&log, Figure::KvCacheTokens, Some(24_999.0 * 16.0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cpu_compiles_in_its_warm_up() {
        let options = SimOptions::preset(SimulatorPreset::Tiny);
        let times = StartTimes { graph_capture: Duration::ZERO, ..TIMES };
        for release in [LogRelease::V0_16, LogRelease::V0_32] {
            let log = log_of(LogForm { release, on_cpu: true, debug: false }, &options, &times).await;
            assert_steps(
                &log,
                &[
                    (StepName::GetModelInfo, 0.0),
                    (StepName::WorkerInitialization, 0.0),
                    (StepName::ModelLoading, 5.0),
                    (StepName::WarmUp, 8.0),
                    (StepName::ApiServerStarts, 0.0),
                ],
            );
            assert_figure(&log, Figure::ModelSizeGib, None);
            assert_figure(&log, Figure::KvCacheTokens, Some(8_191.0 * 128.0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn debug_has_the_steps_before_the_arguments() {
        let options = SimOptions { model: r"it's a \ model".into(), ..SimOptions::default() };
        let log = log_of(LogForm { debug: true, ..LogForm::default() }, &options, &StartTimes::default()).await;
        assert_steps(
            &log,
            &[
                (StepName::DetectPlatform, 0.0),
                (StepName::LlmImports, 0.0),
                (StepName::GetModelInfo, 0.0),
                (StepName::WorkerInitialization, 0.0),
                (StepName::ModelLoading, 0.0),
                (StepName::ApiServerStarts, 0.0),
            ],
        );
        assert_eq!(read(&log).model.as_deref(), Some(r"it's a \ model"));
        assert!(
            !log.contains("torch.compile") && !log.contains("Graph capturing"),
            "what takes no time is not done: {log}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_routes_are_those_that_the_server_has() {
        let log = log_of(LogForm::default(), &SimOptions::default(), &StartTimes::default()).await;
        assert!(log.contains("] Route: /v1/completions, Methods: POST\n"), "{log}");
        assert!(!log.contains("/start_profile"), "{log}");
        let profiled = SimOptions { profiler_dir: Some("/traces".into()), ..SimOptions::default() };
        let log = log_of(LogForm::default(), &profiled, &StartTimes::default()).await;
        assert!(log.contains("] Route: /start_profile, Methods: POST\n"), "{log}");
    }

    #[test]
    fn numbers_have_groups_of_three_digits() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_048_576, "1,048,576")] {
            assert_eq!(grouped(number), text);
        }
    }
}
