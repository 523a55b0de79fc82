//! The facts that describe a server engine.

use super::{metric_names::MetricNames, metrics_kind::MetricsKind, startup_log::Text};

/// All facts about a server engine that are plain data. Where engines need different code, such as a log parser, a fact of this row selects the code.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The name in a spec.
    pub name: &'static str,
    /// The name in reports, in the spelling of the engine's authors.
    pub title: &'static str,
    /// The name of a managed server with this engine in statuses and reports.
    pub managed_title: &'static str,
    /// The name in JSON documents, which is also the name that a server reports for itself.
    pub id: &'static str,
    /// The default command, for a spec without `command`.
    pub program: Program,
    /// How the program receives its model. `None` if it is unknown.
    pub model: Option<ModelArgument>,
    /// Whether the program cannot start without a model.
    pub needs_model: bool,
    /// The options of the program.
    pub options: Options,
    /// The path to which the server responds with 200 when it is ready.
    pub health_path: &'static str,
    /// A path with a JSON response that has the engine's version in `version`. `None` if no such path is known.
    pub version_path: Option<&'static str>,
    /// Whether the engine has vLLM's sleep mode: the same option, environment variable and paths.
    pub has_sleep_mode: bool,
    /// How the engine is started with a profiler. `None` if it is unknown.
    pub profiler: Option<Profiler>,
    /// The kind of the engine's metrics. The simulator has vLLM's metrics.
    pub metrics_kind: MetricsKind,
    /// Metric names that no other engine has. `None` if the engine has no such names.
    pub metrics: Option<&'static MetricNames>,
    /// The texts of the engine's startup log. `None` if the engine prints the texts of another engine, or its texts are unknown.
    pub startup_log: Option<StartupLog>,
}

/// The default command, for a spec without `command`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// A program on the machine or in the image, and its first arguments.
    Words(&'static [&'static str]),
    /// A subcommand of Benchwright's own program.
    Own(&'static str),
    /// There is no default: the spec must contain the command, or the entry point of the image is used.
    Unknown,
}

/// How a program receives its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelArgument {
    /// The name of the option, without leading dashes.
    pub option: &'static str,
    /// Whether the program takes the model as an argument without the option.
    pub is_positional: bool,
}

/// The options of a program. All names are without leading dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The fields of `spec.target.server` that become options: each with the name of the field and of the option.
    pub of_fields: &'static [(&'static str, &'static str)],
    /// Which of these fields have no effect.
    pub ignored_fields: &'static [&'static str],
    /// The remedy for a field without effect. Empty if every field has an effect.
    pub remedy: &'static str,
    /// Aliases of options, each with the canonical name, in addition to the aliases that all engines have.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Options that this release knows, in addition to the options in `of_fields`. `None` if every option counts as known.
    pub known: Option<&'static [&'static str]>,
    /// Whether `--no-<name>` turns an option off.
    pub has_negation: bool,
}

/// How an engine is started with a profiler. Requests to `/start_profile` and `/stop_profile` then start and stop it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profiler {
    /// How the engine receives the folder for its traces.
    pub folder: TraceFolder,
    /// The flag that adds layer ranges to a CUDA trace.
    pub layer_ranges: Option<LayerRanges>,
    /// Instructions for users: how to start the engine with a profiler that writes to `/traces`.
    pub hint: &'static str,
}

/// How an engine receives the folder for its traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFolder {
    /// An option with a JSON value, which also selects CUDA's profiler. The option is omitted if the environment contains the variable that older
    /// releases read.
    Config { option: &'static str, older_variable: &'static str },
    /// An environment variable. CUDA's profiler is selected by the request that starts the profiler.
    Variable(&'static str),
    /// An option whose value is the folder.
    Option(&'static str),
}

/// The flag that adds the ranges of model layers to a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerRanges {
    /// The option that turns CUDA graphs off. An engine cannot use layer ranges and CUDA graphs together.
    pub without_graphs: &'static str,
    /// The flag.
    pub flag: &'static str,
}

/// The texts of a startup log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartupLog {
    /// The form in which the arguments are printed.
    pub arguments: ArgumentsForm,
    /// All texts, for all versions of the engine.
    pub texts: &'static [Text],
}

/// The form in which an engine prints its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsForm {
    /// As a Python dictionary.
    Dictionary,
    /// As a call of a Python class.
    Call,
}
