//! The target of a run, as a profile may name it.

use crds::resolve::{Endpoint, ResolvedRun};

/// The target of a run, for comparison with the profile.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target<'a> {
    /// The base URL; `None` for the simulator, and for a server that is started for the run.
    pub url: Option<&'a str>,
    /// The model, where the run names it.
    pub model: Option<&'a str>,
}

impl<'a> Target<'a> {
    pub(crate) fn from_run(run: &'a ResolvedRun) -> Target<'a> {
        let url = match &run.endpoint {
            Endpoint::Url(url) => Some(url.as_str()),
            Endpoint::Simulator(_) | Endpoint::Server(_) => None,
        };
        Target { url, model: run.model.as_deref() }
    }
}
