use serde_json::{Value, json};

use super::*;

fn pod(metadata: Value, status: Value) -> Pod {
    serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap()
}

#[test]
fn a_pod_works_until_its_launcher_has_ended_or_its_node_is_lost() {
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let container = |state: Value| json!({"containerStatuses": [{"name": "launcher", "image": "i", "imageID": "i", "ready": false, "restartCount": 0, "state": state}]});
    let deleted = |time: &str| json!({"deletionTimestamp": time});
    for (metadata, status, expected) in [
        (json!({}), json!({"phase": "Pending"}), true),
        (json!({}), container(json!({"running": {}})), true),
        (json!({}), container(json!({"terminated": {"exitCode": 0}})), false),
        (json!({}), json!({"phase": "Succeeded"}), false),
        (json!({}), json!({"phase": "Failed"}), false),
        (deleted("2026-01-02T03:04:35Z"), container(json!({"running": {}})), true),
        (deleted("2026-01-02T03:03:05Z"), container(json!({"running": {}})), true),
        (deleted("2026-01-02T03:03:04Z"), container(json!({"running": {}})), false),
    ] {
        assert_eq!(is_at_work(&pod(metadata.clone(), status.clone()), now), expected, "{metadata} {status}");
    }
}
