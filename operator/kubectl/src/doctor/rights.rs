//! [I/O] The user's rights in the namespace, as the API server reports them in SelfSubjectAccessReviews.

use futures::future::join_all;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::{Api, api::PostParams};

use super::finding::{Finding, State};
use crate::{
    commands::{CREATE_RUN, GET_RUN, logs::READ_LOG},
    connection::Connection,
    copy::{CREATE_POD, DELETE_POD, EXEC, GET_POD},
    failure::Right,
    follow::{LIST_RUNS, PORT_FORWARD, WATCH_RUNS},
};

const SUBJECT: &str = "rights";
/// The rights that a command needs.
struct Need {
    /// The commands that need the rights, as words with which a sentence can begin.
    commands: &'static str,
    rights: &'static [Right],
    /// Additional rights that Kubernetes requires since version 1.35.
    later: &'static [Right],
    /// The result of the check if one of the rights is missing.
    lack: State,
}

const NEEDS: [Need; 5] = [
    Need { commands: "wait and gate", rights: &[GET_RUN, LIST_RUNS, WATCH_RUNS], later: &[], lack: State::Failed },
    Need { commands: "run and rerun", rights: &[CREATE_RUN], later: &[], lack: State::Failed },
    Need { commands: "logs", rights: &[READ_LOG], later: &[], lack: State::Warning },
    Need {
        commands: "live progress",
        rights: &[PORT_FORWARD],
        later: &[Right::new("create", "", "pods/portforward", "edit")],
        lack: State::Warning,
    },
    Need {
        commands: "results",
        rights: &[CREATE_POD, GET_POD, DELETE_POD, EXEC],
        later: &[Right::new("create", "", "pods/exec", "edit")],
        lack: State::Warning,
    },
];

pub(super) async fn check(connection: &Connection) -> Vec<Finding> {
    join_all(NEEDS.iter().map(|it| need(connection, it))).await
}

async fn need(connection: &Connection, need: &Need) -> Finding {
    let namespace = &connection.namespace;
    let answers = join_all(need.rights.iter().chain(need.later).map(|it| may(connection, *it))).await;
    let answers = match answers.into_iter().collect::<Result<Vec<bool>, _>>() {
        Ok(answers) => answers,
        Err(error) => {
            let right = "create selfsubjectaccessreviews.authorization.k8s.io";
            return Finding::not_checked(SUBJECT, right, &error);
        }
    };
    let (now, later) = answers.split_at(need.rights.len());
    let lacking = |rights: &[Right], answers: &[bool]| {
        let lacking: Vec<Right> = rights.iter().zip(answers).filter(|(_, may)| !**may).map(|(it, _)| *it).collect();
        let names: Vec<String> = lacking.iter().map(Right::to_string).collect();
        lacking.first().map(|it| format!("{} in namespace {namespace}; ask for {}", names.join(", "), it.role()))
    };
    let commands = need.commands;
    match (lacking(need.rights, now), lacking(need.later, later)) {
        (Some(lacking), _) => {
            Finding { state: need.lack, subject: SUBJECT, text: format!("{commands}: you may not {lacking}") }
        }
        (None, Some(lacking)) => Finding::warning(
            SUBJECT,
            format!("{commands}: from Kubernetes 1.35 on, also needs rights that you lack: {lacking}"),
        ),
        (None, None) => Finding::ok(SUBJECT, format!("{commands} in namespace {namespace}")),
    }
}

async fn may(connection: &Connection, right: Right) -> Result<bool, kube::Error> {
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, sub)) => (resource, Some(sub.to_owned())),
        None => (right.resource, None),
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(connection.namespace.clone()),
                verb: Some(right.verb.to_owned()),
                group: Some(right.group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource,
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(connection.client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|it| it.allowed))
}

#[cfg(test)]
mod tests {
    use crds::benchmark_run::GROUP;

    use super::*;

    #[test]
    fn all_rights_on_runs_are_of_their_group() {
        let rights = NEEDS.iter().flat_map(|it| it.rights.iter().chain(it.later));
        for right in rights {
            let group = if right.resource == "benchmarkruns" { GROUP } else { "" };
            assert_eq!(right.group, group, "{right}");
        }
    }
}
