//! The NetworkPolicy of an attempt: which addresses its pod can reach, and which pods can reach it. It is created before the Job, because a later
//! policy would not end existing connections. It need not allow the kubelet's probes, because these come from the node, and policies do not apply to
//! the node.
//!
//! NetworkPolicies are additive: no policy can forbid what another policy allows. If another policy in the namespace selects the launcher, that
//! policy already defines what the launcher can reach. The operator's policy then only adds the pods of the target's Service and the cluster's DNS.

use std::{collections::BTreeMap, net::IpAddr};

use crds::{
    BenchmarkRun, Settings,
    benchmark_run::Server as ManagedServer,
    resolve::{Egress, Endpoint, NetworkPolicySettings, STATUS_PORT, Scraper, ServerNames, managed_server},
};
use k8s_openapi::{
    api::{
        core::v1::Service,
        networking::v1::{
            IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
            NetworkPolicyPort, NetworkPolicySpec,
        },
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};
use kube::{
    ResourceExt as _,
    core::{Selector, SelectorExt as _},
};
use policy::Server;

use super::{LauncherInput, job, meta};

/// The port of DNS servers.
const DNS_PORT: i32 = 53;

/// The addresses that the pod of an attempt must reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// All addresses that are not blocked, as far as the namespace allows them. Used for a URL, a Gateway, a Service without a pod selector, and a
    /// run that connects to other hosts besides its target.
    #[default]
    Anywhere,
    /// Only the pods of the target's Service.
    Pods {
        /// The selector of the Service.
        labels: BTreeMap<String, String>,
        /// The ports of the pods. Empty if the port can differ between the pods.
        ports: Vec<i32>,
    },
    /// No address, because the simulator runs inside the pod itself.
    Nothing,
}

/// The addresses that an attempt must reach. `service` is the Service that the spec names as target. `None` if that Service does not exist.
pub fn reach(run: &BenchmarkRun, input: &LauncherInput, service: Option<&Service>, settings: &Settings) -> Reach {
    let endpoint = &input.run.endpoint;
    let target = Server::parse(endpoint.name());
    if let (Some(server), Endpoint::Url(_)) = (managed_server(&run.spec), endpoint) {
        return reach_of_server(run, input, server, settings);
    }
    let metrics = input.run.metrics.iter().flatten();
    let only_target = !input.remote_files
        && input.run.upload.is_none()
        && metrics.into_iter().all(|it| Server::parse(&it.url) == target);
    match (endpoint, &run.spec.target.service_ref, service) {
        (Endpoint::Simulator(_), ..) if only_target => Reach::Nothing,
        (Endpoint::Url(_), Some(_), Some(found)) if only_target => {
            target.and_then(|it| pods_of(found, it.port.into())).unwrap_or_default()
        }
        _ => Reach::Anywhere,
    }
}

/// The pods of the server that the run starts, unless the launcher must also connect to other hosts.
fn reach_of_server(run: &BenchmarkRun, input: &LauncherInput, server: &ManagedServer, settings: &Settings) -> Reach {
    let names = ServerNames::new(&meta::identity(run, 1), server, settings);
    // By default the metrics come from the server, so no other host is needed for them.
    let only_server = !input.remote_files && input.run.upload.is_none() && run.spec.target.metrics.is_none();
    let port = Server::parse(input.run.endpoint.name()).map(|it| it.port.into());
    let log = input.run.server.as_ref().and_then(|it| Some(it.log.as_ref()?.port.into()));
    let ports = port.into_iter().chain(log).collect();
    if only_server { Reach::Pods { labels: meta::server_selector(run, &names), ports } } else { Reach::Anywhere }
}

/// The pods behind a port of a Service. `None` if the Service has no pod selector.
fn pods_of(service: &Service, asked: i32) -> Option<Reach> {
    let spec = service.spec.as_ref()?;
    let labels = spec.selector.clone().filter(|it| !it.is_empty())?;
    if spec.type_.as_deref() == Some("ExternalName") {
        return None;
    }
    let ports = spec.ports.iter().flatten();
    let target = ports.into_iter().find(|it| it.port == asked)?.target_port.as_ref();
    // The name of a headless Service resolves to its pods, so clients connect to a pod on the port of the URL, not on the target port.
    let headless = spec.cluster_ip.as_deref() == Some("None");
    let port = match target {
        None => Some(asked),
        Some(_) if headless => Some(asked),
        Some(IntOrString::Int(port)) => Some(*port),
        Some(IntOrString::String(_)) => None,
    };
    Some(Reach::Pods { labels, ports: port.into_iter().collect() })
}

/// Which traffic the NetworkPolicies of a namespace restrict, apart from the operator's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Governed {
    /// The egress of the attempt's pod is restricted.
    pub egress: bool,
    /// The ingress of the server's pods that the run starts is restricted.
    pub server_ingress: bool,
}

impl Governed {
    /// Whether all traffic is already restricted, so that further policies need not be read.
    pub fn is_whole(self) -> bool {
        self.egress && self.server_ingress
    }
}

/// Records which traffic these policies restrict.
pub fn note_governed(
    run: &BenchmarkRun,
    attempt: u32,
    policies: &[NetworkPolicy],
    settings: &Settings,
    governed: &mut Governed,
) {
    governed.egress |= restricts(policies, &job::pod_labels(run, attempt), "Egress");
    if let Some(server) = managed_server(&run.spec) {
        let names = ServerNames::new(&meta::identity(run, 1), server, settings);
        governed.server_ingress |= restricts(policies, &meta::server_labels(run, &names), "Ingress");
    }
}

/// Whether one of these policies restricts a pod with these labels in this direction. The operator's own policies are ignored.
fn restricts(policies: &[NetworkPolicy], labels: &BTreeMap<String, String>, direction: &str) -> bool {
    policies.iter().filter(|it| !meta::is_managed(&it.metadata)).filter_map(|it| it.spec.as_ref()).any(|it| {
        // The types are always set, because the API server fills in their default.
        let is_of_direction = it.policy_types.iter().flatten().any(|it| it == direction);
        // A selector that this code does not support is assumed to select the pod.
        let selects =
            it.pod_selector.clone().is_none_or(|it| Selector::try_from(it).map_or(true, |it| it.matches(labels)));
        is_of_direction && selects
    })
}

/// Builds the policy. `egress` contains the blocked networks in the run's input. `is_governed` states whether another policy of the namespace
/// restricts the egress of the pod.
pub fn build(
    run: &BenchmarkRun,
    attempt: u32,
    reach: &Reach,
    is_governed: bool,
    settings: &NetworkPolicySettings,
    egress: Option<&Egress>,
) -> NetworkPolicy {
    let rules = egress_rules(reach, is_governed, egress);
    let types = std::iter::once("Ingress").chain(rules.is_some().then_some("Egress"));
    let own = BTreeMap::from([
        (meta::RUN_UID.to_owned(), run.uid().unwrap_or_default()),
        (meta::ATTEMPT.to_owned(), attempt.to_string()),
    ]);
    NetworkPolicy {
        metadata: meta::owned(run, attempt, meta::attempt_name(run, attempt)),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selector(own)),
            policy_types: Some(types.map(str::to_owned).collect()),
            ingress: Some(settings.scraper.iter().map(ingress).collect()),
            egress: rules,
        }),
    }
}

fn ingress(scraper: &Scraper) -> NetworkPolicyIngressRule {
    NetworkPolicyIngressRule {
        from: Some(vec![NetworkPolicyPeer {
            namespace_selector: Some(selector(scraper.namespace_labels.clone())),
            pod_selector: Some(selector(scraper.pod_labels.clone())),
            ip_block: None,
        }]),
        ports: Some(vec![port("TCP", STATUS_PORT.into())]),
    }
}

/// The egress rules. `None` if only the other policies of the namespace decide.
fn egress_rules(reach: &Reach, is_governed: bool, egress: Option<&Egress>) -> Option<Vec<NetworkPolicyEgressRule>> {
    // DNS requests may go to all addresses, because a DNS cache on the node has an address of the node. If the namespace restricts egress, they may
    // only go to the pods of the cluster's DNS.
    let to = is_governed.then(|| vec![cluster_dns()]);
    let dns = NetworkPolicyEgressRule { to, ports: Some(vec![port("UDP", DNS_PORT), port("TCP", DNS_PORT)]) };
    let target = match reach {
        Reach::Nothing => return Some(Vec::new()),
        Reach::Anywhere if is_governed => return None,
        Reach::Pods { labels, ports } => NetworkPolicyEgressRule {
            to: Some(vec![pods(labels.clone())]),
            ports: Some(ports.iter().map(|it| port("TCP", *it)).collect()).filter(|it: &Vec<_>| !it.is_empty()),
        },
        Reach::Anywhere => NetworkPolicyEgressRule { to: Some(everything_but(egress)), ports: None },
    };
    Some(vec![dns, target])
}

/// The pods of the cluster's DNS. kubeadm and cloud providers give them these labels.
fn cluster_dns() -> NetworkPolicyPeer {
    let labels = |key: &str, value: &str| selector(BTreeMap::from([(key.to_owned(), value.to_owned())]));
    NetworkPolicyPeer {
        namespace_selector: Some(labels("kubernetes.io/metadata.name", "kube-system")),
        pod_selector: Some(labels("k8s-app", "kube-dns")),
        ip_block: None,
    }
}

/// All IPv4 and IPv6 addresses outside of the blocked networks, plus the exceptions to these networks. Exceptions that are host names are left out,
/// because a policy cannot contain them.
fn everything_but(egress: Option<&Egress>) -> Vec<NetworkPolicyPeer> {
    let blocked: Vec<_> = egress.iter().flat_map(|it| &it.blocked).filter_map(|it| network(it)).collect();
    let allowed = egress.iter().flat_map(|it| &it.allowed_hosts).filter_map(|it| network(it));
    let everything = [("0.0.0.0/0", true), ("::/0", false)].into_iter().filter_map(|(all, four)| {
        let of_family = blocked.iter().filter(|it| it.four == four);
        // The API server requires that an exception is smaller than its network.
        if of_family.clone().any(|it| it.prefix == 0) {
            return None;
        }
        let except: Vec<_> = of_family.map(|it| it.text.clone()).collect();
        Some(block(all.to_owned(), Some(except).filter(|it| !it.is_empty())))
    });
    everything.chain(allowed.map(|it| block(it.text, None))).collect()
}

/// A network in the notation that the API server accepts.
struct Network {
    text: String,
    four: bool,
    prefix: u8,
}

/// Parses a network in CIDR notation, or an address. `None` for a host name. A network of IPv4-mapped IPv6 addresses becomes an IPv4 network.
fn network(text: &str) -> Option<Network> {
    let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let read: IpAddr = address.parse().ok()?;
    let canonical = read.to_canonical();
    let longest = if canonical.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix {
        None => longest,
        Some(prefix) => prefix.parse::<u8>().ok()?.checked_sub(if canonical == read { 0 } else { 96 })?,
    };
    let prefix = Some(prefix).filter(|it| *it <= longest)?;
    Some(Network { text: format!("{canonical}/{prefix}"), four: canonical.is_ipv4(), prefix })
}

fn block(cidr: String, except: Option<Vec<String>>) -> NetworkPolicyPeer {
    NetworkPolicyPeer { ip_block: Some(IPBlock { cidr, except }), ..NetworkPolicyPeer::default() }
}

/// Selects the pods in the policy's namespace that have these labels.
pub(in crate::plan) fn pods(labels: BTreeMap<String, String>) -> NetworkPolicyPeer {
    NetworkPolicyPeer { pod_selector: Some(selector(labels)), ..NetworkPolicyPeer::default() }
}

/// A selector for these labels. Without labels it selects everything.
pub(in crate::plan) fn selector(labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels).filter(|it| !it.is_empty()), match_expressions: None }
}

/// One port of a protocol: `TCP` or `UDP`.
pub(in crate::plan) fn port(protocol: &str, number: i32) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.into()),
        port: Some(IntOrString::Int(number)),
        ..NetworkPolicyPort::default()
    }
}
