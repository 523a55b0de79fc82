//! The sources of the server's metrics, and the checks of the spec's metrics fields.

use serde::{Deserialize, Serialize};

use super::{Errors, Settings, credentials::without_credentials, service_url::service_url, url::url_problem};
use crate::{
    benchmark_run::{BenchmarkRunSpec, MetricsKind, MetricsSource},
    wording::quoted,
};

/// Maximum number of metrics sources per run. Each source can have many addresses.
const MAX_SOURCES: usize = 32;
/// The default path of a server's metrics.
pub const METRICS_PATH: &str = "/metrics";

/// An endpoint with metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricsEndpoint {
    /// The whole URL of the metrics.
    pub url: String,
    /// The kind of server that has these metrics.
    pub kind: MetricsKind,
}

/// The sources in the spec. `None` if the spec has no list. The launcher then reads `/metrics` of the target.
pub(super) fn endpoints(
    spec: &BenchmarkRunSpec,
    namespace: &str,
    settings: &Settings,
    errors: &mut Errors,
) -> Option<Vec<MetricsEndpoint>> {
    let written = spec.target.metrics.as_deref()?;
    if written.len() > MAX_SOURCES {
        let found = written.len();
        let remedy = "name a headless Service, whose pods are all read";
        errors.add("spec.target.metrics", &format!("has {found} entries; write at most {MAX_SOURCES}, or {remedy}"));
    }
    let one = |(index, source): (usize, &MetricsSource)| {
        let field = format!("spec.target.metrics[{index}]");
        let kind = source.kind.unwrap_or_default();
        url(source, &field, namespace, settings, errors).map(|url| MetricsEndpoint { url, kind })
    };
    Some(written.iter().enumerate().filter_map(one).collect())
}

fn url(
    source: &MetricsSource,
    field: &str,
    namespace: &str,
    settings: &Settings,
    errors: &mut Errors,
) -> Option<String> {
    match (&source.url, &source.service_ref) {
        (Some(url), None) => {
            let at = format!("{field}.url");
            if url.starts_with("unix:") {
                errors.add(
                    &at,
                    &format!("is {}; write http:// or https://, because only a target may be a socket", quoted(url)),
                );
            } else if let Some(problem) = url_problem(url) {
                errors.add(&at, &format!("is {}; {problem}", quoted(&without_credentials(url))));
            }
            Some(with_path(url))
        }
        (None, Some(service)) => {
            let at = format!("{field}.serviceRef");
            if namespace.is_empty() {
                errors.add(&at, "needs a cluster; outside one, set url");
            }
            Some(with_path(&service_url(service, &at, namespace, settings, errors)))
        }
        (None, None) => {
            errors.add(field, "names no server; set exactly one of url and serviceRef");
            None
        }
        (Some(_), Some(_)) => {
            errors.add(field, "has both url and serviceRef; keep one of them");
            None
        }
    }
}

/// Appends [`METRICS_PATH`] to a URL that has no path.
fn with_path(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let has_path = url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    if has_path { url.to_owned() } else { format!("{url}{METRICS_PATH}") }
}
