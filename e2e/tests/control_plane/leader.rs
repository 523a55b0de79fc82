//! Tests with two replicas. They check which replica writes, and for how long no replica writes after the leader was killed or stopped. Several pairs
//! of replicas work concurrently, each in its own namespace, so that a hundred takeovers with the real duration of a lease take minutes. The writer
//! of each request is known from the API server's audit log, because each replica has its own client certificate.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use crds::{BenchmarkRun, Outcome, status::Phase};
use e2e::control_plane::{
    ControlPlane,
    audit::Request,
    operator::Operator,
    runs::{create, runs_path, short},
};
use jiff::Timestamp;
use k8s_openapi::api::{
    batch::v1::Job,
    coordination::v1::Lease,
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, PostParams},
};
use rustix::process::Signal;
use serde_json::json;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, interval, sleep},
};

const LEASE: &str = "benchwright-operator";
/// If no other replica leads after this time, the test fails. On a quiet machine a takeover takes at most 20 s.
const LONG: Duration = Duration::from_secs(90);
/// Time between two new runs of a pair. At this rate, all pairs together create as many runs as two cores can handle.
const RUN_EVERY: Duration = Duration::from_secs(4);
/// Time until a killed process is replaced. It is longer than the time between two checks of the lease.
const RESTART: Duration = Duration::from_secs(3);
/// The exit code of a replica that lost the lease.
const LEASE_LOST: i32 = 3;

/// What happens to the leader.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// The leader is killed, and another process replaces it, as in a Deployment.
    Killed,
    /// The leader is stopped until the takeover is over, and then continued.
    Stopped,
}

/// The time during which a replica held the lease.
#[derive(Clone, Debug)]
struct Term {
    holder: String,
    since: Timestamp,
}

/// Two replicas, their namespace, and a task that creates runs.
struct Pair {
    plane: ControlPlane,
    namespace: String,
    /// The running processes by identity. `operator-a.3` is the fourth process, with the certificate of `operator-a`.
    replicas: BTreeMap<String, Operator>,
    started: usize,
    runs: JoinHandle<anyhow::Result<usize>>,
    stop: tokio::sync::watch::Sender<bool>,
}

impl Pair {
    async fn begin(plane: &ControlPlane, namespace: String) -> anyhow::Result<Pair> {
        plane.create_namespace(&namespace).await?;
        let role: Role = serde_json::from_value(json!({
            "metadata": {"name": "lease"},
            "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}],
        }))?;
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": "lease"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lease"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "benchwright-operators"}],
        }))?;
        Api::namespaced(plane.client.clone(), &namespace).create(&PostParams::default(), &role).await?;
        Api::namespaced(plane.client.clone(), &namespace).create(&PostParams::default(), &binding).await?;
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let runs = tokio::spawn(create_runs(plane.clone(), namespace.clone(), stopped));
        let mut pair = Pair { plane: plane.clone(), namespace, replicas: BTreeMap::new(), started: 0, runs, stop };
        pair.start("operator-a")?;
        pair.start("operator-b")?;
        pair.holder_other_than("").await?;
        Ok(pair)
    }

    fn start(&mut self, user: &str) -> anyhow::Result<()> {
        let identity = format!("{user}.{}", self.started);
        self.started += 1;
        let flags = [
            ("--watch-namespace", self.namespace.as_str()),
            ("--leader-election-namespace", &self.namespace),
            ("--identity", &identity),
        ];
        let flags: Vec<String> =
            flags.iter().flat_map(|(flag, value)| [(*flag).to_owned(), (*value).to_owned()]).collect();
        let operator = Operator::start(&self.plane, user, &self.namespace, &flags)?;
        self.replicas.insert(identity, operator);
        Ok(())
    }

    async fn holder(&self) -> anyhow::Result<Option<String>> {
        let leases: Api<Lease> = Api::namespaced(self.plane.client.clone(), &self.namespace);
        let lease = leases.get_opt(LEASE).await?;
        Ok(lease.and_then(|it| it.spec?.holder_identity).filter(|it| !it.is_empty()))
    }

    /// Waits until a replica other than `last` holds the lease. Returns its identity.
    async fn holder_other_than(&self, last: &str) -> anyhow::Result<String> {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(holder) = self.holder().await?.filter(|it| it != last) {
                return Ok(holder);
            }
            anyhow::ensure!(
                Instant::now() < deadline,
                "no replica took the lease of {} within {LONG:?}",
                self.namespace
            );
            sleep(Duration::from_millis(250)).await;
        }
    }

    /// Waits until a replica knows that it leads. The name in the Lease is no proof, because a replica that creates the Lease writes its name without
    /// holding it.
    async fn leader(&self) -> anyhow::Result<String> {
        let deadline = Instant::now() + LONG;
        loop {
            for (identity, replica) in &self.replicas {
                if replica.metric("benchwright_operator_leader").await? > 0.0 {
                    return Ok(identity.clone());
                }
            }
            anyhow::ensure!(Instant::now() < deadline, "no replica of {} leads within {LONG:?}", self.namespace);
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Kills or stops the leader. Returns its identity, and when it happened.
    async fn strike(&mut self, fault: Fault) -> anyhow::Result<(String, Timestamp)> {
        let leader = self.leader().await?;
        let mut operator = self.replicas.remove(&leader).context("the leader is no process of this test")?;
        let user = leader.split('.').next().unwrap_or_default().to_owned();
        let at = Timestamp::now();
        match fault {
            Fault::Killed => {
                operator.kill().await?;
                // By then the other replica has seen the last renewal, so it will take the lease before the new process may.
                sleep(RESTART).await;
                self.start(&user)?;
                self.holder_other_than(&leader).await?;
            }
            Fault::Stopped => {
                operator.signal(Signal::STOP)?;
                self.holder_other_than(&leader).await?;
                // Lets the new leader work for a moment before the old one continues.
                sleep(Duration::from_secs(2)).await;
                operator.signal(Signal::CONT)?;
                let code = operator.wait_end(LONG).await?;
                assert_eq!(code, Some(LEASE_LOST), "a replica that has lost the lease ends");
                self.start(&user)?;
            }
        }
        Ok((leader, at))
    }

    /// Ends the creation of runs, and waits until all runs have finished.
    async fn finish(self) -> anyhow::Result<Ended> {
        self.stop.send(true)?;
        let created = self.runs.await??;
        let runs: Api<BenchmarkRun> = Api::namespaced(self.plane.client.clone(), &self.namespace);
        let deadline = Instant::now() + LONG * 2;
        let runs = loop {
            let found = runs.list(&ListParams::default()).await?.items;
            if found.iter().all(BenchmarkRun::is_finished) {
                break found;
            }
            anyhow::ensure!(Instant::now() < deadline, "runs of {} do not finish", self.namespace);
            sleep(Duration::from_millis(500)).await;
        };
        let jobs: Api<Job> = Api::namespaced(self.plane.client.clone(), &self.namespace);
        let jobs = jobs.list(&ListParams::default()).await?.items.len();
        Ok(Ended { namespace: self.namespace, created, runs, jobs })
    }
}

/// The result of a pair.
struct Ended {
    namespace: String,
    created: usize,
    runs: Vec<BenchmarkRun>,
    jobs: usize,
}

/// Until it is stopped, creates runs that take a second each. Returns the number of these runs.
async fn create_runs(
    plane: ControlPlane,
    namespace: String,
    stopped: tokio::sync::watch::Receiver<bool>,
) -> anyhow::Result<usize> {
    let (path, mut pace, mut count) = (runs_path(&namespace), interval(RUN_EVERY), 0);
    while !*stopped.borrow() {
        pace.tick().await;
        create(&plane.client, &path, &short(&format!("chat-{count:04}"), 1)).await?;
        count += 1;
    }
    Ok(count)
}

/// The terms in their order, derived from the successful writes of the Lease.
fn terms(requests: &[Request]) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for request in requests.iter().filter(|it| it.is_lease() && it.succeeded()) {
        let Some(holder) = request.holder.clone().filter(|it| !it.is_empty()) else { continue };
        if terms.last().is_none_or(|it| it.holder != holder) {
            terms.push(Term { holder, since: request.answered });
        }
    }
    terms
}

/// Successful writes of a replica after another replica had begun to lead. Two successive terms always belong to different certificates.
fn late_writes<'a>(requests: &'a [Request], terms: &[Term]) -> Vec<&'a Request> {
    let of_another = |request: &Request| {
        let term = terms.iter().rfind(|it| it.since <= request.answered);
        term.is_none_or(|it| it.holder.split('.').next() != Some(request.user.as_str()))
    };
    requests.iter().filter(|it| it.is_write() && !it.is_lease() && it.succeeded() && of_another(it)).collect()
}

/// Strikes the leaders of several pairs concurrently, `strikes` times each, and checks the API server's audit log.
async fn assert_one_leader_at_a_time(purpose: &str, pairs: usize, strikes: usize, fault: Fault) -> anyhow::Result<()> {
    let plane = ControlPlane::connect().await?;
    let start = plane.audit_end()?;
    let mut all = JoinSet::new();
    for number in 0..pairs {
        let (plane, namespace) = (plane.clone(), format!("{purpose}-{number}"));
        all.spawn(async move {
            let mut pair = Pair::begin(&plane, namespace).await?;
            let mut struck = Vec::new();
            for _ in 0..strikes {
                // Lets each leader do some work.
                sleep(RUN_EVERY / 2).await;
                struck.push(pair.strike(fault).await?);
            }
            anyhow::Ok((pair.finish().await?, struck))
        });
    }
    let mut ended = Vec::new();
    while let Some(pair) = all.join_next().await {
        ended.push(pair??);
    }
    let requests = plane.audit_since(start)?;
    let (mut takeovers, mut created, mut writes) = (Vec::new(), 0, 0);
    for (pair, struck) in &ended {
        let own: Vec<Request> = requests.iter().filter(|it| it.namespace == pair.namespace).cloned().collect();
        let terms = terms(&own);
        for neighbours in terms.windows(2) {
            let [one, next] = [0, 1].map(|it: usize| neighbours[it].holder.split('.').next());
            assert_ne!(one, next, "two terms of one certificate follow each other: {terms:?}");
        }
        let late = late_writes(&own, &terms);
        assert!(late.is_empty(), "{}: two writers at once: {late:?}\n{terms:?}", pair.namespace);
        for (leader, at) in struck {
            let position = terms.iter().position(|it| it.holder == *leader).context("the leader has no term")?;
            let next = terms.get(position + 1).context("no replica took over")?;
            takeovers.push(next.since.duration_since(*at).as_secs_f64());
        }
        assert_eq!(pair.runs.len(), pair.created, "{}: no run is lost", pair.namespace);
        assert_eq!(pair.jobs, pair.created, "{}: each run has one Job", pair.namespace);
        for run in &pair.runs {
            let status = run.status.clone().unwrap_or_default();
            let good = (status.phase, status.outcome, status.attempts.len());
            assert_eq!(good, (Some(Phase::Succeeded), Some(Outcome::Passed), 1), "{}: {status:?}", run.name_any());
        }
        let jobs = own.iter().filter(|it| it.verb == "create" && it.resource == "jobs" && it.succeeded()).count();
        // If the operator was killed before a response, the audit log has no status code for the request, so Jobs may be missing from this count.
        assert!(jobs <= pair.created, "{}: {jobs} Jobs of {} runs were created", pair.namespace, pair.created);
        created += pair.created;
        writes += own.iter().filter(|it| it.is_write() && !it.is_lease()).count();
    }
    takeovers.sort_by(f64::total_cmp);
    let [median, longest] = [takeovers.len() / 2, takeovers.len() - 1].map(|it| takeovers[it]);
    println!(
        "figure 18: {purpose}: {} takeovers, median {median:.1} s, longest {longest:.1} s; {writes} writes, all by the leader; \
         0 of {created} runs lost or duplicated",
        takeovers.len()
    );
    Ok(())
}

/// The number in an environment variable. It allows tests with a hundred takeovers.
fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make leader"]
async fn leaders_that_are_killed_leave_one_writer_at_a_time() -> anyhow::Result<()> {
    let pairs = number("LEADER_PAIRS", 2);
    assert_one_leader_at_a_time("killed", pairs, number("LEADER_STRIKES", 2), Fault::Killed).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a control plane: make leader"]
async fn a_leader_that_was_stopped_writes_nothing_afterwards() -> anyhow::Result<()> {
    assert_one_leader_at_a_time("stopped", number("LEADER_STOPPED_PAIRS", 1), 2, Fault::Stopped).await
}
