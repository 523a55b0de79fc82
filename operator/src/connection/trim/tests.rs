use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PODS: &str = "/api/v1/namespaces/bench/pods";
const RUNS: &str = "/apis/benchwright.dev/v1alpha1/benchmarkruns";

/// Trims a response that arrives in pieces of `piece` bytes.
fn trimmed(path: &str, answer: &str, piece: usize) -> String {
    let mut trimmer = Trimmer::new(path);
    let pieces = answer.as_bytes().chunks(piece.max(1)).map(|it| trimmer.trim(it));
    String::from_utf8(pieces.flat_map(|it| it.to_vec()).collect()).unwrap()
}

fn trimmed_value(path: &str, answer: &Value) -> Value {
    serde_json::from_str(&trimmed(path, &answer.to_string(), usize::MAX)).unwrap()
}

fn many(key: &str, number: usize) -> Value {
    (0..number).map(|it| (format!("{key}{it:06}"), json!(""))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn an_object_loses_what_is_never_read() {
    let metadata = json!({
        "name": "chat", "managedFields": [{"fieldsV1": {"f:spec": {}}}], "labels": {"a": "b"}, "uid": "u",
        "annotations": {"note": "x", "benchwright.dev/finished": "{\"name\": \"chat\"}", "zone": "y"},
        "finalizers": ["f"], "ownerReferences": [{"uid": "o", "controller": true}],
    });
    let kept = json!({
        "name": "chat", "labels": {"a": "b"}, "uid": "u",
        "annotations": {"benchwright.dev/finished": "{\"name\": \"chat\"}"},
        "finalizers": ["f"], "ownerReferences": [{"uid": "o", "controller": true}],
    });
    let spec = json!({"nodeName": "n", "containers": [{"env": [{"name": "a"}]}], "suspend": true, "metadata": {"managedFields": 1}});
    for (path, spec_kept) in [
        (PODS, json!({"nodeName": "n"})),
        ("/api/v1/namespaces/bench/pods/chat", json!({"nodeName": "n"})),
        ("/apis/batch/v1/jobs", json!({"suspend": true})),
        ("/apis/apps/v1/namespaces/pods/deployments/jobs", json!({})),
        (RUNS, spec.clone()),
        ("/apis/apps/v1/namespaces/jobs/replicasets/pods", spec.clone()),
    ] {
        let (object, wanted) =
            (json!({"metadata": metadata, "spec": spec}), json!({"metadata": kept, "spec": spec_kept}));
        assert_eq!(trimmed_value(path, &object), wanted, "{path}");
        let event = json!({"type": "ADDED", "object": object});
        assert_eq!(trimmed_value(path, &event), json!({"type": "ADDED", "object": wanted}), "{path}");
        let list = json!({"metadata": {"continue": "t"}, "items": [object, {}, object]});
        assert_eq!(
            trimmed_value(path, &list),
            json!({"metadata": {"continue": "t"}, "items": [wanted, {}, wanted]}),
            "{path}"
        );
    }
}

#[test]
fn an_object_keeps_few_labels_finalizers_and_owners() {
    let names: Vec<_> = (0..100_000).map(|it| json!(format!("f{it}"))).collect();
    let full = json!({"metadata": {
        "labels": many("l", 100_000), "finalizers": names, "annotations": many("benchwright.dev/a", 100_000), "name": "chat",
    }});
    let text = trimmed(RUNS, &full.to_string(), 1_000);
    assert!(text.len() < 3 * MOST_BYTES, "{}", text.len());
    let kept: Value = serde_json::from_str(&text).unwrap();
    let metadata = &kept["metadata"];
    for list in ["labels", "annotations"] {
        assert_eq!(metadata[list].as_object().unwrap().len(), MOST_ENTRIES, "{list}");
    }
    assert_eq!((metadata["finalizers"].as_array().unwrap().len(), &metadata["name"]), (MOST_ENTRIES, &json!("chat")));
}

/// The rules are dropped, because a rule of three bytes takes many times as much memory once it is parsed.
#[test]
fn a_network_policy_keeps_its_selector_and_no_rules() {
    let path = "/apis/networking.k8s.io/v1/namespaces/bench/networkpolicies";
    let rules: Vec<Value> = vec![json!({}); 100_000];
    let policy = |selector: &Value| json!({"spec": {"egress": rules, "ingress": rules, "podSelector": selector, "policyTypes": ["Egress"]}});
    let small = json!({"matchLabels": {"team": "a"}});
    let kept = json!({"spec": {"podSelector": small, "policyTypes": ["Egress"]}});
    assert_eq!(trimmed_value(path, &policy(&small)), kept);
    let large = json!({"matchLabels": many("l", 10_000)});
    assert_eq!(trimmed_value(path, &policy(&large)), json!({"spec": {"policyTypes": ["Egress"]}}));
}

#[test]
fn one_long_entry_is_dropped_and_the_next_object_is_whole() {
    let long = "x".repeat(MOST_BYTES);
    let object = |value: &str| json!({"metadata": {"ownerReferences": [{"name": value}, {"name": "short"}]}});
    let list = json!({"items": [object(&long), object("other")]});
    let wanted = json!({"items": [{"metadata": {"ownerReferences": [{"name": "short"}]}}, object("other")]});
    assert_eq!(trimmed_value(RUNS, &list), wanted);
}

#[test]
fn the_events_of_a_watch_stay_lines() {
    let line = "{\"type\": \"DELETED\", \"object\": {\"metadata\": {\"managedFields\": [{\"a\": \"}\\\"\"}], \"name\": \"a\\\\\"}}}\n";
    let wanted = "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\\\\\"}}}\n";
    for piece in 1..40 {
        assert_eq!(trimmed(RUNS, &line.repeat(3), piece), wanted.repeat(3), "{piece}");
    }
}

#[test]
fn what_is_no_object_passes() {
    for text in ["", "ok", "null\n", "[1, {\"metadata\": {\"managedFields\": 2}}]", "]}{", "{\"a\""] {
        let mut trimmer = Trimmer::new(PODS);
        trimmer.trim(text.as_bytes());
        trimmer.trim(text.as_bytes());
    }
    assert_eq!(trimmed(PODS, "forbidden: \"x\"", 3), "forbidden: \"x\"");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let key = prop_oneof![
        any::<String>(),
        "metadata|items|object|spec|labels|annotations|finalizers|ownerReferences|benchwright.dev/a"
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|it| Value::from(it.into_iter().collect::<serde_json::Map<_, _>>())),
        ]
    })
}

proptest! {
    /// For all sizes of pieces, the result is valid JSON. If nothing has to be trimmed, it is unchanged.
    #[test]
    fn any_json_stays_json(value in json_value(), piece in 1_usize..50, pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        for path in [RUNS, PODS] {
            let whole = trimmed(path, &text, usize::MAX);
            prop_assert_eq!(&trimmed(path, &text, piece), &whole);
            let kept: Value = serde_json::from_str(&whole).unwrap();
            if !text.contains("annotations") && !text.contains("managedFields") && path == RUNS {
                prop_assert_eq!(kept, value.clone());
            }
        }
    }
}
