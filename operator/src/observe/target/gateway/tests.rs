use serde_json::{Value, json};

use super::{url::*, *};

fn gateway(listeners: Value, addresses: Value) -> Gateway {
    serde_json::from_value(json!({"spec": {"listeners": listeners}, "status": {"addresses": addresses}})).unwrap()
}

fn plain() -> Gateway {
    gateway(
        json!([{"name": "http", "port": 80, "protocol": "HTTP"}]),
        json!([{"type": "IPAddress", "value": "10.0.0.7"}]),
    )
}

fn reference(text: &str) -> GatewayRef {
    serde_saphyr::from_str(text).unwrap()
}

/// A route with these rules that its Gateway has accepted.
fn route(namespace: &str, name: &str, rules: Value) -> Route {
    let parent = json!({"name": "gw", "namespace": "llm-d"});
    let value = json!({
        "spec": {"parentRefs": [parent], "rules": rules},
        "status": {"parents": [{"parentRef": parent, "conditions": [{"type": "Accepted", "status": "True"}]}]},
    });
    Route { name: name.into(), namespace: namespace.into(), ..serde_json::from_value(value).unwrap() }
}

fn to_pool(matches: Value) -> Value {
    json!([{"matches": matches, "backendRefs": [{"group": INFERENCE_GROUP, "kind": "InferencePool", "name": "pool"}]}])
}

fn prefix(value: &str) -> Value {
    json!([{"path": {"type": "PathPrefix", "value": value}}])
}

fn found(gateway: &Gateway, of: &str, routes: &[Route]) -> Result<String, String> {
    let reference = reference(of);
    let named = Named { reference: &reference, namespace: "llm-d", gateway };
    let listener = listener(&named)?;
    let route = super::url::route(&named, listener, routes)?;
    super::url::url(&named, listener, route)
}

const GW: &str = "{name: gw}";

#[test]
fn the_url_has_the_address_the_listener_and_the_path() {
    for (path, expected) in [
        (json!([]), "http://10.0.0.7:80"),
        (json!([{}]), "http://10.0.0.7:80"),
        (prefix("/"), "http://10.0.0.7:80"),
        (prefix("/llama"), "http://10.0.0.7:80/llama"),
        (prefix("/llama/"), "http://10.0.0.7:80/llama"),
        (prefix("/v1"), "http://10.0.0.7:80"),
        (prefix("/llama/v1/"), "http://10.0.0.7:80/llama"),
        (json!([{"path": {"type": "Exact", "value": "/a/v1/chat/completions"}}]), "http://10.0.0.7:80/a"),
        (json!([{"headers": [{"name": "a", "value": "b"}]}, {"path": {"value": "/b"}}]), "http://10.0.0.7:80/b"),
    ] {
        let url = found(&plain(), GW, &[route("llm-d", "llm", to_pool(path.clone()))]);
        assert_eq!(url.as_deref(), Ok(expected), "{path}");
    }
    let two = gateway(
        json!([{"name": "web", "port": 80, "protocol": "HTTP"}, {"name": "tls", "port": 443, "protocol": "HTTPS", "hostname": "llm.example.com"},
               {"name": "raw", "port": 9000, "protocol": "TCP"}]),
        json!([{"type": "IPAddress", "value": "2001:db8::7"}]),
    );
    let routes = [route("llm-d", "llm", to_pool(prefix("/")))];
    for (of, expected) in [
        ("{name: gw, sectionName: web}", "http://[2001:db8::7]:80"),
        ("{name: gw, port: 80}", "http://[2001:db8::7]:80"),
        ("{name: gw, sectionName: tls}", "https://llm.example.com:443"),
    ] {
        assert_eq!(found(&two, of, &routes).as_deref(), Ok(expected), "{of}");
    }
    let by_name = gateway(
        json!([{"name": "http", "port": 8080, "protocol": "HTTP", "hostname": "*.example.com"}]),
        json!([{"type": "Hostname", "value": "lb.example.net"}]),
    );
    let mut of_host = route("llm-d", "llm", to_pool(prefix("/")));
    of_host.spec.hostnames = vec!["*.example.com".into(), "llm.example.com".into()];
    assert_eq!(found(&by_name, GW, &[of_host]).as_deref(), Ok("http://llm.example.com:8080"));
}

#[test]
fn what_is_missing_or_ambiguous_is_named_with_a_remedy() {
    let pool = |name: &str| route("llm-d", name, to_pool(prefix("/")));
    let listeners =
        json!([{"name": "a", "port": 80, "protocol": "HTTP"}, {"name": "b", "port": 81, "protocol": "HTTP"}]);
    let address = json!([{"value": "10.0.0.7"}]);
    let two = gateway(listeners, address.clone());
    let tcp = gateway(json!([{"name": "t", "port": 9, "protocol": "TCP"}]), address.clone());
    let mut waits = plain();
    waits.status.addresses.clear();
    let mut refused = plain();
    refused.status.conditions =
        serde_json::from_value(json!([{"type": "Programmed", "status": "False", "reason": "Invalid"}])).unwrap();
    let mut unaccepted = pool("llm");
    unaccepted.status.parents.clear();
    let mut unresolved = pool("llm");
    let condition = json!({"type": "ResolvedRefs", "status": "False"});
    unresolved.status.parents[0].conditions.push(serde_json::from_value(condition).unwrap());
    let mut elsewhere = pool("llm");
    elsewhere.spec.parent_refs[0].name = "other".into();
    let mut of_listener = pool("llm");
    of_listener.spec.parent_refs[0].section_name = Some("b".into());
    let other_kind = json!([{"backendRefs": [{"group": "example.com", "kind": "Bucket", "name": "b"}]}]);
    let by_header = json!([{"headers": [{"name": "a", "value": "b"}]}]);
    let by_pattern = json!([{"path": {"type": "RegularExpression", "value": "/a.*"}}]);
    let mut wild = pool("llm");
    wild.spec.hostnames = vec!["*.example.com".into()];
    for (gateway, of, routes, expected) in [
        (
            &two,
            GW,
            vec![pool("llm")],
            "names Gateway \"gw\", and several listeners fit; name one in sectionName: a (HTTP 80), b (HTTP 81)",
        ),
        (
            &two,
            "{name: gw, sectionName: c}",
            vec![pool("llm")],
            "sectionName: is \"c\", and no listener for HTTP or HTTPS fits; it has a (HTTP 80)",
        ),
        (&two, "{name: gw, port: 82}", vec![pool("llm")], "port: is 82, and no listener"),
        (&two, "{name: gw, sectionName: a, port: 81}", vec![pool("llm")], "sectionName: is \"a\", and no listener"),
        (
            &two,
            "{name: gw, sectionName: a}",
            vec![of_listener],
            "no HTTPRoute to an InferencePool or a Service is attached",
        ),
        (&tcp, GW, vec![pool("llm")], "has no listener for HTTP or HTTPS; add one"),
        (
            &waits,
            GW,
            vec![pool("llm")],
            "has no address in its status; see whether its controller runs, or set target.url instead",
        ),
        (&refused, GW, vec![pool("llm")], "is not Programmed (\"Invalid\"); see its status"),
        (
            &plain(),
            GW,
            vec![],
            "no HTTPRoute to an InferencePool or a Service is attached to its listener \"http\"; create one",
        ),
        (&plain(), GW, vec![elsewhere.clone()], "no HTTPRoute to an InferencePool"),
        (&plain(), GW, vec![route("llm-d", "llm", other_kind.clone())], "no HTTPRoute to an InferencePool"),
        (&plain(), GW, vec![pool("one"), pool("two")], "several HTTPRoutes; name one in httpRoute: one, two"),
        (
            &plain(),
            "{name: gw, httpRoute: x}",
            vec![pool("llm")],
            "httpRoute: is \"x\", and there is no such HTTPRoute; create it",
        ),
        (&plain(), "{name: gw, httpRoute: llm}", vec![elsewhere], "none of its parentRefs is this Gateway"),
        (&plain(), "{name: gw, httpRoute: llm}", vec![route("llm-d", "llm", other_kind)], "none of its rules leads to"),
        (&plain(), GW, vec![unaccepted], "which its Gateway has not accepted; see the status of the route"),
        (&plain(), GW, vec![unresolved], "whose backends cannot be resolved"),
        (&plain(), GW, vec![route("llm-d", "llm", to_pool(by_header))], "set target.url instead"),
        (&plain(), GW, vec![route("llm-d", "llm", to_pool(by_pattern))], "regular expressions; set target.url instead"),
        (&plain(), GW, vec![wild], "wildcards; set target.url"),
        (&plain(), GW, vec![route("llm-d", "llm", to_pool(prefix("/a?b")))], "gives the URL"),
    ] {
        let error = found(gateway, of, &routes).unwrap_err();
        let named = error.starts_with("spec.target.gatewayRef") && error.contains(expected);
        assert!(named, "{error:?} does not hold {expected:?}");
    }
}

#[test]
fn of_several_routes_one_is_named_and_a_pool_comes_before_a_service() {
    let routes = [route("llm-d", "one", to_pool(prefix("/one"))), route("bench", "two", to_pool(prefix("/two")))];
    assert_eq!(found(&plain(), "{name: gw, httpRoute: two}", &routes).as_deref(), Ok("http://10.0.0.7:80/two"));
    let both = json!([
        {"matches": prefix("/web"), "backendRefs": [{"name": "web", "port": 80}]},
        {"matches": prefix("/llm"), "backendRefs": [{"group": INFERENCE_GROUP, "kind": "InferencePool", "name": "pool"}]},
    ]);
    assert_eq!(found(&plain(), GW, &[route("llm-d", "llm", both)]).as_deref(), Ok("http://10.0.0.7:80/llm"));
    let service = json!([{"backendRefs": [{"name": "web", "port": 80}]}]);
    assert_eq!(found(&plain(), GW, &[route("llm-d", "web", service)]).as_deref(), Ok("http://10.0.0.7:80"));
}

#[test]
fn another_route_with_the_same_hosts_and_paths_is_a_rival() {
    let gateway = plain();
    let reference = reference("{name: gw, httpRoute: llm}");
    let named = Named { reference: &reference, namespace: "llm-d", gateway: &gateway };
    let listener = listener(&named).unwrap();
    let own = route("llm-d", "llm", to_pool(prefix("/")));
    let alone = |other: Route| check_alone(&named, listener, &own, &[own.clone(), other]);
    let rival = route("bench", "old", to_pool(json!([])));
    let error = alone(rival.clone()).unwrap_err();
    assert!(error.contains("HTTPRoute \"old\" in namespace bench takes the same requests"), "{error}");
    let (mut of_host, mut elsewhere) = (rival.clone(), rival.clone());
    of_host.spec.hostnames = vec!["llm.example.com".into()];
    elsewhere.spec.parent_refs[0].name = "other".into();
    let (mut rejected, mut unseen) = (rival.clone(), rival);
    rejected.status.parents[0].conditions[0].status = "False".into();
    unseen.status.parents.clear();
    for other in [own.clone(), of_host, elsewhere, rejected, unseen, route("bench", "b", to_pool(prefix("/other")))] {
        assert_eq!(alone(other.clone()), Ok(()), "{other:?}");
    }
}

#[test]
fn a_pool_selects_by_labels() {
    let pool: Pool =
        serde_json::from_value(json!({"spec": {"selector": {"matchLabels": {"b": "2", "a": "1"}}}})).unwrap();
    assert_eq!(pool.selector(), "a=1,b=2");
    assert_eq!(Pool::default().selector(), "");
}

#[test]
fn a_grant_is_for_runs_of_a_namespace_and_for_gateways() {
    let allows = |from: Value, to: Value| {
        let grant: Grant = serde_json::from_value(json!({"spec": {"from": [from], "to": [to]}})).unwrap();
        grant.allows("bench", "gw")
    };
    let from = |namespace: &str| json!({"group": "benchwright.dev", "kind": "BenchmarkRun", "namespace": namespace});
    let to = |name: Value| json!({"group": GROUP, "kind": "Gateway", "name": name});
    assert!(allows(from("bench"), to(Value::Null)) && allows(from("bench"), to(json!("gw"))));
    assert!(!allows(from("other"), to(Value::Null)), "of another namespace");
    assert!(!allows(from("bench"), to(json!("gw2"))), "to another Gateway");
    assert!(!allows(json!({"group": GROUP, "kind": "HTTPRoute", "namespace": "bench"}), to(Value::Null)));
    assert!(!allows(from("bench"), json!({"group": "", "kind": "Service"})));
}
