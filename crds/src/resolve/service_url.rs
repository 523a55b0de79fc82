//! The URL of a Service of the cluster.

use super::{Errors, Settings, effective, url::url_problem};
use crate::{
    benchmark_run::{Scheme, ServiceRef},
    wording::quoted,
};

/// Returns the URL of a Service, without a slash at its end. `field` is the path of the Service in the spec, for error messages.
pub(super) fn service_url(
    service: &ServiceRef,
    field: &str,
    namespace: &str,
    settings: &Settings,
    errors: &mut Errors,
) -> String {
    let effective = effective::service(service);
    let (port, written_path) = (effective.port, effective.path.as_str());
    let scheme = match effective.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    let path = written_path.trim_end_matches('/');
    let at = format!("{field}.path");
    if !written_path.starts_with('/') {
        errors.add(&at, &format!("is {}; begin it with a slash", quoted(written_path)));
    }
    if let Some(problem) = url_problem(&format!("http://service:80{path}")).filter(|_| path.starts_with('/')) {
        errors.add(&at, &format!("is {}; {problem}", quoted(written_path)));
    }
    let host = format!("{}.{namespace}.{}", service.name, settings.service_domain);
    format!("{scheme}://{host}:{port}{path}")
}
