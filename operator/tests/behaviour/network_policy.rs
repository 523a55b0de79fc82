//! Tests of an attempt's NetworkPolicy: which addresses its pod may reach, and when it is created.

use std::collections::BTreeMap;

use crds::{
    Settings,
    resolve::{Egress, MetricsEndpoint, NetworkPolicySettings, Scraper},
    status::Phase,
};
use k8s_openapi::api::{
    core::v1::Service,
    networking::v1::{NetworkPolicy, NetworkPolicySpec},
};
use operator::plan::{
    LauncherInput, Turn,
    network_policy::{Governed, Reach, build, note_governed, reach},
    plan,
};

use crate::behaviour::fixture::*;

const OF_SERVICE: &str = "{target: {serviceRef: {name: model, port: 80}}}";
const SELECTED: &str = "{selector: {app: vllm}, clusterIP: 10.96.0.7, ports: [{port: 443, targetPort: 8443}, {port: 80, targetPort: 8000}]}";

fn service(spec: &str) -> Service {
    Service { spec: Some(serde_saphyr::from_str(spec).unwrap()), ..Service::default() }
}

fn pods(port: Option<i32>) -> Reach {
    Reach::Pods { labels: [("app".to_owned(), "vllm".to_owned())].into(), ports: port.into_iter().collect() }
}

#[track_caller]
fn assert_reach(spec: &str, service_spec: Option<&str>, change: impl Fn(&mut LauncherInput), expected: Reach) {
    let run = run(spec);
    let mut input = input(&run, 1);
    change(&mut input);
    assert_eq!(
        reach(&run, &input, service_spec.map(service).as_ref(), &settings()),
        expected,
        "{spec} {service_spec:?}"
    );
}

#[test]
fn a_run_reaches_the_pods_of_its_service_on_their_port_and_nothing_else() {
    let as_it_is = |_: &mut LauncherInput| ();
    assert_reach(OF_SERVICE, Some(SELECTED), as_it_is, pods(Some(8000)));
    let named = "{selector: {app: vllm}, ports: [{port: 80, targetPort: http}]}";
    assert_reach(OF_SERVICE, Some(named), as_it_is, pods(None));
    let same = "{selector: {app: vllm}, ports: [{port: 80}]}";
    assert_reach(OF_SERVICE, Some(same), as_it_is, pods(Some(80)));
    let headless = "{selector: {app: vllm}, clusterIP: None, ports: [{port: 80, targetPort: 8000}]}";
    assert_reach(OF_SERVICE, Some(headless), as_it_is, pods(Some(80)));
    assert_reach(SIMULATOR, None, as_it_is, Reach::Nothing);
}

#[test]
fn a_service_without_pods_of_its_own_and_more_than_the_target_need_the_wide_form() {
    let as_it_is = |_: &mut LauncherInput| ();
    for spec in [
        "{ports: [{port: 80}]}",
        "{selector: {}, ports: [{port: 80}]}",
        "{selector: {app: vllm}, ports: [{port: 81}]}",
        "{selector: {app: vllm}, type: ExternalName, externalName: example.com, ports: [{port: 80}]}",
    ] {
        assert_reach(OF_SERVICE, Some(spec), as_it_is, Reach::Anywhere);
    }
    assert_reach(OF_SERVICE, None, as_it_is, Reach::Anywhere);
    assert_reach("{target: {url: 'http://model:80'}}", None, as_it_is, Reach::Anywhere);
    let metrics = |url: &str| Some(vec![MetricsEndpoint { url: url.to_owned(), kind: Default::default() }]);
    let at_target = |it: &mut LauncherInput| it.run.metrics = metrics("http://model.bench.svc.cluster.local:80/stats");
    assert_reach(OF_SERVICE, Some(SELECTED), at_target, pods(Some(8000)));
    let elsewhere = |it: &mut LauncherInput| it.run.metrics = metrics("http://epp:9090/metrics");
    assert_reach(OF_SERVICE, Some(SELECTED), elsewhere, Reach::Anywhere);
    assert_reach(SIMULATOR, None, elsewhere, Reach::Anywhere);
    let files = |it: &mut LauncherInput| it.remote_files = true;
    assert_reach(OF_SERVICE, Some(SELECTED), files, Reach::Anywhere);
    assert_reach(SIMULATOR, None, files, Reach::Anywhere);
    let bucket = "{target: {simulator: {}}, storage: {s3: {bucket: bench, endpoint: 'http://minio:9000', secretRef: {name: s}}}}";
    assert_reach(bucket, None, as_it_is, Reach::Anywhere);
}

fn spec_of(reach: &Reach, settings: &NetworkPolicySettings, egress: Option<&Egress>) -> NetworkPolicySpec {
    build(&run(SIMULATOR), 1, reach, false, settings, egress).spec.unwrap()
}

#[test]
fn a_policy_for_each_form() {
    let labels = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    let scraper = Scraper { namespace_labels: labels("team", "monitoring"), pod_labels: labels("app", "prometheus") };
    let egress = Egress {
        blocked: ["169.254.0.0/16", "fd00:ec2::254", "10.0.0.1", "::ffff:192.0.2.0/120"].map(str::to_owned).into(),
        allowed_hosts: ["10.0.0.1", "models.example.com"].map(str::to_owned).into(),
    };
    let scraped = NetworkPolicySettings { scraper: Some(scraper) };
    let alone = NetworkPolicySettings::default();
    let forms = [
        build(&run(SIMULATOR), 1, &Reach::Nothing, false, &alone, Some(&egress)),
        build(&run(SIMULATOR), 1, &pods(Some(8000)), false, &scraped, Some(&egress)),
        build(&run(SIMULATOR), 1, &Reach::Anywhere, false, &alone, Some(&egress)),
        build(&run(SIMULATOR), 1, &pods(Some(8000)), true, &alone, Some(&egress)),
        build(&run(SIMULATOR), 1, &Reach::Anywhere, true, &alone, Some(&egress)),
    ];
    let texts: String = forms.iter().map(|it| format!("---\n{}", serde_saphyr::to_string(it).unwrap())).collect();
    insta::assert_snapshot!(texts);
}

#[test]
fn a_namespace_governs_a_pod_if_a_policy_of_others_selects_it_for_egress() {
    let run = run("{target: {simulator: {}}, launcher: {labels: {team: search}}}");
    let policy = |labels: &str, spec: &str| -> NetworkPolicy {
        serde_saphyr::from_str(&format!("{{metadata: {{name: p, labels: {labels}}}, spec: {spec}}}")).unwrap()
    };
    for (labels, spec, governs) in [
        ("{}", "{podSelector: {}, policyTypes: [Ingress, Egress]}", true),
        ("{}", "{podSelector: {}, policyTypes: [Ingress], ingress: []}", false),
        ("{}", "{podSelector: {matchLabels: {team: search}}, policyTypes: [Egress]}", true),
        ("{}", "{podSelector: {matchLabels: {team: shop}}, policyTypes: [Egress]}", false),
        ("{}", "{podSelector: {matchLabels: {benchwright.dev/run: chat}}, policyTypes: [Egress]}", true),
        (
            "{}",
            "{podSelector: {matchExpressions: [{key: team, operator: NotIn, values: [shop]}]}, policyTypes: [Egress]}",
            true,
        ),
        ("{}", "{podSelector: {matchExpressions: [{key: team, operator: Odd}]}, policyTypes: [Egress]}", true),
        // The operator created this policy for another run, so it does not count.
        ("{app.kubernetes.io/managed-by: benchwright-operator}", "{podSelector: {}, policyTypes: [Egress]}", false),
    ] {
        let mut found = Governed::default();
        note_governed(&run, 1, &[policy(labels, spec)], &settings(), &mut found);
        assert_eq!(found, Governed { egress: governs, server_ingress: false }, "{labels} {spec}");
    }
}

#[test]
fn a_policy_of_ingress_governs_the_server_of_a_run() {
    let of_server = run("{target: {server: {engine: Simulator}}}");
    let deny: NetworkPolicy =
        serde_saphyr::from_str("{metadata: {name: p}, spec: {podSelector: {}, policyTypes: [Ingress]}}").unwrap();
    let mut found = Governed::default();
    note_governed(&of_server, 1, &[deny], &settings(), &mut found);
    assert_eq!(found, Governed { egress: false, server_ingress: true });
}

/// The API server would refuse an exception that is as large as its network.
#[test]
fn a_family_that_is_blocked_altogether_is_left_out() {
    let egress = Egress { blocked: vec!["::/0".into(), "10.0.0.0/8".into()], allowed_hosts: Vec::new() };
    let spec = spec_of(&Reach::Anywhere, &NetworkPolicySettings::default(), Some(&egress));
    let rule = spec.egress.unwrap().pop().unwrap();
    let blocks: Vec<_> = rule.to.unwrap().into_iter().filter_map(|it| it.ip_block).collect();
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    assert_eq!(blocks[0].cidr, "0.0.0.0/0");
    assert_eq!(blocks[0].except, Some(vec!["10.0.0.0/8".to_owned()]));
}

#[test]
fn the_policy_is_created_before_the_job_and_only_where_the_installation_wants_it() {
    let run = in_phase(SIMULATOR, Phase::Preparing);
    let on = Settings { network_policy: Some(NetworkPolicySettings::default()), ..settings() };
    for (settings, expected) in [
        (on, ["ConfigMap", "NetworkPolicy", "PersistentVolumeClaim", "Job"].as_slice()),
        (settings(), &["ConfigMap", "PersistentVolumeClaim", "Job"]),
    ] {
        let made = plan(&run, &nothing(&run), &Turn { settings: &settings, now: at(1) });
        let kinds: Vec<_> = made.create.iter().map(kind).collect();
        assert_eq!(kinds, expected);
    }
}
