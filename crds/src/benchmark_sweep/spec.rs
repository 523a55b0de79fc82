//! The spec of a sweep as the user writes it.

use std::collections::BTreeMap;

#[cfg(feature = "kube")]
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[cfg(feature = "kube")]
use super::status::BenchmarkSweepStatus;
use crate::{AnyValue, benchmark_run::MAX_NAME_BYTES, benchmark_schedule::RunTemplate};

/// The kind of a sweep.
pub const KIND: &str = "BenchmarkSweep";
/// Maximum length of a sweep's name, in bytes. The names of its runs append `-c256-r10-a5`.
pub const MAX_SWEEP_NAME_BYTES: usize = MAX_NAME_BYTES - "-c256-r10-a5".len();
/// Maximum number of factors.
pub const MAX_FACTORS: usize = 8;
/// Maximum number of levels of a factor.
pub const MAX_LEVELS: usize = 64;
/// Maximum number of cells.
pub const MAX_CELLS: usize = 256;
/// Maximum number of repeats of each cell.
pub const MAX_SWEEP_REPEATS: u32 = 10;
/// Maximum number of attempts per run.
pub const MAX_SWEEP_ATTEMPTS: u32 = 5;
/// By default, a sweep has so many repeats that its runs leave at least this number of degrees of freedom for the spread between runs. With fewer,
/// intervals are several times as wide.
const WANTED_DEGREES_OF_FREEDOM: u32 = 4;

/// The default number of repeats of a sweep with this number of cells: at least 2.
pub(super) fn default_repeats(cells: usize) -> u32 {
    let free = u32::try_from(cells).unwrap_or(u32::MAX).saturating_sub(1).max(1);
    (WANTED_DEGREES_OF_FREEDOM.div_ceil(free) + 1).clamp(2, MAX_SWEEP_REPEATS)
}

/// Runs one template with every combination of the levels of some factors, and compares the combinations.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(CustomResource, KubeSchema))]
#[cfg_attr(
    feature = "kube",
    kube(
        group = "benchwright.dev",
        version = "v1alpha1",
        kind = "BenchmarkSweep",
        namespaced,
        status = "BenchmarkSweepStatus",
        shortname = "bmsw",
        category = "benchwright",
        derive = "PartialEq",
        doc = "Runs one template with every combination of some settings, one run at a time",
        validation = Rule::new("self.metadata.name.size() <= 34 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
            .message("metadata.name must be at most 34 letters a-z, digits and dashes and begin with a letter: the names of its runs append cell, repeat and attempt"),
        printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
        printcolumn(name = "Runs", type_ = "string", json_path = ".status.progress"),
        printcolumn(name = "Failed", type_ = "integer", json_path = ".status.failed"),
        printcolumn(name = "Current", type_ = "string", json_path = ".status.current"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
        printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
    )
)]
#[cfg_attr(
    feature = "kube",
    x_kube(
        validation = unchanged("runTemplate"),
        validation = unchanged("factors"),
        validation = unchanged("exclude"),
        validation = unchanged("only"),
        validation = unchanged("baseline"),
        validation = unchanged("repeats"),
        validation = unchanged("order")
    )
)]
pub struct BenchmarkSweepSpec {
    /// The template of the runs. Each run is this template with the levels of its cell.
    pub run_template: RunTemplate,

    /// What varies between the runs. Each combination of one level per factor is a cell. The first factor varies slowest, so write settings that
    /// restart a server first.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 8)))]
    pub factors: Vec<Factor>,

    /// Combinations to leave out. Each entry maps factors to levels, and leaves out all cells with these levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "selections"))]
    pub exclude: Vec<Selection>,

    /// Combinations to keep. A cell is kept if it has all levels of at least one entry. Absent: all cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "selections"))]
    pub only: Vec<Selection>,

    /// The levels that the other levels of the same factors are compared with. Each cell is compared with the cell that differs from it only in these
    /// factors. Default: the first level of the first factor.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "selection"))]
    pub baseline: Option<Selection>,

    /// What shows that the settings under test were active, such as a minimum share of cached tokens where prefix caching is on. A comparison of a cell
    /// that does not meet it is undecided. In a cluster this field has no effect, because the operator does not compare cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 16)))]
    pub engaged: Vec<Engagement>,

    /// How many times each cell runs. All cells run once before any cell runs again. With 1, the spread between runs is unknown, so that no difference
    /// between cells is significant. Default: 2 for five or more cells, 3 for three or four cells, 5 for two.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 10)))]
    pub repeats: Option<u32>,

    /// The order of the cells. Alternated: as listed, and reversed in every second repeat, so that a steady drift of the server cancels out. Random: a
    /// new random order in each repeat. Listed: as listed in each repeat. Default: Alternated.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "SweepOrder"))]
    pub order: Option<SweepOrder>,

    /// Pause before each run, for example until a server has cooled down. Default: 0.
    #[cfg_attr(feature = "kube", schemars(range(min = 0, max = 3_600)))]
    pub cooldown_seconds: Option<u32>,

    /// How often a run without valid figures is tried in all. Default: 1.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 5)))]
    pub attempts: Option<u32>,

    /// What happens after a run whose last attempt has no valid figures. Continue: the next run starts. Stop: the sweep ends. Default: Continue.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "OnFailure"))]
    pub on_failure: Option<OnFailure>,

    /// Time limit of the whole sweep, from the creation of its first run. After it, no further run starts. Default: no limit.
    #[cfg_attr(feature = "kube", schemars(range(min = 60, max = 2_592_000)))]
    pub budget_seconds: Option<u32>,

    /// True: no further run starts. A run in progress continues.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
}

/// The error message for a user who edits an immutable field.
#[cfg(feature = "kube")]
const IMMUTABLE: &str = "a sweep keeps its cells and their order: only suspend, attempts, onFailure, cooldownSeconds and budgetSeconds may change; create another sweep instead";

/// The CEL rule that a field of the spec keeps its value from creation.
#[cfg(feature = "kube")]
fn unchanged(field: &str) -> kube::core::Rule {
    let rule =
        format!("has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})");
    kube::core::Rule::new(rule).message(IMMUTABLE).field_path(format!(".{field}"))
}

/// Levels of some factors, by the factors' names. A level is named as in the cells: by its name, or by its value.
pub type Selection = BTreeMap<String, AnyValue>;

/// Schema of a selection. CEL rules cannot refer to a field whose members have no type, as those of [`AnyValue`]. They can refer to an object with
/// unknown fields, and then compare all of its members.
#[cfg(feature = "kube")]
fn selection(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "maxProperties": MAX_FACTORS})
}

/// Schema of a list of selections.
#[cfg(feature = "kube")]
fn selections(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "array", "maxItems": 256, "items": selection(generator)})
}

/// A setting that varies. Either `field` and `values`, or `levels`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    // CEL cannot refer to `values`, because its items have no type. `resolve` checks that it belongs to `field`.
    x_kube(validation = Rule::new("has(self.field) != has(self.levels)")
        .message("write field and values for a factor that varies one field, or levels for one that varies several"))
)]
pub struct Factor {
    /// The name of the factor in tables and in the names of folders, such as `rate`.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 32), regex(pattern = "^[a-zA-Z]([-_a-zA-Z0-9]*[a-zA-Z0-9])?$"))
    )]
    pub name: String,

    /// The field of the run's spec that varies, such as `profile.variables.rate` or `target.server.args[1]`.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 256)))]
    pub field: Option<String>,

    /// The values of the field, one per level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub values: Vec<AnyValue>,

    /// Levels that set several fields, or that need a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub levels: Vec<Level>,
}

/// A bound on a figure that holds if a setting is active.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Engagement {
    /// The cells that must meet the bound, by their levels. Absent: all cells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "selection"))]
    pub when: Selection,

    /// The figure, such as cachedShare or outputTokensPerSecond. Times have a statistic, as in ttft.p50, and are in milliseconds.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub figure: String,

    /// Minimum of the mean over the runs of a cell.
    pub min: Option<f64>,

    /// Maximum of the mean over the runs of a cell.
    pub max: Option<f64>,
}

/// A level of a factor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Level {
    /// The name of the level, such as `prefix-caching`.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 63), regex(pattern = "^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$"))
    )]
    pub name: String,

    /// The fields of the run's spec that this level sets, such as `target.url: http://server-b:8000`. Empty: the template as it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32)))]
    pub set: BTreeMap<String, AnyValue>,
}

/// The order of the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum SweepOrder {
    /// As listed, and reversed in every second repeat.
    #[default]
    Alternated,
    /// A random order in each repeat, drawn from the seed.
    Random,
    /// As listed.
    Listed,
}

/// What happens after a run whose last attempt has no valid figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum OnFailure {
    /// The next run starts.
    #[default]
    Continue,
    /// The sweep ends.
    Stop,
}
