//! Which facts describe a server engine.

use super::{metric_names::MetricNames, metrics_kind::MetricsKind, startup_log::Text};

/// Everything about a server engine that is plain data. Code that differs between engines, such as the parsers of logs, is chosen by
/// these facts where one fact decides.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The name in a spec.
    pub name: &'static str,
    /// The name in reports, as its makers write it.
    pub title: &'static str,
    /// The name of a server of this engine that Benchwright starts, in a status and a report.
    pub managed_title: &'static str,
    /// The name in JSON documents, and the one by which a server calls itself.
    pub id: &'static str,
    /// What is started where a spec names no command.
    pub program: Program,
    /// How the program is told its model. `None`: only its author knows.
    pub model: Option<ModelArgument>,
    /// Whether it cannot start without a model.
    pub needs_model: bool,
    /// The options of the program.
    pub options: Options,
    /// The path that answers with 200 when the server is ready.
    pub health_path: &'static str,
    /// The path that answers with JSON whose `version` is that of the engine. `None`: no such path is known.
    pub version_path: Option<&'static str>,
    /// Whether it has vLLM's sleep mode: the option, the variable and the paths.
    pub has_sleep_mode: bool,
    /// How it is started with a profiler. `None`: it is not known.
    pub profiler: Option<Profiler>,
    /// What its metrics are. The simulator has those of vLLM.
    pub metrics_kind: MetricsKind,
    /// The names of metrics that no other engine has. `None`: it has none of its own.
    pub metrics: Option<&'static MetricNames>,
    /// The log of its start. `None`: it has no texts of its own.
    pub startup_log: Option<StartupLog>,
}

/// What is started where a spec names no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// A program of the machine or the image, and what comes before its arguments.
    Words(&'static [&'static str]),
    /// A subcommand of Benchwright's own program.
    Own(&'static str),
    /// Nothing: the spec has to name the command, or the image has it.
    Unknown,
}

/// How a program is told its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelArgument {
    /// The option, without dashes.
    pub option: &'static str,
    /// Whether the model is the first argument, without its option.
    pub is_positional: bool,
}

/// The options of a program. Names have no dashes before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The fields of `spec.target.server` that become options: the name of the field, and of the option.
    pub of_fields: &'static [(&'static str, &'static str)],
    /// Those of these fields that have no effect.
    pub ignored_fields: &'static [&'static str],
    /// What to do about a field without an effect. Empty: every field has an effect.
    pub remedy: &'static str,
    /// Further names of an option, and its canonical name, beside those that all engines have.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Options that this release knows, beside `of_fields`. `None`: any option is taken for known.
    pub known: Option<&'static [&'static str]>,
    /// Whether `--no-` and the name turns an option off.
    pub has_negation: bool,
}

/// How an engine is started with a profiler. Its start and stop are `/start_profile` and `/stop_profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profiler {
    /// How it is told the folder of its traces.
    pub folder: TraceFolder,
    /// What adds the ranges of layers to a trace of CUDA.
    pub layer_ranges: Option<LayerRanges>,
    /// How a person starts it with a profiler that writes to `/traces`.
    pub hint: &'static str,
}

/// How an engine is told the folder of its traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFolder {
    /// A JSON value, which also chooses CUDA's profiler. Where the environment has the variable, which older releases take, the
    /// option is left out.
    Config { option: &'static str, older_variable: &'static str },
    /// A variable. CUDA's profiler is chosen by the request that starts it.
    Variable(&'static str),
    /// An option whose value is the folder.
    Option(&'static str),
}

/// The flag that adds the ranges of layers to a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerRanges {
    /// The option that turns CUDA graphs off: an engine cannot have both.
    pub without_graphs: &'static str,
    /// The flag.
    pub flag: &'static str,
}

/// What the log of a start has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartupLog {
    /// The form in which the arguments are printed.
    pub arguments: ArgumentsForm,
    /// All texts, of all versions.
    pub texts: &'static [Text],
}

/// The form in which an engine prints its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsForm {
    /// A dictionary of Python.
    Dictionary,
    /// A call of a Python class.
    Call,
}
