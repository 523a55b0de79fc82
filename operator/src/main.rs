//! `benchwright-operator`: flags, logging, watches, shutdown.

#[cfg(test)]
mod reference;

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};
use crds::{
    AnyValue, Settings,
    benchmark_run::{MAX_RESOURCE_NAME, MAX_RESOURCES, Resources},
    schema::{MAX_QUANTITY, is_quantity},
};
use futures::future::join_all;
use kube::{Client, Config, runtime::events::Reporter};
use operator::{
    admin::{self, Caches},
    connection::{self, Health, Limits},
    context::Context,
    leadership::{Candidate, Election, Fence, Held},
    plan::meta,
    pod_flags::PodFlags,
    schedules, servers,
    smoke_test::{self, SmokeTest},
    sweeps,
    traces::{self, Traces},
    watches,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::{oneshot, watch},
};
use tracing::{Dispatch, error, info};
use tracing_subscriber::{EnvFilter, Layer as _, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// Maximum time at shutdown to write the last events.
const LAST_EVENTS: Duration = Duration::from_secs(3);
/// Maximum time at shutdown to send the last traces.
const LAST_TRACES: Duration = Duration::from_secs(3);
/// Time limit of `remove-servers`. It is one minute shorter than the deadline of the Job in the chart's hook.
const REMOVAL_LIMIT: Duration = Duration::from_secs(180);
/// The exit code of a replica that lost the lease. Kubernetes restarts it, and it becomes a candidate again.
const LEASE_LOST: i32 = 3;

const NO_CLUSTER: &str = "no cluster was found: run in a cluster, or set KUBECONFIG";

/// Run a launcher for each BenchmarkRun, and write its figures into the run's status
#[derive(Parser)]
#[command(name = "benchwright-operator", version, subcommand_negates_reqs = true)]
struct Flags {
    #[command(subcommand)]
    command: Option<Command>,
    /// Image of launchers for runs that set no image
    #[arg(long, env = "LAUNCHER_IMAGE", required = true)]
    launcher_image: Option<String>,
    /// Resource request of a launcher, as name=quantity; may be given several times
    #[arg(long = "launcher-request", value_parser = quantity)]
    launcher_requests: Vec<(String, String)>,
    /// Resource limit of a launcher, as name=quantity; may be given several times
    #[arg(long = "launcher-limit", value_parser = quantity)]
    launcher_limits: Vec<(String, String)>,
    /// Pull policy of the launchers' image
    #[arg(long, default_value_t = Settings::default().launcher_pull_policy, value_parser = ["Always", "IfNotPresent", "Never"])]
    launcher_pull_policy: String,
    /// Pull secret of the launchers' image. Each run's namespace must contain it. May be given several times
    #[arg(long = "launcher-pull-secret", value_name = "NAME")]
    launcher_pull_secrets: Vec<String>,
    /// Namespace to watch, by default all; may be given several times
    #[arg(long = "watch-namespace", value_name = "NAMESPACE")]
    watch_namespaces: Vec<String>,
    /// Start no runs for BenchmarkSchedules, and do not watch them
    #[arg(long)]
    no_schedules: bool,
    /// Start no runs for BenchmarkSweeps, and do not watch them
    #[arg(long)]
    no_sweeps: bool,
    /// Suffix of a Service's DNS name after `<service>.<namespace>.`
    #[arg(long, default_value_t = Settings::default().service_domain)]
    service_domain: String,
    #[command(flatten)]
    pods: PodFlags,
    /// Address that serves /metrics, /healthz and /readyz
    #[arg(long, default_value = "0.0.0.0:8080")]
    admin_address: SocketAddr,
    /// Run without leader election; only for a single process, such as on a laptop
    #[arg(long, conflicts_with_all = ["leader_election_lease", "identity"])]
    no_leader_election: bool,
    /// Namespace of the Lease that elects the leader, by default the namespace of this pod
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    leader_election_namespace: Option<String>,
    /// Name of the Lease that elects the leader. Operators that watch different namespaces need different names
    #[arg(long, value_name = "NAME", default_value = meta::MANAGER)]
    leader_election_lease: String,
    /// Unique name of this process in the Lease, by default the host name and a random number
    #[arg(long, value_name = "NAME")]
    identity: Option<String>,
    /// Log level: error, warn, info, debug or trace; or a filter such as operator=debug
    #[arg(long, env = "BENCHWRIGHT_LOG", default_value = "info")]
    log_level: String,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Json)]
    log_format: LogFormat,
    /// Send a trace of each turn by OTLP over HTTP to this collector, such as http://collector.observability:4318; by default
    /// the value of OTEL_EXPORTER_OTLP_ENDPOINT. If neither is set, no traces are sent
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
}

impl Flags {
    /// The namespaces to watch. A single `None` means all namespaces.
    fn namespaces(&self) -> Vec<Option<&str>> {
        match self.watch_namespaces.as_slice() {
            [] => vec![None],
            some => some.iter().map(|it| Some(it.as_str())).collect(),
        }
    }
}

#[derive(Subcommand)]
enum Command {
    SmokeTest(SmokeTest),
    /// Delete all servers that no unfinished run uses, in the watched namespaces; used when the chart is uninstalled
    RemoveServers,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Json,
    Text,
}

fn quantity(text: &str) -> Result<(String, String), String> {
    let (name, amount) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not of the form name=quantity, such as memory=1Gi"))?;
    if name.is_empty() || name.len() > MAX_RESOURCE_NAME {
        return Err(format!(
            "{name:?} is no name of a resource; write 1 to {MAX_RESOURCE_NAME} characters, such as memory"
        ));
    }
    if !is_quantity(amount) {
        return Err(format!(
            "{name} is {amount:?}; write a quantity from 0 on, such as 2, 0.5, 500m or 20Gi, of at most {MAX_QUANTITY} characters"
        ));
    }
    Ok((name.to_owned(), amount.to_owned()))
}

/// Parses the values of a flag. The maximum number of values is the same as in the CRD of BenchmarkRun.
fn quantities(flag: &str, pairs: &[(String, String)]) -> anyhow::Result<BTreeMap<String, AnyValue>> {
    let all: BTreeMap<_, AnyValue> = pairs.iter().cloned().map(|(name, amount)| (name, amount.into())).collect();
    let found = all.len();
    anyhow::ensure!(found <= MAX_RESOURCES, "{flag} names {found} resources; name at most {MAX_RESOURCES}");
    Ok(all)
}

// Two threads are enough: the loop mostly waits for the API server, and profiles are rendered on separate threads. More would only take memory.
#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let endpoint = traces::endpoint(flags.otlp_endpoint.as_deref(), |it| std::env::var(it).ok())?;
    let traces = endpoint.as_ref().map(Traces::new).transpose().context("traces cannot be sent")?;
    subscriber(&flags.log_level, flags.log_format, traces.as_ref())?.init();
    match &flags.command {
        Some(Command::SmokeTest(test)) => {
            return smoke_test::smoke_test(Client::try_default().await.context(NO_CLUSTER)?, test).await;
        }
        Some(Command::RemoveServers) => return remove_servers(&flags).await,
        None => {}
    }
    let resources = Resources {
        requests: quantities("--launcher-request", &flags.launcher_requests)?,
        limits: quantities("--launcher-limit", &flags.launcher_limits)?,
    };
    let config = Config::infer().await.context(NO_CLUSTER)?;
    let health = Arc::new(Health::new(Limits::default()));
    let fence = Arc::new(if flags.no_leader_election { Fence::open() } else { Fence::closed() });
    let client = connection::client(&config, &health, &fence);
    let client = client.context("the cluster's configuration cannot be used")?;
    let election = election(&flags, &config, &fence, &health)?;
    let policy = flags.pods.policy()?;
    let context = Arc::new(context(&flags, resources, client, health).with_policy(policy));
    let traces = traces.map(|it| it.start(Arc::clone(&context.metrics)));
    let end = end_on_signal()?;

    let listener = TcpListener::bind(flags.admin_address).await.context("cannot open --admin-address")?;
    info!(version = env!("CARGO_PKG_VERSION"), traces = traces.is_some(), "the operator starts");
    let caches = Caches::default();
    let admin = admin::serve(listener, Arc::clone(&context), Arc::clone(&caches), ended(end.clone()));
    let admin = tokio::spawn(admin);
    let reporter = Arc::clone(&context.health);
    let reporter = tokio::spawn(async move { reporter.report().await });
    let elected = async {
        match election {
            Some(election) => Some(election.acquire().await),
            None => None,
        }
    };
    tokio::select! {
        held = elected => lead(&flags, &context, &caches, end.clone(), held).await?,
        () = ended(end.clone()) => {}
    }
    reporter.abort();
    if let Some(traces) = traces {
        traces.end(LAST_TRACES).await;
    }
    info!("the operator has ended");
    admin.await.context("the task of the admin server panicked")?.context("the admin server failed")
}

/// Runs the watches and the loop until `end`. If the lease is lost, the process exits.
async fn lead(
    flags: &Flags,
    context: &Arc<Context>,
    caches: &Caches,
    end: watch::Receiver<bool>,
    held: Option<Held>,
) -> anyhow::Result<()> {
    context.metrics.leads();
    let namespaces = flags.namespaces();
    info!(?namespaces, "watches runs");
    let controllers = namespaces.iter().map(|it| watches::controller(*it, context, ended(end.clone())));
    let (controllers, runs): (Vec<_>, Vec<_>) = controllers.unzip();
    caches.get_or_init(|| runs);
    let scheduled = namespaces.iter().filter(|_| !flags.no_schedules);
    let schedules = scheduled.map(|it| schedules::controller(*it, context, ended(end.clone())));
    let swept = namespaces.iter().filter(|_| !flags.no_sweeps);
    let sweeps = swept.map(|it| sweeps::controller(*it, context, ended(end.clone())));
    let controllers = controllers.into_iter().chain(schedules).chain(sweeps);
    let turns = async {
        join_all(controllers).await;
        context.events.drain(LAST_EVENTS).await;
    };
    let Some(mut held) = held else {
        turns.await;
        return Ok(());
    };
    let (stop, stopped) = oneshot::channel::<()>();
    // The lease has a task of its own, so that turns do not delay its renewal.
    let mut holding = tokio::spawn(async move {
        tokio::select! {
            lost = held.hold() => return Some(lost),
            _ = stopped => {}
        }
        held.release().await;
        None
    });
    tokio::select! {
        () = turns => {}
        lost = &mut holding => {
            let lost = lost.ok().flatten().map_or_else(|| "its task ended".to_owned(), |it| it.to_string());
            error!(%lost, "is no longer the leader, and exits before another replica takes over");
            // Exits immediately, because the fence would block all writes of the turn in progress anyway.
            std::process::exit(LEASE_LOST);
        }
    }
    // An error means that the task has already ended, and the next line reports why.
    let _ = stop.send(());
    holding.await.context("the task of the lease panicked").map(drop)
}

async fn remove_servers(flags: &Flags) -> anyhow::Result<()> {
    let client = Client::try_default().await.context(NO_CLUSTER)?;
    let context = context(flags, Resources::default(), client, Arc::new(Health::new(Limits::default())));
    let removal = async {
        for namespace in flags.namespaces() {
            servers::remove_idle(&context, namespace).await;
        }
    };
    // A timeout is only printed and is no error, because a failed hook would prevent Helm from uninstalling the release.
    if tokio::time::timeout(REMOVAL_LIMIT, removal).await.is_err() {
        println!("not all servers were checked within {} seconds", REMOVAL_LIMIT.as_secs());
    }
    Ok(())
}

/// The leader election. `None` if the flag turns it off.
fn election(
    flags: &Flags,
    config: &Config,
    fence: &Arc<Fence>,
    health: &Arc<Health>,
) -> anyhow::Result<Option<Election>> {
    if flags.no_leader_election {
        return Ok(None);
    }
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "operator".to_owned());
    let candidate = Candidate {
        namespace: flags.leader_election_namespace.clone().unwrap_or_else(|| config.default_namespace.clone()),
        lease: flags.leader_election_lease.clone(),
        identity: flags.identity.clone().unwrap_or_else(|| Candidate::unique_identity(&host)),
    };
    // The election has a client with its own connections, so that a turn that hangs cannot delay the lease. Its writes must not be fenced.
    let client = connection::client(config, health, &Arc::new(Fence::open()));
    let client = client.context("the cluster's configuration cannot be used")?;
    Ok(Some(Election::new(client, candidate, Arc::clone(fence), Arc::clone(health))))
}

/// Creates the subscriber that writes log lines and sends spans.
fn subscriber(level: &str, format: LogFormat, traces: Option<&Traces>) -> anyhow::Result<Dispatch> {
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
        LogFormat::Text => lines.boxed(),
    };
    let lines = tracing_subscriber::registry().with(lines.with_filter(log_filter(level)?));
    Ok(match traces {
        Some(traces) => lines.with(traces.layer()).into(),
        // Without traces there must be no layer for them. An empty layer has no filter, so every span would be created.
        None => lines.into(),
    })
}

/// The filter for log lines. It excludes the spans of turns, so that no span is created unless traces are sent.
fn log_filter(level: &str) -> anyhow::Result<EnvFilter> {
    let filter = EnvFilter::try_new(filter(level)).context("--log-level is neither a level nor a filter")?;
    Ok(filter.add_directive(format!("{}=off", traces::TARGET).parse()?))
}

/// Log levels of libraries. kube's client only logs errors, because its warnings contain the whole text of responses that it cannot parse, and such
/// text may contain users' values.
const LIBRARIES: &str = "warn,kube_client::client=error";

/// The log filter for a level: the operator's own modules log at that level, and libraries log only warnings.
fn filter(level: &str) -> String {
    match level.parse::<tracing::Level>() {
        Ok(level) if level > tracing::Level::WARN => {
            let level = level.as_str().to_ascii_lowercase();
            ["operator", "benchwright_operator", "workload_profiles"]
                .iter()
                .fold(LIBRARIES.to_owned(), |all, it| format!("{all},{it}={level}"))
        }
        Ok(tracing::Level::WARN) => LIBRARIES.to_owned(),
        _ => level.to_owned(),
    }
}

fn context(flags: &Flags, launcher_resources: Resources, client: Client, health: Arc<Health>) -> Context {
    let instance = std::env::var("HOSTNAME").ok();
    let reporter = Reporter { controller: meta::MANAGER.into(), instance };
    let settings = Settings {
        launcher_image: flags.launcher_image.clone().unwrap_or_default(),
        launcher_resources,
        launcher_pull_policy: flags.launcher_pull_policy.clone(),
        launcher_pull_secrets: flags.launcher_pull_secrets.clone(),
        service_domain: flags.service_domain.clone(),
        pod_security: flags.pods.pod_security,
        network_policy: flags.pods.network_policy(),
        managed_servers: flags.pods.managed_servers,
        ..Settings::default()
    };
    Context::new(client, settings, reporter, health)
}

/// Returns a receiver whose value becomes true after SIGTERM or SIGINT.
fn end_on_signal() -> anyhow::Result<watch::Receiver<bool>> {
    let (end, ended) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        info!("received a signal: ends after the turns in progress");
        // An error means that all receivers are dropped, because all tasks have already ended.
        let _ = end.send(true);
    });
    Ok(ended)
}

async fn ended(mut end: watch::Receiver<bool>) {
    // An error means that the sender was dropped, which also means the end.
    let _ = end.wait_for(|it| *it).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_alone_is_for_the_operators_own_lines() {
        assert_eq!(
            filter("debug"),
            "warn,kube_client::client=error,operator=debug,benchwright_operator=debug,workload_profiles=debug"
        );
        assert_eq!(filter("warn"), "warn,kube_client::client=error");
        assert_eq!(filter("kube=trace,operator=info"), "kube=trace,operator=info");
    }

    #[tokio::test]
    async fn without_traces_a_turn_has_no_span_at_any_level_of_the_log() -> anyhow::Result<()> {
        for level in ["trace", "trace,kube=debug", "benchwright_turns=trace"] {
            let _guard = subscriber(level, LogFormat::Text, None)?.set_default();
            let turn = async {
                assert!(tracing::Span::current().is_none(), "{level}");
                Ok(kube::runtime::controller::Action::await_change())
            };
            traces::turn(&kube::core::ObjectMeta::default(), turn).await?;
        }
        Ok(())
    }

    /// The flags' values are copied into statuses, and the API server refuses a status with an invalid value.
    #[test]
    fn resources_are_checked_as_the_definition_of_a_run_does_it() {
        for right in ["cpu=1", "cpu=0.5", "cpu=500m", "memory=1Gi", "memory=1e6", "nvidia.com/gpu=1"] {
            assert!(quantity(right).is_ok(), "{right}");
        }
        for (wrong, message) in [
            ("memory", "\"memory\" is not of the form name=quantity"),
            ("=1", "\"\" is no name of a resource"),
            ("memory=1GB", "memory is \"1GB\"; write a quantity"),
            ("memory=", "memory is \"\"; write a quantity"),
            ("cpu=-1", "cpu is \"-1\"; write a quantity"),
            ("cpu=100000000000000000000000000000000", "of at most 32 characters"),
        ] {
            let found = quantity(wrong).unwrap_err();
            assert!(found.contains(message), "{found:?} does not hold {message:?}");
        }
        assert!(quantity(&format!("{}=1", "n".repeat(129))).is_err());
        let pairs = |count: usize| (0..count).map(|it| (format!("n{it}"), "1".to_owned())).collect::<Vec<_>>();
        assert_eq!(quantities("--launcher-limit", &pairs(16)).unwrap().len(), 16);
        let message = quantities("--launcher-limit", &pairs(17)).unwrap_err().to_string();
        assert_eq!(message, "--launcher-limit names 17 resources; name at most 16");
    }
}
