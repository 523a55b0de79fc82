//! How other runs use a shared server.

use crds::BenchmarkRun;
use kube::ResourceExt as _;

/// How other runs use a shared server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherUse {
    /// No other run uses it, or only runs that finished earlier.
    #[default]
    None,
    /// A run that has not finished uses it.
    Now,
    /// A run that finished later than this run has used the server, and will remove it. This takes precedence over [`OtherUse::Now`], because only
    /// the run that finished last keeps checking.
    Later,
}

impl OtherUse {
    /// How the run `other` uses the server `name`, which `run` has also used.
    pub fn from_runs(run: &BenchmarkRun, name: &str, other: &BenchmarkRun) -> OtherUse {
        let Some(status) = &other.status else { return OtherUse::None };
        let uses = status.server.as_ref().is_some_and(|it| it.name == name && it.gone_time.is_none());
        if !uses || other.uid() == run.uid() {
            return OtherUse::None;
        }
        if !other.is_finished() {
            return OtherUse::Now;
        }
        let finished = |it: &BenchmarkRun| (it.status.as_ref().and_then(|it| it.completion_time), it.uid());
        if finished(other) > finished(run) { OtherUse::Later } else { OtherUse::None }
    }
}
