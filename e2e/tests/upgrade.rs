//! Tests of an upgrade from an earlier release and of a rollback to it, with runs in every phase in which a test can hold a run. `make upgrade`
//! builds the earlier release. E2E_PREVIOUS_CHART and E2E_PREVIOUS_IMAGE select another one.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use crds::{BenchmarkRun, BenchmarkSchedule, Outcome, status::Phase};
use e2e::{
    Cluster, Namespace, PATIENT,
    cluster::{image_of, install, install_release},
    tools,
};
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::Job,
    core::v1::{ConfigMap, Node, Pod, ResourceQuota},
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

/// Default number of runs in each phase. E2E_RUNS_EACH sets another number.
const EACH: usize = 20;
/// Time limit of a wait. It is long because dozens of pods start together.
const LIMIT: Duration = Duration::from_secs(300);
const LAUNCHER: &str = "resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 256Mi}}";
/// A node label that no node has until the test sets it.
const LABEL: &str = "benchwright-e2e-upgrade";
/// The phases in which runs are held. Collecting is missing, because it is short and a run cannot be held in it.
const PHASES: [Phase; 8] = [
    Phase::Pending,
    Phase::Suspended,
    Phase::Preparing,
    Phase::Starting,
    Phase::Running,
    Phase::Succeeded,
    Phase::Failed,
    Phase::Cancelled,
];

/// What a run needs in addition to the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Nothing,
    /// A claim for its results.
    Claim,
    /// Its own server.
    Server,
    /// A queue that no controller processes.
    Queue,
}

/// The runs with additional needs: name, phase in which the run is held, and what it needs.
const FURTHER: [(&str, Phase, With); 6] = [
    ("running-claim", Phase::Running, With::Claim),
    ("succeeded-claim", Phase::Succeeded, With::Claim),
    ("starting-claim", Phase::Starting, With::Claim),
    ("running-server", Phase::Running, With::Server),
    ("succeeded-server", Phase::Succeeded, With::Server),
    ("suspended-queue", Phase::Suspended, With::Queue),
];

/// The spec of a run that reaches a phase and stays there.
fn spec(phase: Phase, with: With) -> String {
    let load = |seconds: u32| format!("profile: {{variables: {{rate: '1', duration: '{seconds}'}}}}");
    let (profile, scheduling, more) = match phase {
        Phase::Pending => ("profile: {configMapRef: {name: later, key: profile.yaml}}".to_owned(), "", ""),
        Phase::Suspended if with == With::Queue => (load(2), "", "queueName: load"),
        Phase::Suspended => (load(2), "", "suspend: true"),
        Phase::Starting => (load(2), "scheduling: {nodeSelector: {benchwright-e2e-upgrade: here}}, ", ""),
        // The load takes longer than all other runs need to reach their phase, plus the change of the release.
        Phase::Running => (load(150), "", ""),
        Phase::Failed => ("profile: {overrides: {load.stages.0.rate: '-3'}}".to_owned(), "", ""),
        Phase::Cancelled => (load(2), "", "suspend: true\ncancel: Graceful"),
        Phase::Preparing | Phase::Collecting | Phase::Succeeded => (load(2), "", ""),
    };
    let launcher = format!("launcher: {{{scheduling}{LAUNCHER}}}");
    let target = match with {
        With::Server => "{server: {engine: Simulator, args: [--preset, tiny]}}",
        _ => "{simulator: {}}",
    };
    let storage = if with == With::Claim { "{pvc: {claimName: results, size: 1Gi}}" } else { "{none: {}}" };
    format!("target: {target}\n{profile}\n{launcher}\nstorage: {storage}\n{PATIENT}\n{more}")
}

/// A schedule that starts one run, whose name begins with the name of the schedule.
fn schedule() -> anyhow::Result<BenchmarkSchedule> {
    let run: serde_json::Value = serde_saphyr::from_str(&spec(Phase::Succeeded, With::Nothing))?;
    Ok(serde_json::from_value(json!({
        "metadata": {"name": "succeeded-schedule"}, "spec": {"trigger": "r1", "runTemplate": {"spec": run}},
    }))?)
}

/// Runs in two namespaces. In the namespace `held` no Job can be created, so its runs stay in Preparing.
struct Fleet {
    free: Namespace,
    held: Namespace,
    /// Total number of runs.
    count: usize,
}

impl Fleet {
    async fn new(cluster: &Cluster) -> anyhow::Result<Fleet> {
        let each = std::env::var("E2E_RUNS_EACH").ok().and_then(|it| it.parse().ok()).unwrap_or(EACH);
        let (free, held) = (Namespace::new(cluster, "free").await?, Namespace::new(cluster, "held").await?);
        // One more run comes from the schedule.
        let fleet = Fleet { free, held, count: each * PHASES.len() + FURTHER.len() + 1 };
        let quota: ResourceQuota = serde_json::from_value(
            json!({"metadata": {"name": "no-jobs"}, "spec": {"hard": {"count/jobs.batch": "0"}}}),
        )?;
        fleet.held.api::<ResourceQuota>().create(&PostParams::default(), &quota).await?;
        let enforced = || async {
            let quota = fleet.held.api::<ResourceQuota>().get("no-jobs").await?;
            Ok(quota.status.and_then(|it| it.hard).map(drop))
        };
        fleet.held.until("a quota that is enforced", LIMIT, enforced).await?;
        for phase in PHASES {
            let namespace = if phase == Phase::Preparing { &fleet.held } else { &fleet.free };
            for number in 0..each {
                let name = format!("{}-{number}", phase.name().to_lowercase());
                namespace.create_run(&name, &spec(phase, With::Nothing)).await?;
            }
        }
        for (name, phase, with) in FURTHER {
            fleet.free.create_run(name, &spec(phase, with)).await?;
        }
        let schedules: Api<BenchmarkSchedule> = fleet.free.api();
        let created = kube::core::Request::new(schedules.resource_url())
            .create(&PostParams::default(), serde_json::to_vec(&schedule()?)?)?;
        cluster.client.request::<serde_json::Value>(created).await?;
        Ok(fleet)
    }

    async fn runs(&self) -> anyhow::Result<BTreeMap<String, BenchmarkRun>> {
        let mut all = BTreeMap::new();
        for namespace in [&self.free, &self.held] {
            let runs: Api<BenchmarkRun> = namespace.api();
            all.extend(runs.list(&ListParams::default()).await?.into_iter().map(|it| (it.name_any(), it)));
        }
        Ok(all)
    }

    /// Waits until each run is in the phase that `wanted` returns for its name.
    async fn wait_for(
        &self,
        what: &str,
        wanted: impl Fn(Phase) -> Phase,
    ) -> anyhow::Result<BTreeMap<String, BenchmarkRun>> {
        let found = || async {
            let runs = self.runs().await?;
            let arrived =
                runs.len() == self.count && runs.iter().all(|(name, run)| phase(run) == Some(wanted(named(name))));
            Ok(arrived.then_some(runs))
        };
        match self.free.until(what, LIMIT, found).await {
            Ok(runs) => Ok(runs),
            Err(error) => {
                let runs = self.runs().await?;
                let late = runs.iter().filter(|(name, run)| phase(run) != Some(wanted(named(name))));
                let late: Vec<_> = late
                    .map(|(name, run)| (name, phase(run), run.status.as_ref().map(|it| it.reason.to_string())))
                    .collect();
                Err(error.context(format!("{late:?}")))
            }
        }
    }

    /// Removes everything that holds the runs in their phases.
    async fn let_go(&self, nodes: &Api<Node>) -> anyhow::Result<()> {
        let profile = "load: {type: constant, stages: [{rate: 1, duration: 2}]}\napi: {type: completion, streaming: true}\n\
            data: {type: random, input_distribution: {min: 20, max: 60, mean: 40, std_dev: 5}, \
            output_distribution: {min: 5, max: 15, mean: 10, std_dev: 2}}\n";
        let map: ConfigMap =
            serde_json::from_value(json!({"metadata": {"name": "later"}, "data": {"profile.yaml": profile}}))?;
        self.free.api::<ConfigMap>().create(&PostParams::default(), &map).await?;
        self.held.api::<ResourceQuota>().delete("no-jobs", &DeleteParams::default()).await?;
        label_nodes(nodes, json!("here")).await?;
        for name in self.runs().await?.keys().filter(|it| it.starts_with("suspended-")) {
            self.free.patch_run(name, "suspend: false").await?;
        }
        // Simulates Kueue, which resumes a Job when it admits it.
        for job in
            self.free.jobs().await?.iter().filter(|it| it.spec.as_ref().is_some_and(|it| it.suspend == Some(true)))
        {
            let admitted = Patch::Merge(json!({"spec": {"suspend": false}}));
            self.free.api::<Job>().patch(&job.name_any(), &PatchParams::default(), &admitted).await?;
        }
        Ok(())
    }
}

async fn label_nodes(nodes: &Api<Node>, value: serde_json::Value) -> anyhow::Result<()> {
    let patch = json!({"metadata": {"labels": {LABEL: value}}});
    for node in nodes.list(&ListParams::default()).await? {
        nodes.patch(&node.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await?;
    }
    Ok(())
}

fn phase(run: &BenchmarkRun) -> Option<Phase> {
    run.status.as_ref().and_then(|it| it.phase)
}

/// The phase in the name of a run.
fn named(run: &str) -> Phase {
    let of_name = |it: &&Phase| run.starts_with(&format!("{}-", it.name().to_lowercase()));
    PHASES.iter().find(of_name).copied().unwrap_or(Phase::Collecting)
}

/// The final phase of a run after it is no longer held.
fn last(phase: Phase) -> Phase {
    if matches!(phase, Phase::Failed | Phase::Cancelled) { phase } else { Phase::Succeeded }
}

/// Brings runs into every phase, changes the release, and then lets the runs continue. Asserts that no run is lost, none runs twice, and no finished
/// run has changed.
async fn assert_survives(
    change: &str,
    before: &dyn Fn() -> anyhow::Result<()>,
    after: &dyn Fn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    before()?;
    let cluster = Cluster::connect().await?;
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    label_nodes(&nodes, json!(null)).await?;
    let fleet = Fleet::new(&cluster).await?;
    let held = fleet.wait_for("runs in every phase", |it| it).await?;
    after()?;
    let changed = fleet.runs().await?;
    for (name, run) in &held {
        let now = changed.get(name).with_context(|| format!("{name} is lost"))?;
        assert_eq!((run.uid(), phase(now)), (now.uid(), Some(named(name))), "{name} has changed");
    }
    fleet.let_go(&nodes).await?;
    let ended = fleet.wait_for("the end of all runs", last).await?;
    assert_eq!(ended.len(), held.len());
    let pods = [
        fleet.free.api::<Pod>().list(&ListParams::default()).await?.items,
        fleet.held.api::<Pod>().list(&ListParams::default()).await?.items,
    ]
    .concat();
    let jobs = [fleet.free.jobs().await?, fleet.held.jobs().await?].concat();
    for (name, run) in &ended {
        let (was, is) = (held[name].status.clone().unwrap_or_default(), run.status.clone().unwrap_or_default());
        let measured = last(named(name)) == Phase::Succeeded;
        let of_run = |labels: &BTreeMap<String, String>| labels.get("benchwright.dev/run") == Some(name);
        let most = usize::from(measured);
        assert_eq!(is.attempts.len(), most, "{name}: {is:?}");
        // The other release may delete the Job of a finished run.
        let jobs = jobs.iter().filter(|it| of_run(it.labels())).count();
        let pods = pods.iter().filter(|it| of_run(it.labels())).count();
        assert!(jobs <= most && pods <= most, "{name}: {jobs} Jobs, {pods} pods: {is:?}");
        assert_eq!(measured, is.outcome == Some(Outcome::Passed), "{name}: {is:?}");
        if named(name).is_terminal() {
            assert_eq!((was.completion_time, was.outcome), (is.completion_time, is.outcome), "{name} has ended again");
        }
        if named(name) == Phase::Running {
            assert_eq!(was.attempts[0].pod_uid, is.attempts[0].pod_uid, "{name} was started again");
        }
    }
    let servers = fleet.free.api::<Deployment>().list(&ListParams::default()).await?.items;
    assert!(servers.is_empty(), "servers are left: {:?}", servers.iter().map(|it| it.name_any()).collect::<Vec<_>>());
    println!("figure 17: {change}: {} runs in {} phases: lost 0, duplicated 0", ended.len(), PHASES.len());
    Ok(())
}

fn previous(values: &[&str]) -> anyhow::Result<()> {
    let built = || tools::repository().join("target/previous/charts/benchwright");
    let chart = std::env::var_os("E2E_PREVIOUS_CHART").map_or_else(built, PathBuf::from);
    anyhow::ensure!(Path::new(&chart).exists(), "{} does not exist; run `make upgrade`", chart.display());
    install_release(&chart, image_of("E2E_PREVIOUS_IMAGE", "localhost/benchwright:previous"), values)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an image of an earlier release: make upgrade"]
async fn no_run_is_lost_or_doubled_by_an_upgrade_or_a_rollback() -> anyhow::Result<()> {
    const SERVERS: &str = "managedServers.enabled=true";
    assert_survives("upgrade", &|| previous(&[SERVERS]), &|| install(&[])).await?;
    // docs/operator.md says that the CRDs of the later release stay.
    assert_survives("rollback", &|| install(&[]), &|| previous(&["crds.install=false", SERVERS])).await
}
