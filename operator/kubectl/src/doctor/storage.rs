//! [I/O] Checks whether results can be stored: the default claim of runs exists, or a StorageClass can provide it.

use crds::{benchmark_run::Storage, resolve::claim};
use k8s_openapi::api::{core::v1::PersistentVolumeClaim, storage::v1::StorageClass};
use kube::{Api, ResourceExt as _, api::ListParams};

use super::finding::Finding;
use crate::{connection::Connection, failure::code_of};

const SUBJECT: &str = "storage";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

pub(super) async fn check(connection: &Connection) -> Option<Finding> {
    let name = claim(&Storage::default())?.claim_name;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(connection.client.clone(), &connection.namespace);
    Some(match claims.get(&name).await {
        Ok(found) => judge(&name, &found),
        Err(error) if code_of(&error) == Some(404) => class(connection, &name).await,
        Err(error) => Finding::not_checked(SUBJECT, &format!("get persistentvolumeclaim {name}"), &error),
    })
}

fn judge(name: &str, claim: &PersistentVolumeClaim) -> Finding {
    let phase = claim.status.as_ref().and_then(|it| it.phase.as_deref()).unwrap_or_default();
    match phase {
        "Bound" => Finding::ok(SUBJECT, format!("claim {name} is bound")),
        "Lost" => Finding::failed(
            SUBJECT,
            format!("claim {name} has lost its volume; restore the volume, or name another claim"),
        ),
        // An unbound claim is no error, because a StorageClass can wait for the first pod.
        _ => Finding::warning(
            SUBJECT,
            format!(
                "claim {name} has no volume yet; `kubectl describe pvc {name}` says whether it waits for a run or for a provisioner"
            ),
        ),
    }
}

async fn class(connection: &Connection, name: &str) -> Finding {
    let classes: Api<StorageClass> = Api::all(connection.client.clone());
    let found = match classes.list(&ListParams::default()).await {
        Ok(found) => found.items,
        Err(error) => return Finding::not_checked(SUBJECT, "list storageclasses.storage.k8s.io", &error),
    };
    let default = found.iter().find(|it| it.annotations().get(DEFAULT_CLASS).is_some_and(|it| it == "true"));
    match default {
        Some(class) => Finding::ok(
            SUBJECT,
            format!("claim {name} will be made with the default StorageClass {}", class.name_any()),
        ),
        None => Finding::warning(
            SUBJECT,
            format!(
                "there is neither claim {name} nor a default StorageClass; set storage.pvc.storageClassName, storage.pvc.claimName or storage.none in each run"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::State, *};

    #[test]
    fn a_claim_is_bound_waits_or_is_lost() {
        for (phase, state) in [("Bound", State::Ok), ("Pending", State::Warning), ("Lost", State::Failed)] {
            let claim = serde_json::from_value(json!({"metadata": {}, "status": {"phase": phase}})).unwrap();
            assert_eq!(judge("workload-pvc", &claim).state, state, "{phase}");
        }
    }
}
