//! Derives the URL from a Gateway, its listener and its route. Pure: it uses the objects that were read, and its errors name what is wrong.

use std::{collections::BTreeSet, net::IpAddr};

use crds::{benchmark_run::GatewayRef, resolve::url_problem, wording::quoted};

use super::{
    super::objects::{BackendRef, GROUP, Gateway, INFERENCE_GROUP, Listener, ParentRef, Route, RouteParent, Rule, has},
    FIELD,
};

/// A Gateway, with the reference to it and its namespace.
pub(in super::super) struct Named<'a> {
    pub(in super::super) reference: &'a GatewayRef,
    pub(in super::super) namespace: &'a str,
    pub(in super::super) gateway: &'a Gateway,
}

/// The listener that a reference selects.
pub(in super::super) fn listener<'a>(named: &Named<'a>) -> Result<&'a Listener, String> {
    let reference = named.reference;
    let all = &named.gateway.spec.listeners;
    let of_http: Vec<_> = all.iter().filter(|it| ["HTTP", "HTTPS"].contains(&it.protocol.as_str())).collect();
    let fits = |it: &Listener| {
        reference.section_name.as_ref().is_none_or(|name| *name == it.name)
            && reference.port.is_none_or(|port| port == it.port)
    };
    let chosen: Vec<_> = of_http.iter().copied().filter(|it| fits(it)).collect();
    let field = match (&reference.section_name, reference.port) {
        (Some(name), _) => format!("{FIELD}.sectionName: is {}", quoted(name)),
        (None, Some(port)) => format!("{FIELD}.port: is {port}"),
        (None, None) => format!("{FIELD}: names Gateway {}", quoted(&reference.name)),
    };
    let known = of_http.iter().map(|it| format!("{} ({} {})", it.name, it.protocol, it.port)).collect::<Vec<_>>();
    match (chosen.as_slice(), of_http.is_empty()) {
        ([one], _) => Ok(one),
        ([], true) => Err(format!("{field}, and the Gateway has no listener for HTTP or HTTPS; add one")),
        ([], false) => Err(format!("{field}, and no listener for HTTP or HTTPS fits; it has {}", known.join(", "))),
        _ => Err(format!("{field}, and several listeners fit; name one in sectionName: {}", known.join(", "))),
    }
}

/// The host of a Gateway if neither the listener nor the route sets a host name: the Gateway's first address.
fn address(named: &Named<'_>) -> Result<String, String> {
    let of = format!("{FIELD}.name: is {}", quoted(&named.reference.name));
    let status = &named.gateway.status;
    for kind in ["Accepted", "Programmed"] {
        if let Some(condition) = status.conditions.iter().find(|it| it.kind == kind && it.status == "False") {
            let reason = quoted(&condition.reason);
            return Err(format!("{of}, and this Gateway is not {kind} ({reason}); see its status"));
        }
    }
    let kinds = [None, Some("IPAddress"), Some("Hostname")];
    let found = status.addresses.iter().find(|it| kinds.contains(&it.kind.as_deref()) && !it.value.is_empty());
    let found = found.ok_or_else(|| {
        format!("{of}, and this Gateway has no address in its status; see whether its controller runs, or set target.url instead")
    })?;
    Ok(match found.value.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => found.value.clone(),
    })
}

/// Whether the parent reference of a route points to this Gateway and this listener.
fn is_parent(parent: &ParentRef, route: &Route, named: &Named<'_>, listener: &Listener) -> bool {
    parent.group.as_deref().is_none_or(|it| it == GROUP)
        && parent.kind.as_deref().is_none_or(|it| it == "Gateway")
        && parent.name == named.reference.name
        && parent.namespace.as_deref().unwrap_or(&route.namespace) == named.namespace
        && parent.section_name.as_ref().is_none_or(|it| *it == listener.name)
        && parent.port.is_none_or(|it| it == listener.port)
}

/// Whether a backend can be a model server: a Service or an InferencePool.
fn is_server(backend: &BackendRef) -> bool {
    match (backend.group.as_deref().unwrap_or_default(), backend.kind.as_deref().unwrap_or("Service")) {
        ("", "Service") => true,
        (group, kind) => group == INFERENCE_GROUP && kind == "InferencePool",
    }
}

/// The route to the model server: the route in the reference, or else the only route of the listener.
pub(in super::super) fn route<'a>(
    named: &Named<'_>,
    listener: &Listener,
    routes: &'a [Route],
) -> Result<&'a Route, String> {
    let attached = |it: &&Route| it.spec.parent_refs.iter().any(|parent| is_parent(parent, it, named, listener));
    let serves = |it: &&Route| it.spec.rules.iter().any(|rule| rule.backend_refs.iter().any(is_server));
    if let Some(name) = &named.reference.http_route {
        let field = format!("{FIELD}.httpRoute: is {}", quoted(name));
        let mut of_name = routes.iter().filter(|it| it.name == *name).peekable();
        if of_name.peek().is_none() {
            return Err(format!("{field}, and there is no such HTTPRoute; create it"));
        }
        let of_gateway = of_name.find(attached);
        let route = of_gateway.ok_or_else(|| {
            format!("{field}, and none of its parentRefs is this Gateway and listener; name another route")
        })?;
        return Some(route).filter(serves).ok_or_else(|| {
            format!("{field}, and none of its rules leads to an InferencePool or a Service; name another route")
        });
    }
    let fitting: Vec<_> = routes.iter().filter(attached).filter(serves).collect();
    match fitting.as_slice() {
        [one] => Ok(one),
        [] => Err(format!(
            "{FIELD}: names Gateway {}, and no HTTPRoute to an InferencePool or a Service is attached to its listener {}; create one",
            quoted(&named.reference.name),
            quoted(&listener.name)
        )),
        several => {
            let names = several.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
            Err(format!("{FIELD}: names a Gateway with several HTTPRoutes; name one in httpRoute: {names}"))
        }
    }
}

/// Checks that no other route of the listener matches the same requests. Otherwise the Gateway would send them to the older of the two routes, and
/// the run might measure another server.
pub(in super::super) fn check_alone(
    named: &Named<'_>,
    listener: &Listener,
    route: &Route,
    routes: &[Route],
) -> Result<(), String> {
    let paths = |it: &Route| -> Vec<String> { it.spec.rules.iter().filter_map(|rule| path(it, rule).ok()).collect() };
    let hosts = |it: &Route| it.spec.hostnames.iter().cloned().collect::<BTreeSet<_>>();
    let own = (hosts(route), paths(route));
    let takes_the_same = |it: &&Route| {
        (&it.name, &it.namespace) != (&route.name, &route.namespace)
            && it.spec.parent_refs.iter().any(|parent| is_parent(parent, it, named, listener))
            // The Gateway sends no request to a route that it has not accepted, so such a route is ignored.
            && is_accepted(it, named, listener)
            && hosts(it) == own.0
            && paths(it).iter().any(|path| own.1.contains(path))
    };
    let Some(other) = routes.iter().find(takes_the_same) else { return Ok(()) };
    Err(format!(
        "{FIELD}: leads to HTTPRoute {}, and HTTPRoute {} in namespace {} takes the same requests of this Gateway; delete one of them",
        quoted(&route.name),
        quoted(&other.name),
        other.namespace
    ))
}

/// The rule of a route that leads to the model server, with its backend. An InferencePool takes precedence over a Service.
pub(in super::super) fn backend(route: &Route) -> Option<(&Rule, &BackendRef)> {
    let all = || route.spec.rules.iter().flat_map(|rule| rule.backend_refs.iter().map(move |it| (rule, it)));
    let pool = all().find(|(_, it)| is_server(it) && it.kind.as_deref() == Some("InferencePool"));
    pool.or_else(|| all().find(|(_, it)| is_server(it)))
}

/// The status of the route that the controller of the Gateway has reported.
fn parents<'a>(
    route: &'a Route,
    named: &'a Named<'_>,
    listener: &'a Listener,
) -> impl Iterator<Item = &'a RouteParent> {
    route.status.parents.iter().filter(move |it| is_parent(&it.parent_ref, route, named, listener))
}

/// Whether the Gateway's controller has accepted the route.
fn is_accepted(route: &Route, named: &Named<'_>, listener: &Listener) -> bool {
    parents(route, named, listener).any(|it| has(&it.conditions, "Accepted", "True"))
}

/// Checks that the Gateway's controller has accepted the route and resolved its backends.
fn check_accepted(route: &Route, named: &Named<'_>, listener: &Listener) -> Result<(), String> {
    let name = quoted(&route.name);
    if !is_accepted(route, named, listener) {
        return Err(format!(
            "{FIELD}: leads to HTTPRoute {name}, which its Gateway has not accepted; see the status of the route"
        ));
    }
    if parents(route, named, listener).any(|it| has(&it.conditions, "ResolvedRefs", "False")) {
        return Err(format!(
            "{FIELD}: leads to HTTPRoute {name}, whose backends cannot be resolved; see the status of the route"
        ));
    }
    Ok(())
}

/// The host name that the listener and the route require. `None` if every host name is accepted.
fn host(named: &Named<'_>, listener: &Listener, route: &Route) -> Result<Option<String>, String> {
    let own = listener.hostname.iter().filter(|it| !it.is_empty());
    let mut names = route.spec.hostnames.iter().chain(own).peekable();
    if names.peek().is_none() {
        return Ok(None);
    }
    names.find(|it| !it.starts_with('*')).cloned().map(Some).ok_or_else(|| {
        format!(
            "{FIELD}: names Gateway {}, whose host names are all wildcards; set target.url with one of these hosts instead",
            quoted(&named.reference.name)
        )
    })
}

/// The part of a rule's path before `/v1`.
fn path(route: &Route, rule: &Rule) -> Result<String, String> {
    if rule.matches.is_empty() {
        return Ok(String::new());
    }
    let plain = rule.matches.iter().filter(|it| it.headers.is_empty() && it.query_params.is_empty());
    let found = plain.filter_map(|it| {
        let path = it.path.as_ref();
        let kind = path.and_then(|it| it.kind.as_deref()).unwrap_or("PathPrefix");
        let value = path.and_then(|it| it.value.as_deref()).unwrap_or("/");
        let whole = format!("{}/", value.trim_end_matches('/'));
        match (kind, whole.find("/v1/")) {
            // The rule has the path of the API itself, such as /v1/chat/completions. The prefix is what precedes it.
            ("PathPrefix" | "Exact", Some(at)) => Some(whole[..at].to_owned()),
            ("PathPrefix", None) => Some(whole.trim_end_matches('/').to_owned()),
            _ => None,
        }
    });
    found.into_iter().next().ok_or_else(|| {
        format!(
            "{FIELD}: leads to HTTPRoute {}, whose matches need headers, parameters or regular expressions; set target.url instead",
            quoted(&route.name)
        )
    })
}

/// Returns the base URL of the model server behind a route.
pub(in super::super) fn url(named: &Named<'_>, listener: &Listener, route: &Route) -> Result<String, String> {
    check_accepted(route, named, listener)?;
    let (rule, _) = backend(route)
        .ok_or_else(|| format!("{FIELD}: leads to an HTTPRoute without a backend; add one to its rules"))?;
    let path = path(route, rule)?;
    // A Gateway without an address cannot be reached, even if a host name is set.
    let address = address(named)?;
    let host = host(named, listener, route)?.unwrap_or(address);
    let scheme = if listener.protocol == "HTTPS" { "https" } else { "http" };
    let url = format!("{scheme}://{host}:{}{path}", listener.port);
    match url_problem(&url) {
        None => Ok(url),
        Some(problem) => Err(format!("{FIELD}: gives the URL {}; {problem}, or set target.url instead", quoted(&url))),
    }
}
