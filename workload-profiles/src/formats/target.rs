//! The target of a run. Formats compare it with the target that a profile names.

use crds::resolve::{Endpoint, ResolvedRun};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target<'a> {
    /// The base URL. `None` for the simulator, and for a server that is started for the run.
    pub url: Option<&'a str>,
    /// The model, if the run names one.
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
