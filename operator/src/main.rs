//! `benchwright-operator`: flags, logging, watches, shutdown.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use crds::{
    AnyValue, Settings,
    benchmark_run::{MAX_RESOURCE_NAME, MAX_RESOURCES, Resources},
    schema::{MAX_QUANTITY, is_quantity},
};
use futures::future::join_all;
use kube::{Client, Config, runtime::events::Reporter};
use operator::{
    admin,
    connection::{self, Health, Limits},
    context::Context,
    plan::meta,
    watches,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};
use tracing::info;

/// Runs a launcher for each BenchmarkRun and writes its figures into the run's status
#[derive(Parser)]
#[command(name = "benchwright-operator", version)]
struct Flags {
    /// Image of launchers, unless the run names one
    #[arg(long, env = "LAUNCHER_IMAGE")]
    launcher_image: String,
    /// Resource request of a launcher, as name=quantity; may be given several times
    #[arg(long = "launcher-request", value_parser = quantity)]
    launcher_requests: Vec<(String, String)>,
    /// Resource limit of a launcher, as name=quantity; may be given several times
    #[arg(long = "launcher-limit", value_parser = quantity)]
    launcher_limits: Vec<(String, String)>,
    /// Pull policy of the launchers' image
    #[arg(long, default_value_t = Settings::default().launcher_pull_policy, value_parser = ["Always", "IfNotPresent", "Never"])]
    launcher_pull_policy: String,
    /// Pull secret of the launchers' image, which each run's namespace has to hold; may be given several times
    #[arg(long = "launcher-pull-secret", value_name = "NAME")]
    launcher_pull_secrets: Vec<String>,
    /// Namespace to watch, by default all; may be given several times
    #[arg(long = "watch-namespace", value_name = "NAMESPACE")]
    watch_namespaces: Vec<String>,
    /// Suffix of a Service's DNS name after `<service>.<namespace>.`
    #[arg(long, default_value_t = Settings::default().service_domain)]
    service_domain: String,
    /// Address that serves /metrics, /healthz and /readyz
    #[arg(long, default_value = "0.0.0.0:8080")]
    admin_address: SocketAddr,
    /// Log level: error, warn, info, debug or trace; or a filter such as operator=debug
    #[arg(long, env = "BENCHWRIGHT_LOG", default_value = "info")]
    log_level: String,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Json)]
    log_format: LogFormat,
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

/// The values of a flag, as many as the definition of a BenchmarkRun takes.
fn quantities(flag: &str, pairs: &[(String, String)]) -> anyhow::Result<BTreeMap<String, AnyValue>> {
    let all: BTreeMap<_, AnyValue> = pairs.iter().cloned().map(|(name, amount)| (name, amount.into())).collect();
    let found = all.len();
    anyhow::ensure!(found <= MAX_RESOURCES, "{flag} names {found} resources; name at most {MAX_RESOURCES}");
    Ok(all)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    start_logging(&flags)?;
    let resources = Resources {
        requests: quantities("--launcher-request", &flags.launcher_requests)?,
        limits: quantities("--launcher-limit", &flags.launcher_limits)?,
    };
    let config = Config::infer().await.context("no cluster was found: run in a cluster, or set KUBECONFIG")?;
    let health = Arc::new(Health::new(Limits::default()));
    let client = connection::client(&config, &health).context("the cluster's configuration cannot be used")?;
    let context = Arc::new(context(&flags, resources, client, health));
    let end = end_on_signal()?;

    let listener = TcpListener::bind(flags.admin_address).await.context("cannot open --admin-address")?;
    let namespaces: Vec<Option<&str>> = match flags.watch_namespaces.as_slice() {
        [] => vec![None],
        some => some.iter().map(|it| Some(it.as_str())).collect(),
    };
    info!(version = env!("CARGO_PKG_VERSION"), ?namespaces, "the operator starts");
    let controllers = namespaces.iter().map(|it| watches::controller(*it, &context, ended(end.clone())));
    let (controllers, runs): (Vec<_>, Vec<_>) = controllers.unzip();
    let admin = admin::serve(listener, Arc::clone(&context), runs, ended(end.clone()));
    let admin = tokio::spawn(admin);
    let reporter = Arc::clone(&context.health);
    let reporter = tokio::spawn(async move { reporter.report().await });
    join_all(controllers).await;
    reporter.abort();
    info!("the operator has ended");
    admin.await.context("the task of the admin server panicked")?.context("the admin server failed")
}

fn start_logging(flags: &Flags) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter(&flags.log_level))
        .context("--log-level is neither a level nor a filter")?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match flags.log_format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
        LogFormat::Text => builder.init(),
    }
    Ok(())
}

/// The log filter of a level: the operator's own modules log at that level, and libraries only warnings.
fn filter(level: &str) -> String {
    match level.parse::<tracing::Level>() {
        Ok(level) if level > tracing::Level::WARN => {
            let level = level.as_str().to_ascii_lowercase();
            ["operator", "benchwright_operator", "workload_profiles"]
                .iter()
                .fold("warn".to_owned(), |all, it| format!("{all},{it}={level}"))
        }
        _ => level.to_owned(),
    }
}

fn context(flags: &Flags, launcher_resources: Resources, client: Client, health: Arc<Health>) -> Context {
    let instance = std::env::var("HOSTNAME").ok();
    let reporter = Reporter { controller: meta::MANAGER.into(), instance };
    let settings = Settings {
        launcher_image: flags.launcher_image.clone(),
        launcher_resources,
        launcher_pull_policy: flags.launcher_pull_policy.clone(),
        launcher_pull_secrets: flags.launcher_pull_secrets.clone(),
        service_domain: flags.service_domain.clone(),
        ..Settings::default()
    };
    Context::new(client, settings, reporter, health)
}

/// Becomes true at SIGTERM or SIGINT.
fn end_on_signal() -> anyhow::Result<watch::Receiver<bool>> {
    let (end, ended) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        info!("received a signal: ends after the turns in progress");
        // An error means that no receiver is left, because everything has ended already.
        let _ = end.send(true);
    });
    Ok(ended)
}

async fn ended(mut end: watch::Receiver<bool>) {
    // An error means that the sender is gone, which is the end as well.
    let _ = end.wait_for(|it| *it).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_alone_is_for_the_operators_own_lines() {
        assert_eq!(filter("debug"), "warn,operator=debug,benchwright_operator=debug,workload_profiles=debug");
        assert_eq!(filter("warn"), "warn");
        assert_eq!(filter("kube=trace,operator=info"), "kube=trace,operator=info");
    }

    /// The values are copied into a status, and the API server refuses a status with a wrong one.
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
