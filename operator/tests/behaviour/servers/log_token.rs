//! Tests of the token for a server's log: which pods get it.

use crds::resolve::LOG_TOKEN;
use k8s_openapi::api::core::v1::Container;
use kube::ResourceExt as _;
use operator::plan::Child;

use super::*;

fn tokens(containers: &[Container]) -> Vec<Option<String>> {
    let env = containers.iter().flat_map(|it| it.env.iter().flatten());
    env.filter(|it| it.name == LOG_TOKEN).map(|it| it.value.clone()).collect()
}

#[test]
fn a_new_server_gets_the_token_of_its_log_and_the_container_of_the_wrapper_does_not() {
    let unwrapped = "{target: {server: {engine: Simulator, wrapper: false}}}";
    for (spec, expected) in [(ONE, 1), (REUSE, 1), (unwrapped, 0)] {
        let run = preparing(spec);
        let state = ServerState { log_token: Some("new".into()), ..ServerState::default() };
        let made = decide(&run, &before_launcher(&run, state), 1);
        let Some(Child::Deployment(deployment)) = made.create.last() else { panic!("{:?}", made.create) };
        let annotated = deployment.annotations().get("benchwright.dev/log-token").map(String::as_str);
        assert_eq!(annotated, (expected == 1).then_some("new"), "{spec}");
        let pod = deployment.spec.clone().unwrap().template.spec.unwrap();
        assert_eq!(tokens(&pod.containers), vec![Some("new".to_owned()); expected], "{spec}");
        assert!(tokens(&pod.init_containers.unwrap_or_default()).is_empty());
    }
}

/// The token must not be in the ConfigMap, because the report repeats its content.
#[test]
fn the_launcher_gets_the_token_of_its_server_in_no_file() {
    for spec in [ONE, KEEP, REUSE] {
        let run = with_ready_server(spec, Phase::Preparing);
        let state = ServerState { log_token: Some("5ec2e7".into()), ..exists(vec![ready("s-a")]) };
        let made = decide(&run, &before_launcher(&run, state), 31);
        let Some(Child::Job(job)) = made.create.last() else { panic!("{made:?}") };
        let pod = job.spec.clone().unwrap().template.spec.unwrap();
        assert_eq!(tokens(&pod.containers), [Some("5ec2e7".to_owned())], "{spec}");
        let config_map = made.create.iter().find_map(|it| match it {
            Child::ConfigMap(it) => Some(serde_json::to_string(it).unwrap()),
            _ => None,
        });
        assert!(!config_map.unwrap().contains("5ec2e7"), "{spec}");
    }
}
