//! `benchwright-operator`: flags, logging, watches, shutdown.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use crds::{BenchmarkRun, Settings, benchmark_run::Resources, status::Phase};
use futures::{StreamExt as _, future::join_all};
use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use kube::{
    Api, Client, ResourceExt as _,
    runtime::{
        Controller,
        controller::Config,
        events::{Recorder, Reporter},
        reflector::{ObjectRef, Store},
        watcher,
    },
};
use operator::{
    admin,
    metrics::Metrics,
    plan::meta,
    reconcile::{Context, forget_others, on_error, reconcile},
    results::Seen,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};
use tracing::{debug, info};

/// Runs at once: enough for a burst, few enough for any API server.
const CONCURRENCY: u16 = 16;
/// How long what is known of a run outlives it.
const FORGET_EVERY: Duration = Duration::from_secs(300);
/// Several changes of one run become one turn.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Turns BenchmarkRuns into launchers and their figures into status.
#[derive(Parser)]
#[command(name = "benchwright-operator", version)]
struct Flags {
    /// The image of launchers that name none
    #[arg(long, env = "LAUNCHER_IMAGE")]
    launcher_image: String,
    /// CPU and memory that a launcher asks for, as name=quantity; may be given several times
    #[arg(long = "launcher-request", value_parser = quantity, default_values = ["cpu=1", "memory=1Gi"])]
    launcher_requests: Vec<(String, String)>,
    /// What a launcher may not exceed, as name=quantity; may be given several times
    #[arg(long = "launcher-limit", value_parser = quantity, default_values = ["memory=1Gi"])]
    launcher_limits: Vec<(String, String)>,
    /// A namespace to watch; may be given several times; none: all of them
    #[arg(long = "watch-namespace", value_name = "NAMESPACE")]
    watch_namespaces: Vec<String>,
    /// What follows `<service>.<namespace>.` in the DNS name of a Service
    #[arg(long, default_value = "svc.cluster.local")]
    service_domain: String,
    /// Where /metrics, /healthz and /readyz are served
    #[arg(long, default_value = "0.0.0.0:8080")]
    admin_address: SocketAddr,
    /// How much is logged: error, warn, info, debug or trace; or a filter such as operator=debug
    #[arg(long, env = "BENCHWRIGHT_LOG", default_value = "info")]
    log_level: String,
    /// How a line is written
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
        text.split_once('=').ok_or_else(|| format!("{text:?} is no name=quantity, such as memory=1Gi"))?;
    Ok((name.to_owned(), amount.to_owned()))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    start_logging(&flags)?;
    let client = Client::try_default().await.context("no cluster: neither in one nor KUBECONFIG")?;
    let context = Arc::new(context(&flags, client));
    let end = end_on_signal()?;

    let ready = Arc::new(AtomicBool::new(false));
    let listener = TcpListener::bind(flags.admin_address).await.context("cannot open --admin-address")?;
    let admin = tokio::spawn(admin::serve(listener, Arc::clone(&context), Arc::clone(&ready), ended(end.clone())));

    let namespaces: Vec<Option<&str>> = match flags.watch_namespaces.as_slice() {
        [] => vec![None],
        some => some.iter().map(|it| Some(it.as_str())).collect(),
    };
    info!(version = env!("CARGO_PKG_VERSION"), ?namespaces, "the operator begins");
    let controllers: Vec<_> = namespaces.iter().map(|it| controller(*it, &context, &end)).collect();
    let (controllers, stores): (Vec<_>, Vec<_>) = controllers.into_iter().unzip();
    let tended = async {
        join_all(stores.iter().map(|it| it.wait_until_ready())).await;
        ready.store(true, Ordering::Relaxed);
        info!("the caches are filled");
        tend(&context, &stores, end.clone()).await;
    };
    tokio::join!(join_all(controllers), tended);
    info!("the operator has ended");
    admin.await.context("the admin server broke down")?.context("the admin server failed")
}

/// Forgets runs that have finished or are gone, until the end.
async fn tend(context: &Context, stores: &[Store<BenchmarkRun>], mut end: watch::Receiver<bool>) {
    let finished = |run: &BenchmarkRun| run.status.as_ref().and_then(|it| it.phase).is_some_and(Phase::is_terminal);
    // A sender that is gone means the end as well.
    while tokio::time::timeout(FORGET_EVERY, end.wait_for(|it| *it)).await.is_err() {
        let runs = stores.iter().flat_map(Store::state).filter(|it| !finished(it));
        forget_others(context, &runs.filter_map(|it| it.uid()).collect());
    }
}

fn start_logging(flags: &Flags) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(&flags.log_level).context("--log-level is no filter")?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match flags.log_format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
        LogFormat::Text => builder.init(),
    }
    Ok(())
}

fn context(flags: &Flags, client: Client) -> Context {
    let map = |pairs: &[(String, String)]| pairs.iter().cloned().collect::<BTreeMap<_, _>>();
    let instance = std::env::var("HOSTNAME").ok();
    let reporter = Reporter { controller: meta::MANAGER.into(), instance };
    Context {
        recorder: Recorder::new(client.clone(), reporter),
        client,
        settings: Settings {
            launcher_image: flags.launcher_image.clone(),
            launcher_resources: Resources {
                requests: map(&flags.launcher_requests),
                limits: map(&flags.launcher_limits),
            },
            service_domain: flags.service_domain.clone(),
        },
        metrics: Metrics::default(),
        seen: Arc::new(Seen::default()),
        failures: Mutex::new(HashMap::new()),
    }
}

/// The watches on one namespace, or on all of them, and the loop that they drive.
fn controller(
    namespace: Option<&str>,
    context: &Arc<Context>,
    end: &watch::Receiver<bool>,
) -> (impl Future<Output = ()> + use<>, Store<BenchmarkRun>) {
    let client = context.client.clone();
    let children = watcher::Config::default().labels(meta::MANAGED);
    let seen = Arc::clone(&context.seen);
    let controller = Controller::new(api::<BenchmarkRun>(&client, namespace), watcher::Config::default())
        .with_config(Config::default().concurrency(CONCURRENCY).debounce(DEBOUNCE))
        .owns(api::<Job>(&client, namespace), children.clone())
        .watches(api::<Pod>(&client, namespace), children, move |pod: Pod| {
            seen.note(&pod);
            let run = pod.labels().get(meta::RUN).map(|name| ObjectRef::new(name));
            run.map(|it| it.within(&pod.namespace().unwrap_or_default()))
        })
        .graceful_shutdown_on(ended(end.clone()));
    let store = controller.store();
    let turns = controller.run(reconcile, on_error, Arc::clone(context)).for_each(async |turn| {
        if let Err(error) = turn {
            debug!(%error, "the loop goes on");
        }
    });
    (turns, store)
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    namespace.map_or_else(|| Api::all(client.clone()), |it| Api::namespaced(client.clone(), it))
}

/// Turns true at SIGTERM or SIGINT.
fn end_on_signal() -> anyhow::Result<watch::Receiver<bool>> {
    let (end, ended) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        info!("asked to end: turns under way are finished");
        // Nobody may listen any more, and then all has ended.
        let _ = end.send(true);
    });
    Ok(ended)
}

async fn ended(mut end: watch::Receiver<bool>) {
    // A sender that is gone means the end as well.
    let _ = end.wait_for(|it| *it).await;
}
