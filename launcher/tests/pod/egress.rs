//! Addresses that a launcher in a cluster must not call.

use crds::{
    benchmark_run::MetricsKind,
    resolve::{Egress, Endpoint, MetricsEndpoint},
};

use crate::pod::fixture::{Pod, Server, blocked_as_in_a_cluster, healthy};

/// Runs a pod that must refuse its input. Checks the exit code, the reason and the message, and that the server received no connection.
fn assert_refused(pod: &Pod, server: &Server, parts: &[&str]) {
    let output = pod.run();
    let envelope = pod.envelope();
    assert_eq!((output.status.code(), envelope.core.reason.as_str()), (Some(10), "ConfigInvalid"), "{output:?}");
    let message = &envelope.core.message;
    assert!(parts.iter().all(|it| message.contains(it)), "{message}");
    assert_eq!(server.heads(), [""; 0]);
}

#[test]
fn a_blocked_target_ends_the_run_at_once() {
    let (pod, server) = (Pod::new(), Server::model());
    for (host, found) in [
        ("127.0.0.1", "is 127.0.0.1, which is loopback"),
        ("2130706433", "resolves to 127.0.0.1, which is loopback"),
        ("0x7f.1", "resolves to 127.0.0.1, which is loopback"),
        ("[::ffff:127.0.0.1]", "is 127.0.0.1, which is loopback"),
        ("localhost", "which is loopback"),
        ("169.254.169.254", "is 169.254.169.254, which is link-local"),
    ] {
        let url = format!("http://{host}:{}", server.port);
        // If the launcher waited for this target, the wait would take ten minutes.
        pod.mount(&format!("target: {{url: '{url}', readiness: {{timeoutSeconds: 600}}}}"), blocked_as_in_a_cluster);
        assert_refused(&pod, &server, &["target.url: ", &url, found, "name a server at another address"]);
    }
}

#[test]
fn the_api_server_is_not_called() {
    let (pod, server) = (Pod::new(), Server::model());
    pod.mount_url(&server.url(), |run| run.egress = Some(Egress::default()));
    let output = pod.command().env("KUBERNETES_SERVICE_HOST", "127.0.0.1").output().unwrap();
    let message = pod.envelope().core.message;
    assert_eq!(output.status.code(), Some(10), "{output:?}");
    assert!(message.contains("is 127.0.0.1, which is the address of the API server"), "{message}");
    assert_eq!(server.heads(), [""; 0]);
}

#[test]
fn blocked_metrics_and_sockets_are_refused() {
    let (pod, server) = (Pod::new(), Server::model());
    let metrics = MetricsEndpoint { url: format!("{}/metrics", server.url()), kind: MetricsKind::Auto };
    pod.mount("target: {simulator: {preset: Tiny}}", |run| {
        blocked_as_in_a_cluster(run);
        run.metrics = Some(vec![metrics]);
    });
    assert_refused(&pod, &server, &["target.metrics[0]: ", "is 127.0.0.1, which is loopback"]);
    pod.mount_url("http://server", |run| {
        blocked_as_in_a_cluster(run);
        run.endpoint = Endpoint::Url("unix:/run/containerd/containerd.sock".into());
    });
    assert_refused(&pod, &server, &["target.url: unix:/run/containerd/containerd.sock is the path of a socket"]);
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let (pod, server) = (Pod::new(), Server::model());
    let blocked = vec!["10.0.0.0/33".to_owned(), "host".to_owned()];
    pod.mount_url(&server.url(), |run| run.egress = Some(Egress { blocked, ..Egress::default() }));
    assert_refused(&pod, &server, &["egress.blocked[0]: is \"10.0.0.0/33\"", "egress.blocked[1]: is \"host\""]);
}

#[test]
fn the_simulator_of_the_pod_and_excepted_hosts_are_called() {
    let pod = Pod::new();
    pod.mount("target: {simulator: {preset: Tiny}}", blocked_as_in_a_cluster);
    let output = pod.run();
    assert_eq!((output.status.code(), pod.envelope().core.outcome), (Some(0), crds::Outcome::Passed), "{output:?}");
    let (pod, server) = (Pod::new(), Server::model());
    pod.mount_url(&server.url(), |run| {
        let allowed_hosts = vec!["127.0.0.1".to_owned()];
        run.egress = Some(Egress { allowed_hosts, ..Egress::cluster_default() });
    });
    let output = pod.run();
    assert_eq!((output.status.code(), pod.envelope().core.outcome), (Some(0), crds::Outcome::Passed), "{output:?}");
}

#[test]
fn a_redirect_does_not_lead_to_a_blocked_address() {
    let pod = Pod::new();
    let forbidden = Server::at("127.0.0.2:0", |_, head| healthy(head));
    let location = format!("http://127.0.0.2:{}", forbidden.port);
    let redirects = Server::start(move |_, _| {
        format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    });
    pod.mount_url(&redirects.url(), |run| {
        let allowed_hosts = vec!["127.0.0.1".to_owned()];
        run.egress = Some(Egress { allowed_hosts, ..Egress::cluster_default() });
    });
    let output = pod.run();
    assert_eq!(output.status.code(), Some(11), "{output:?}");
    assert!(!redirects.heads().is_empty() && forbidden.heads().is_empty());
}
