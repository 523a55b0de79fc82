//! Changes the start command of a managed server so that it can be profiled, and so that its traces are written to a given folder.

use serde_json::json;

use super::ReplicaStart;
use crate::{
    benchmark_run::ProfilerKind,
    server_engine::{ServerEngine, TraceFolder},
};

impl ReplicaStart {
    /// Returns the same start command with a profiler. `folder` is the absolute path of an existing folder for the traces of this replica. Profiler
    /// settings that the command or the environment already contains are kept, and then determine where the traces go.
    /// - Torch: sets the engine's option or environment variable.
    /// - Nsys: sets the engine's switch for CUDA's profiler, and runs the command under `nsys profile`, which records between start and stop of
    ///   CUDA's profiler. The trace is `trace.nsys-rep`. Layer ranges are only requested if CUDA graphs are off, because engines do not support both
    ///   together.
    /// - Rocprof: runs the command under `rocprofv3`, which records from the start of the server to its end.
    ///
    /// An empty command means the entry point of an image, which cannot be wrapped. [`crate::resolve`] refuses it for [`ServerEngine::Custom`]. Every
    /// other engine has a command.
    #[must_use]
    pub fn profiled(mut self, engine: ServerEngine, kind: ProfilerKind, folder: &str) -> ReplicaStart {
        let profiler = engine.row().profiler.filter(|_| kind != ProfilerKind::Rocprof);
        if let Some(profiler) = profiler {
            self.add_trace_folder(profiler.folder, kind, folder);
            if kind == ProfilerKind::Nsys
                && let Some(ranges) = profiler.layer_ranges
                && self.has_option(ranges.without_graphs)
            {
                self.add_flag(ranges.flag);
            }
        }
        if !self.command.is_empty() && !engine.is_own() {
            self.command.splice(0..0, wrapper(kind, folder));
        }
        self
    }

    fn add_trace_folder(&mut self, how: TraceFolder, kind: ProfilerKind, folder: &str) {
        let is_torch = kind == ProfilerKind::Torch;
        match how {
            TraceFolder::Config { older_variable, .. } if is_torch && self.env.contains_key(older_variable) => {}
            TraceFolder::Config { option, .. } => {
                let torch = json!({"profiler": "torch", "torch_profiler_dir": folder});
                let config = if is_torch { torch } else { json!({"profiler": "cuda"}) };
                self.add_option(option, config.to_string());
            }
            TraceFolder::Variable(variable) if is_torch => {
                self.env.entry(variable.to_owned()).or_insert_with(|| folder.to_owned());
            }
            TraceFolder::Variable(_) => {}
            TraceFolder::Option(option) => self.add_option(option, folder.to_owned()),
        }
    }

    /// Adds an option unless it is present.
    fn add_option(&mut self, name: &str, value: String) {
        if !self.has_option(name) {
            self.args.extend([format!("--{name}"), value]);
        }
    }

    /// Adds a flag unless it is present or negated.
    pub(super) fn add_flag(&mut self, name: &str) {
        if !self.has_option(name) && !self.has_option(&format!("no-{name}")) {
            self.args.push(format!("--{name}"));
        }
    }

    /// Whether an option is present: alone, with a value after `=`, or with a JSON key after a dot.
    pub(super) fn has_option(&self, name: &str) -> bool {
        let of = |arg: &String| {
            let arg = arg.strip_prefix("--")?;
            Some(arg.split(['=', '.']).next()?.replace('_', "-"))
        };
        self.args.iter().filter_map(of).any(|it| it == name)
    }
}

/// The profiler program, with its arguments, that runs the command of a server.
fn wrapper(kind: ProfilerKind, folder: &str) -> Vec<String> {
    let trace = format!("{folder}/trace");
    let words: &[&str] = match kind {
        ProfilerKind::Torch => &[],
        // Engines compute in forked processes. With these options, a single trace contains all processes.
        ProfilerKind::Nsys => &[
            "nsys",
            "profile",
            "--trace-fork-before-exec=true",
            "--cuda-graph-trace=node",
            "--capture-range=cudaProfilerApi",
            "--capture-range-end=stop",
            "-o",
            &trace,
        ],
        ProfilerKind::Rocprof => {
            &["rocprofv3", "--runtime-trace", "--output-format", "pftrace", "--output-directory", folder, "--"]
        }
    };
    words.iter().map(|it| (*it).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        benchmark_run::Server,
        resolve::server::{Place, resolve_server},
    };

    /// Environment, command and arguments of a profiled server, as one line.
    fn line(server: &str, kind: ProfilerKind) -> String {
        let server: Server = serde_saphyr::from_str(server).unwrap();
        let start = resolve_server(&server, Place::Laptop).unwrap().replica(0, 9000, "/bin/benchwright");
        let start = start.profiled(server.engine, kind, "/r/p");
        let env = start.env.iter().map(|(name, value)| format!("{name}={value}"));
        env.chain(start.command).chain(start.args).collect::<Vec<_>>().join(" ")
    }

    const ADDRESS: &str = "--host 127.0.0.1 --port 9000";

    #[test]
    fn torch_writes_where_the_engine_is_told_to() {
        use ProfilerKind::Torch;
        assert_eq!(
            line("{engine: VLLM, model: m}", Torch),
            format!(r#"vllm serve m {ADDRESS} --profiler-config {{"profiler":"torch","torch_profiler_dir":"/r/p"}}"#)
        );
        assert_eq!(
            line("{engine: SGLang, model: m}", Torch),
            format!("SGLANG_TORCH_PROFILER_DIR=/r/p python3 -m sglang.launch_server --model-path m {ADDRESS}")
        );
        assert_eq!(line("{engine: Simulator}", Torch), format!("/bin/benchwright sim {ADDRESS} --profiler-dir /r/p"));
        assert_eq!(line("{engine: Custom, command: [s], port: 9000}", Torch), "s");
    }

    #[test]
    fn what_the_user_says_of_a_profiler_stays() {
        use ProfilerKind::{Nsys, Torch};
        for own in [
            "config: {profiler_config.profiler: torch, profiler_config.torch_profiler_dir: /mine}",
            "args: ['--profiler-config={}']",
        ] {
            for kind in [Torch, Nsys] {
                let line = line(&format!("{{engine: VLLM, model: m, {own}}}"), kind);
                assert!(!line.contains("/r/p\"") && !line.contains("cuda\""), "{line}");
            }
        }
        let old = line("{engine: VLLM, model: m, env: {VLLM_TORCH_PROFILER_DIR: /mine}}", Torch);
        assert_eq!(old, format!("VLLM_TORCH_PROFILER_DIR=/mine vllm serve m {ADDRESS}"));
        let sglang = line("{engine: SGLang, model: m, env: {SGLANG_TORCH_PROFILER_DIR: /mine}}", Torch);
        assert!(sglang.starts_with("SGLANG_TORCH_PROFILER_DIR=/mine python3"), "{sglang}");
    }

    #[test]
    fn nsys_waits_for_the_engine_to_start_cuda_s_profiler() {
        use ProfilerKind::Nsys;
        let wrapper = "nsys profile --trace-fork-before-exec=true --cuda-graph-trace=node --capture-range=cudaProfilerApi \
                       --capture-range-end=stop -o /r/p/trace";
        assert_eq!(
            line("{engine: VLLM, model: m}", Nsys),
            format!(r#"{wrapper} vllm serve m {ADDRESS} --profiler-config {{"profiler":"cuda"}}"#)
        );
        assert_eq!(
            line("{engine: SGLang, model: m}", Nsys),
            format!("{wrapper} python3 -m sglang.launch_server --model-path m {ADDRESS}")
        );
        assert_eq!(line("{engine: Custom, command: [s, -x], port: 9000}", Nsys), format!("{wrapper} s -x"));
    }

    #[test]
    fn ranges_of_layers_are_there_without_cuda_graphs_alone() {
        let vllm = line("{engine: VLLM, model: m, config: {enforce_eager: true}}", ProfilerKind::Nsys);
        assert!(vllm.ends_with(" --enable-layerwise-nvtx-tracing"), "{vllm}");
        let sglang = line("{engine: SGLang, model: m, args: [--disable-cuda-graph]}", ProfilerKind::Nsys);
        assert!(sglang.ends_with("--disable-cuda-graph --enable-layerwise-nvtx-marker"), "{sglang}");
    }

    #[test]
    fn rocprof_records_the_whole_server() {
        assert_eq!(
            line("{engine: VLLM, model: m}", ProfilerKind::Rocprof),
            format!(
                "rocprofv3 --runtime-trace --output-format pftrace --output-directory /r/p -- vllm serve m {ADDRESS}"
            )
        );
    }
}
