//! The BenchmarkSchedule as a user writes it: it starts runs of one template at fixed times, or each time the text of its trigger changes.

pub mod status;
pub mod times;

use std::collections::BTreeMap;

#[cfg(feature = "kube")]
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[cfg(feature = "kube")]
use crate::benchmark_run::field::bounded_text;
use crate::benchmark_run::{BenchmarkRunSpec, MAX_NAME_BYTES, field::is_default};
#[cfg(feature = "kube")]
use status::BenchmarkScheduleStatus;

/// The kind of a schedule.
pub const KIND: &str = "BenchmarkSchedule";
/// Length in bytes of the suffix that a schedule appends to its own name to name a run. For a run at a fixed time the suffix is a dash and the minute
/// as eight digits. For a triggered run it is a dash, `t` and eight digits of a hash.
const SUFFIX_BYTES: usize = 10;
/// Maximum length of a schedule's name, in bytes.
pub const MAX_SCHEDULE_NAME_BYTES: usize = MAX_NAME_BYTES - SUFFIX_BYTES;
/// Default number of finished runs to keep: so many succeeded runs, and so many failed or cancelled runs.
pub const DEFAULT_HISTORY: u32 = 10;
/// The default time zone of a schedule.
pub const DEFAULT_TIME_ZONE: &str = "UTC";

/// When to start runs of one template.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(CustomResource, KubeSchema))]
#[cfg_attr(
    feature = "kube",
    kube(
        group = "benchwright.dev",
        version = "v1alpha1",
        kind = "BenchmarkSchedule",
        namespaced,
        status = "BenchmarkScheduleStatus",
        shortname = "bms",
        category = "benchwright",
        derive = "PartialEq",
        doc = "Starts a BenchmarkRun at fixed times, or each time its trigger changes",
        validation = Rule::new("self.metadata.name.size() <= 36 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
            .message("metadata.name must be at most 36 letters a-z, digits and dashes and begin with a letter: the names of its runs add ten characters"),
        printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
        printcolumn(name = "Time-Zone", type_ = "string", json_path = ".spec.timeZone"),
        printcolumn(name = "Suspend", type_ = "boolean", json_path = ".spec.suspend"),
        printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
        printcolumn(name = "Last-Run", type_ = "string", json_path = ".status.lastRun.name"),
        printcolumn(name = "Outcome", type_ = "string", json_path = ".status.lastRun.outcome"),
        printcolumn(name = "Next", type_ = "string", json_path = ".status.nextScheduleTime"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
        printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
    )
)]
#[cfg_attr(
    feature = "kube",
    x_kube(
        validation = Rule::new("has(self.schedule) || has(self.trigger)")
            .message("set schedule to start runs at fixed times, trigger to start a run at each change of its value, or both"),
        validation = Rule::new("!has(self.timeZone) || has(self.schedule)")
            .message("timeZone has no effect without schedule; set schedule, or take timeZone out")
            .field_path(".timeZone")
    )
)]
pub struct BenchmarkScheduleSpec {
    /// When to start a run, as five fields of cron: minute, hour, day of month, month and day of week, such as `0 3 * * MON-FRI`. If a clock change
    /// skips a time, it starts no run; a repeated time starts two runs. If absent, only trigger starts runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(min = 9, max = 256)))]
    #[cfg_attr(
        feature = "kube",
        x_kube(validation = Rule::new("self.matches('^[^ @]+( +[^ ]+){4}$')")
            .message("schedule needs five fields of cron: minute, hour, day of month, month, day of week, such as 0 3 * * MON-FRI; names such as @daily are not known"))
    )]
    pub schedule: Option<String>,

    /// The time zone of the schedule, as a name of the tz database such as Europe/Berlin. Default: UTC.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub time_zone: Option<String>,

    /// Any text, such as a commit, an image or a date. Each change of the text starts one run, and so does the first text of a new schedule. If a run
    /// of this schedule is in progress, the new run starts after its end.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 256)))]
    pub trigger: Option<String>,

    /// What happens at a fixed time while a run of this schedule is in progress. Forbid: no run starts at that time. Default, and the only value:
    /// Forbid.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ConcurrencyPolicy"))]
    pub concurrency_policy: Option<ConcurrencyPolicy>,

    /// Maximum delay of a start in seconds, for example after the operator was down. Default: no limit; the newest missed time still starts its run.
    #[cfg_attr(feature = "kube", schemars(range(min = 10, max = 2_147_483_647)))]
    pub starting_deadline_seconds: Option<u32>,

    /// True: no run starts. Times that pass while it is true are skipped; a new trigger waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,

    /// Maximum number of stored succeeded runs. Older runs are deleted, and their results folders stay on the claim. Default: 10.
    #[cfg_attr(feature = "kube", schemars(range(min = 0, max = 1_000)))]
    pub successful_runs_history_limit: Option<u32>,

    /// Maximum number of stored failed and cancelled runs. Default: 10.
    #[cfg_attr(feature = "kube", schemars(range(min = 0, max = 1_000)))]
    pub failed_runs_history_limit: Option<u32>,

    /// The template of the runs. A change applies from the next run on.
    pub run_template: RunTemplate,
}

/// A run without its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct RunTemplate {
    /// Labels and annotations of the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: TemplateMetadata,
    /// The spec of the runs, as in a BenchmarkRun.
    pub spec: BenchmarkRunSpec,
}

/// Labels and annotations of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct TemplateMetadata {
    /// Labels of the run, beside the schedule's own label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32, "additionalProperties" = bounded_text(63))))]
    #[cfg_attr(
        feature = "kube",
        x_kube(validation = Rule::new("!self.exists(key, key.startsWith('benchwright.dev/'))")
            .message("labels under benchwright.dev/ are set by the operator; choose another prefix"))
    )]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "kube", schemars(extend("maxProperties" = 32, "additionalProperties" = bounded_text(1024))))]
    #[cfg_attr(
        feature = "kube",
        x_kube(validation = Rule::new("!self.exists(key, key.startsWith('benchwright.dev/') && key != 'benchwright.dev/paths-from')")
            .message("annotations under benchwright.dev/ are set by the operator; choose another prefix"))
    )]
    pub annotations: BTreeMap<String, String>,
}

/// What happens at a fixed time while a run is in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum ConcurrencyPolicy {
    /// No run starts at that time, because two loads would distort each other's measurement.
    #[default]
    Forbid,
}
