//! Benchwright's own simulated vLLM, in a separate process. It prints vLLM's texts and has vLLM's metrics.

use super::{
    metrics_kind::MetricsKind,
    row::{ModelArgument, Options, Profiler, Program, Row, TraceFolder},
    vllm,
};

pub(super) const ROW: Row = Row {
    name: "Simulator",
    title: "the simulated server",
    managed_title: "managed simulator",
    id: "simulator",
    program: Program::Own("sim"),
    model: Some(ModelArgument { option: "model", is_positional: false }),
    needs_model: false,
    options: Options {
        of_fields: vllm::FIELDS,
        ignored_fields: &["tensorParallelSize", "gpuMemoryUtilization", "dtype", "quantization", "loadFormat"],
        remedy: "the simulated server computes nothing; take it out",
        aliases: &[],
        // Every option counts as known, because the simulator itself refuses unknown options.
        known: None,
        has_negation: false,
    },
    health_path: "/health",
    version_path: Some("/version"),
    has_sleep_mode: true,
    profiler: Some(Profiler {
        folder: TraceFolder::Option("profiler-dir"),
        layer_ranges: None,
        hint: "the simulated server with --profiler-dir /traces",
    }),
    metrics_kind: MetricsKind::Vllm,
    metrics: None,
    startup_log: None,
};
