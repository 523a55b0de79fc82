//! Profiling of the server during a part of one stage of the load.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// A window within one stage, in which a profiler records the server. The figures of this stage are marked, and excluded from comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Profiling {
    /// The profiler: Torch (PyTorch's profiler), Nsys (Nsight Systems) or Rocprof (rocprofv3).
    pub kind: ProfilerKind,

    /// The name of the stage. If absent, the only stage of the load is used. The field is required for a load with several stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub stage: Option<String>,

    /// When the window begins, from the start of the stage. Default: the end of the warm-up if the profile defines it as a time, else 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(max = 32), regex(pattern = r"^[0-9]{1,6}(\.[0-9]{1,6})?(ms|s|m|h)$"))
    )]
    pub start: Option<String>,

    /// Length of the window, above 0 and up to 1h. A trace of a few seconds can take hundreds of megabytes.
    #[cfg_attr(
        feature = "kube",
        schemars(length(max = 32), regex(pattern = r"^[0-9]{1,6}(\.[0-9]{1,6})?(ms|s|m|h)$"))
    )]
    pub duration: String,
}

/// A profiler that can record a server.
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

    /// Whether the engine has HTTP endpoints that start and stop this profiler. rocprofv3 cannot be controlled by an engine.
    pub fn has_endpoints(self) -> bool {
        self != ProfilerKind::Rocprof
    }
}
