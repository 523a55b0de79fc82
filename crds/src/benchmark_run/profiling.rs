//! A profiler of the server, for a part of one stage of the load.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// A window of one stage in which a profiler records what the server does. The figures of that stage are marked, and are in no comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Profiling {
    /// Which profiler it is: Torch, the one of PyTorch; Nsys, Nsight Systems; Rocprof, rocprofv3.
    pub kind: ProfilerKind,

    /// The name of the stage. Absent: the only stage of the load; a load of several stages needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub stage: Option<String>,

    /// When the window begins, from the start of the stage. Default: the end of its warm-up where the profile gives that as a time, else 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(max = 32), regex(pattern = r"^[0-9]{1,6}(\.[0-9]{1,6})?(ms|s|m|h)$"))
    )]
    pub start: Option<String>,

    /// How long it lasts, above 0 and up to 1h. A trace of some seconds has hundreds of megabytes.
    #[cfg_attr(
        feature = "kube",
        schemars(length(max = 32), regex(pattern = r"^[0-9]{1,6}(\.[0-9]{1,6})?(ms|s|m|h)$"))
    )]
    pub duration: String,
}

/// A profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum ProfilerKind {
    /// The profiler of PyTorch, which the engine starts and stops itself.
    Torch,
    /// Nsight Systems, which waits for the engine to start CUDA's profiler.
    Nsys,
    /// rocprofv3, which records the whole life of the server.
    Rocprof,
}

impl ProfilerKind {
    /// The name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            ProfilerKind::Torch => "Torch",
            ProfilerKind::Nsys => "Nsys",
            ProfilerKind::Rocprof => "Rocprof",
        }
    }

    /// Whether the engine starts and stops it when its endpoints are called. rocprofv3 hears no call of an engine.
    pub fn has_endpoints(self) -> bool {
        self != ProfilerKind::Rocprof
    }
}
