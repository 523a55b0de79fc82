//! Any other program with OpenAI's API. Benchwright does not know its options.

use super::{
    metrics_kind::MetricsKind,
    row::{Options, Program, Row},
};

pub(super) const ROW: Row = Row {
    name: "Custom",
    title: "the server",
    managed_title: "managed server",
    id: "custom",
    program: Program::Unknown,
    model: None,
    needs_model: false,
    options: Options {
        of_fields: &[],
        ignored_fields: &[],
        remedy: "write it in args, in the form that the program reads",
        aliases: &[],
        known: None,
        has_negation: false,
    },
    health_path: "/v1/models",
    version_path: None,
    has_sleep_mode: false,
    profiler: None,
    metrics_kind: MetricsKind::Auto,
    metrics: None,
    startup_log: None,
};
