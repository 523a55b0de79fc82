//! The facts that describe a server engine.

use super::{metric_names::MetricNames, metrics_kind::MetricsKind, startup_log::Text};

/// Everything about a server engine that is plain data. Code that differs between engines, such as log parsers, is selected by these facts
/// where one fact is enough.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The name in a spec.
    pub name: &'static str,
    /// The name in reports, as its makers write it.
    pub title: &'static str,
    /// The display name of a managed server with this engine, in a status and a report.
    pub managed_title: &'static str,
    /// The name in JSON documents, and the name that a server reports for itself.
    pub id: &'static str,
    /// The default program, for a spec without a command.
    pub program: Program,
    /// How the program receives its model. `None`: only its author knows.
    pub model: Option<ModelArgument>,
    /// Whether it cannot start without a model.
    pub needs_model: bool,
    /// The options of the program.
    pub options: Options,
    /// The path that answers with 200 when the server is ready.
    pub health_path: &'static str,
    /// A path that returns JSON with the engine's version in `version`. `None`: no such path is known.
    pub version_path: Option<&'static str>,
    /// Whether it has vLLM's sleep mode: the option, the variable and the paths.
    pub has_sleep_mode: bool,
    /// How it is started with a profiler. `None`: unknown.
    pub profiler: Option<Profiler>,
    /// The kind of its metrics. The simulator has vLLM's metrics.
    pub metrics_kind: MetricsKind,
    /// The metric names that no other engine has. `None`: it has no distinct names.
    pub metrics: Option<&'static MetricNames>,
    /// The texts of its startup log. `None`: it has no specific texts.
    pub startup_log: Option<StartupLog>,
}

/// The default program, for a spec without a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// A program on the machine or in the image, and its first arguments.
    Words(&'static [&'static str]),
    /// A subcommand of Benchwright's own program.
    Own(&'static str),
    /// No default: the spec has to name the command, or the image contains it.
    Unknown,
}

/// How a program receives its model.
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
    /// Which of these fields have no effect.
    pub ignored_fields: &'static [&'static str],
    /// What to do about a field without an effect. Empty: every field has an effect.
    pub remedy: &'static str,
    /// Further names of an option, each with the canonical name, in addition to the aliases that all engines have.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Options that this release knows, in addition to `of_fields`. `None`: every option counts as known.
    pub known: Option<&'static [&'static str]>,
    /// Whether `--no-` and the name turns an option off.
    pub has_negation: bool,
}

/// How an engine is started with a profiler. Its start and stop are `/start_profile` and `/stop_profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profiler {
    /// How it receives the folder for its traces.
    pub folder: TraceFolder,
    /// The switch that adds layer ranges to a CUDA trace.
    pub layer_ranges: Option<LayerRanges>,
    /// How a person starts it with a profiler that writes to `/traces`.
    pub hint: &'static str,
}

/// How an engine receives the folder for its traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFolder {
    /// A JSON value, which also selects CUDA's profiler. The option is left out if the environment contains the variable, which older releases
    /// read.
    Config { option: &'static str, older_variable: &'static str },
    /// A variable. CUDA's profiler is chosen by the request that starts it.
    Variable(&'static str),
    /// An option that contains the folder.
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

/// The texts of a startup log.
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
