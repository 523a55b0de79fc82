//! Tests with random sequences of events, in a simulated world with one Job and its pods.

use std::{num::NonZero, sync::LazyLock, thread, time::Duration};

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Outcome, Settings,
    benchmark_run::Cancel,
    status::{MAX_ATTEMPTS, Phase},
};
use operator::plan::{
    Child, Ended, JobState, LauncherInput, Observed, Plan, PodState, Presence, QueueState, Refused, Stop, Turn, Wanted,
    exclusive::{
        Wait,
        line::{Ahead, Busy},
    },
    plan,
    status::MAX_STATUS_BYTES,
};
use proptest::{prelude::*, test_runner::TestRunner};

use crate::behaviour::fixture::*;

/// Default number of sequences per test. `PROPTEST_CASES` changes it, and `make reliability` uses 100,000.
const SEQUENCES: u32 = 1_000;
/// Maximum number of events per sequence.
const MAX_EVENTS: usize = 40;
/// Maximum number of seconds by which one event moves a clock.
const MAX_SECONDS: u16 = 4_000;
/// Maximum number of attempts in a sequence: the first attempt, the retries that the spec allows, and one attempt after each suspension.
const MAX_STARTED: usize = MAX_ATTEMPTS + 1 + MAX_EVENTS;

#[derive(Clone, Debug)]
enum Event {
    Time(u16),
    PodComes,
    PodWaits(bool),
    PodRuns,
    PodReady,
    PodEnds(Outcome),
    PodKilled(bool),
    /// An event stops the launcher, but its pod remains.
    LauncherStopped {
        /// Number of seconds by which the node's clock is ahead.
        ahead: u16,
        /// Whether the launcher was killed and could not report.
        killed: bool,
        /// Whether another container in the pod is still running.
        kept: bool,
    },
    /// The pod of a stopped launcher ends. `true` if it reports what stopped the launcher.
    StoppedPodEnds(bool),
    PodGone,
    JobFails,
    JobDeleted,
    Suspend(bool),
    Cancel(bool),
    Refused(bool),
    StatusWriteFails,
    /// A status write times out, but arrives after the next events.
    StatusWriteIsLate,
    LateWriteArrives,
    /// The clock of the operator is set back by this number of seconds.
    ClockSetBack(u16),
    /// The pod is being deleted, but its node never reports its end.
    NodeLost,
    /// Another pod with the Job as its owner appears. `true` if it has the same creation second, so that neither pod is trusted.
    PodReplaced(bool),
    /// The Job is deleted, and somebody else creates a Job with the same name.
    JobRecreated,
    /// A user edits a field that does not affect an attempt, such as `cleanup`.
    SpecEdited,
    /// The operator restarts and loses its in-memory state.
    OperatorRestarts,
    /// The queue admits the Job.
    QueueAdmits,
    /// The queue or a user suspends the Job, and the Job controller deletes the pod.
    QueueStops,
    /// The queue is missing (`true`), or exists again.
    QueueMissing(bool),
    /// Other runs wait for the target or slot that this run occupies (`true`), or no longer wait.
    OthersWait(bool),
    /// Another run occupies the target (`true`), or no longer does.
    TargetBusy(bool),
}

/// The specs under test: with and without a queue, and with a target inside the pod and outside.
const SPECS: [&str; 4] = [
    "target: {simulator: {}}",
    "target: {url: 'http://model'}",
    "target: {simulator: {}}, queueName: load",
    "target: {url: 'http://model'}, queueName: load",
];
/// The limit of the policy: how many seconds an attempt may wait in its queue while other runs wait.
const QUEUE_SECONDS: u32 = 60;
/// Number of seconds after which no attempt can still wait in its queue. The limit doubles with each suspended attempt in the status, and the clocks
/// may differ.
const QUEUE_END: i64 = ((QUEUE_SECONDS as i64) << MAX_ATTEMPTS) + MAX_EVENTS as i64 * MAX_SECONDS as i64;

fn event() -> impl Strategy<Value = Event> {
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    prop_oneof![
        4 => (0..MAX_SECONDS).prop_map(Event::Time),
        6 => Just(Event::PodComes),
        1 => any::<bool>().prop_map(Event::PodWaits),
        4 => Just(Event::PodRuns),
        4 => Just(Event::PodReady),
        2 => outcome.prop_map(Event::PodEnds),
        2 => any::<bool>().prop_map(Event::PodKilled),
        2 => (prop_oneof![Just(0_u16), 0..MAX_SECONDS], any::<bool>(), any::<bool>())
            .prop_map(|(ahead, killed, kept)| Event::LauncherStopped { ahead, killed, kept }),
        3 => any::<bool>().prop_map(Event::StoppedPodEnds),
        3 => Just(Event::PodGone),
        1 => Just(Event::JobFails),
        1 => Just(Event::JobDeleted),
        2 => any::<bool>().prop_map(Event::Suspend),
        1 => any::<bool>().prop_map(Event::Cancel),
        1 => any::<bool>().prop_map(Event::Refused),
        2 => Just(Event::StatusWriteFails),
        2 => Just(Event::StatusWriteIsLate),
        2 => Just(Event::LateWriteArrives),
        1 => (0..MAX_SECONDS).prop_map(Event::ClockSetBack),
        1 => Just(Event::NodeLost),
        1 => any::<bool>().prop_map(Event::PodReplaced),
        1 => Just(Event::JobRecreated),
        1 => Just(Event::SpecEdited),
        2 => Just(Event::OperatorRestarts),
        3 => Just(Event::QueueAdmits),
        1 => Just(Event::QueueStops),
        1 => any::<bool>().prop_map(Event::QueueMissing),
        1 => any::<bool>().prop_map(Event::OthersWait),
        1 => any::<bool>().prop_map(Event::TargetBusy),
    ]
}

struct World {
    run: BenchmarkRun,
    now: i64,
    /// Number of the attempt and state of its Job, if the Job exists. A deleted Job remains as long as its pod.
    job: Option<(u32, JobState)>,
    pod: PodState,
    ended: Option<Ended>,
    refused: Option<bool>,
    lose_status: bool,
    /// Whether the next status write is delayed.
    delay_status: bool,
    /// A status in transit, with the version of the run that it was based on.
    late: Option<(u64, BenchmarkRunStatus)>,
    version: u64,
    ambiguous: bool,
    others: Vec<String>,
    /// Number of the attempt whose Job name is taken by somebody else's Job.
    foreign: Option<u32>,
    input: LauncherInput,
    jobs_created: usize,
    queue_missing: bool,
    /// When other runs began to wait for the target or slot of this run.
    others_since: Option<i64>,
    target_busy: bool,
}

static SETTINGS: LazyLock<Settings> = LazyLock::new(settings);

impl World {
    fn new(spec: &str) -> Self {
        let run = run(spec);
        World {
            input: input(&run, 1),
            run,
            now: 0,
            job: None,
            pod: PodState::default(),
            ended: None,
            refused: None,
            lose_status: false,
            delay_status: false,
            late: None,
            version: 0,
            ambiguous: false,
            others: Vec::new(),
            foreign: None,
            jobs_created: 0,
            queue_missing: false,
            others_since: None,
            target_busy: false,
        }
    }

    fn befall(&mut self, event: &Event) {
        let has_pod = self.pod.name.is_some();
        let open = has_pod && self.ended.is_none();
        match event {
            Event::Time(seconds) => self.now += i64::from(*seconds),
            Event::PodComes if self.may_have_a_pod() => self.pod.name = Some("pod".into()),
            Event::PodWaits(volume) if open => self.pod.unschedulable = volume.then(|| "no node".into()),
            Event::PodRuns if open => self.pod.running = true,
            Event::PodReady if open && self.pod.running => self.pod.ready = true,
            Event::PodEnds(outcome) if open => {
                let mut envelope = envelope(*outcome, "TargetUnavailable");
                envelope.core.attempt = self.job.as_ref().map_or(1, |(number, _)| *number);
                self.end_pod(said(&envelope));
            }
            Event::PodKilled(memory) if open => {
                let reason = if *memory { "OOMKilled" } else { "Error" };
                let disrupted = (!memory).then(|| "TerminationByKubelet: low on disk".into());
                self.end_pod(Ended { exit_code: 137, reason: reason.into(), disrupted, ..Ended::default() });
            }
            Event::LauncherStopped { ahead, killed, kept } if open => {
                let mut envelope = envelope(Outcome::Cancelled, "Cancelled");
                envelope.core.attempt = self.job.as_ref().map_or(1, |(number, _)| *number);
                let without = Ended { exit_code: 137, reason: "Error".into(), ..Ended::default() };
                self.ended = Some(if *killed { without } else { said(&envelope) });
                (self.pod.running, self.pod.ready) = (false, false);
                (self.pod.held, self.pod.kept) = (true, *kept);
                self.pod.ended_at = Some(at(self.now + i64::from(*ahead)));
            }
            Event::StoppedPodEnds(named) if self.pod.held => {
                (self.pod.held, self.pod.kept) = (false, false);
                if let Some(mut ended) = self.ended.take() {
                    ended.disrupted = named.then(|| "TerminationByKubelet: low on disk".into());
                    self.end_pod(ended);
                }
            }
            Event::PodGone if has_pod && (self.pod.deleting.is_some() || (self.ended.is_some() && !self.pod.held)) => {
                self.pod = PodState::default()
            }
            Event::NodeLost if open || self.pod.held => {
                self.pod.deleting.get_or_insert(at(self.now));
                self.pod.ready = false;
            }
            Event::PodReplaced(twin) if open => {
                self.others.push("another".into());
                self.ambiguous |= *twin;
            }
            Event::JobRecreated if self.job.is_some() => {
                self.foreign = self.job.as_ref().map(|(number, _)| *number);
                self.delete_job(true);
            }
            Event::SpecEdited => {
                self.run.metadata.generation = self.run.metadata.generation.map(|it| it + 1);
                self.version += 1;
            }
            // Only the operator's memory contained the end of a pod that is gone, so a restart loses it.
            Event::OperatorRestarts if !has_pod => self.ended = None,
            Event::JobFails => {
                if let Some((_, job)) = &mut self.job {
                    job.failed = Some("DeadlineExceeded".into());
                    job.ended_at = Some(at(self.now));
                }
            }
            Event::JobDeleted => self.delete_job(false),
            Event::Suspend(suspend) => self.run.spec.suspend = *suspend,
            Event::Cancel(now) if self.run.spec.cancel.is_none() => {
                self.run.spec.cancel = Some(if *now { Cancel::Immediate } else { Cancel::Graceful });
            }
            Event::Refused(for_good) => self.refused = Some(*for_good),
            Event::StatusWriteFails => self.lose_status = true,
            Event::StatusWriteIsLate => self.delay_status = true,
            Event::LateWriteArrives => {
                // The API server refuses a write that is based on an older version of the object.
                if let Some((version, status)) = self.late.take()
                    && version == self.version
                {
                    self.write(status);
                }
            }
            Event::ClockSetBack(seconds) => self.now -= i64::from(*seconds),
            Event::QueueAdmits => {
                if let Some((_, job)) = self.job.as_mut().filter(|(_, job)| job.suspended && !job.deleting) {
                    (job.suspended, job.started) = (false, Some(at(self.now)));
                }
            }
            Event::QueueStops => {
                if let Some((_, job)) = self.job.as_mut().filter(|(_, job)| !job.complete && job.failed.is_none()) {
                    job.suspended = true;
                    if has_pod {
                        self.pod.deleting.get_or_insert(at(self.now + 60));
                    }
                }
            }
            Event::QueueMissing(missing) => self.queue_missing = *missing,
            Event::OthersWait(wait) => self.others_since = wait.then_some(self.others_since.unwrap_or(self.now)),
            Event::TargetBusy(busy) => self.target_busy = *busy,
            _ => {}
        }
        if let Some((_, job)) = &self.job
            && job.deleting
            && self.pod.name.is_none()
        {
            self.job = None;
        }
    }

    fn write(&mut self, status: BenchmarkRunStatus) {
        check_step(&self.run.status.clone().unwrap_or_default(), &status);
        self.run.status = Some(status);
        self.version += 1;
    }

    fn may_have_a_pod(&self) -> bool {
        let live = |job: &JobState| !job.deleting && !job.suspended && !job.complete && job.failed.is_none();
        self.pod.name.is_none() && self.ended.is_none() && self.job.as_ref().is_some_and(|(_, job)| live(job))
    }

    fn end_pod(&mut self, ended: Ended) {
        if let Some((_, job)) = &mut self.job {
            job.complete = ended.exit_code == 0;
            job.failed = (ended.exit_code != 0).then(|| "BackoffLimitExceeded".into());
            job.ended_at = Some(at(self.now));
        }
        self.pod.ready = false;
        self.pod.running = false;
        self.ended = Some(ended);
    }

    fn delete_job(&mut self, at_once: bool) {
        self.others.clear();
        self.ambiguous = false;
        if self.pod.name.is_some() {
            self.pod.deleting.get_or_insert(at(self.now + 60));
        }
        if at_once {
            self.job = None;
        } else if let Some((_, job)) = &mut self.job {
            job.deleting = true;
        }
    }

    fn observe(&self) -> Observed {
        let last = self.run.status.as_ref().and_then(|it| it.attempts.last().cloned());
        let of_last = |number: u32| last.as_ref().is_some_and(|it| it.number == number);
        let mut observed = Observed {
            pod: if self.ambiguous { PodState::default() } else { self.pod.clone() },
            ended: self.ended.clone().filter(|_| !self.ambiguous),
            other_pods: self.others.clone(),
            ambiguous: self.ambiguous,
            ..Observed::default()
        };
        if self.foreign.is_some() && self.foreign == last.as_ref().map(|it| it.number) {
            observed.job.presence = Presence::Foreign;
        }
        if let Some((_, job)) = self.job.as_ref().filter(|(number, _)| of_last(*number)) {
            observed.job = job.clone();
            if job.suspended {
                let queue = QueueState { exists: !self.queue_missing, message: "no quota".into() };
                observed.queue = self.run.spec.queue_name.as_ref().map(|_| queue);
                observed.wanted = self.others_since.map(|it| Wanted { since: at(it), limit: QUEUE_SECONDS });
            }
        }
        let open = last.as_ref().is_some_and(|it| it.end_time.is_none());
        let number = last.map_or(1, |it| if open { it.number } else { it.number + 1 });
        if self.target_busy && !open {
            let busy = Busy { position: 1, ahead: Ahead::Has, name: "bench/other".into() };
            observed.wait = Some(Wait { busy, keep_message: false, next_look: Duration::from_secs(1) });
        }
        if !open || self.run.status.as_ref().is_some_and(|it| it.phase == Some(Phase::Preparing)) {
            let mut input = self.input.clone();
            input.run.run.attempt = number;
            observed.input = Some(Ok(input));
        }
        observed
    }

    /// Simulates `apply` and the API server: first deletions, then creations, and finally the status.
    fn apply(&mut self, made: &Plan) {
        match &made.stop {
            Some(Stop::Pod(_)) => {
                self.pod.deleting.get_or_insert(at(self.now + 60));
            }
            Some(Stop::Job(_)) => self.delete_job(false),
            Some(Stop::PodAndJobNow { pod, .. }) => {
                self.delete_job(true);
                if pod.is_some() {
                    self.pod = PodState::default();
                }
            }
            None => {}
        }
        for child in &made.create {
            let Child::Job(job) = child else { continue };
            assert!(self.job.is_none() && self.pod.name.is_none(), "a second Job beside {:?} {:?}", self.job, self.pod);
            let number = job.metadata.labels.as_ref().unwrap()["benchwright.dev/attempt"].parse().unwrap();
            let suspended = job.spec.as_ref().and_then(|it| it.suspend) == Some(true);
            let created = Some(at(self.now));
            let state = JobState { presence: Presence::Ours, created, suspended, ..JobState::default() };
            self.job = Some((number, state));
            self.ended = None;
            self.jobs_created += 1;
        }
        if !made.stop_pods.is_empty() {
            self.others.clear();
            self.ambiguous = false;
        }
        if self.run.status.as_ref() == Some(&made.status) || std::mem::take(&mut self.lose_status) {
            return;
        }
        if std::mem::take(&mut self.delay_status) {
            self.late = Some((self.version, made.status.clone()));
        } else {
            self.write(made.status.clone());
        }
    }

    fn turn(&mut self) {
        let before = self.run.status.clone().unwrap_or_default();
        let mut observed = self.observe();
        let turn = Turn { settings: &SETTINGS, now: at(self.now) };
        let mut made = plan(&self.run, &observed, &turn);
        if let Some(for_good) = self.refused.filter(|_| !made.create.is_empty()) {
            observed.refused = Some(Refused { message: "not here".into(), for_good });
            made = plan(&self.run, &observed, &turn);
            self.refused = None;
        }
        assert!(made.status != before || !made.again, "it would go in circles: {made:?}");
        self.apply(&made);
    }
}

/// The status with generation 0, for comparisons. The real generation always follows the spec.
fn of_generation_0(status: &BenchmarkRunStatus) -> BenchmarkRunStatus {
    let mut status = status.clone();
    status.observed_generation = 0;
    status.conditions.iter_mut().for_each(|it| it.observed_generation = 0);
    status
}

fn check_step(before: &BenchmarkRunStatus, after: &BenchmarkRunStatus) {
    if before.phase.is_some_and(Phase::is_terminal) {
        assert_eq!(of_generation_0(before), of_generation_0(after), "what has finished stays");
    }
    assert!(serde_json::to_string(after).unwrap().len() <= MAX_STATUS_BYTES);
    assert!(after.attempts.len() <= MAX_ATTEMPTS);
    assert!(after.attempts.windows(2).all(|pair| pair[0].number < pair[1].number));
    let open = after.attempts.iter().filter(|it| it.end_time.is_none()).count();
    assert!(open <= 1 && (open == 0 || after.attempts.last().is_some_and(|it| it.end_time.is_none())));
    let terminal = after.phase.is_some_and(Phase::is_terminal);
    assert_eq!(terminal, after.outcome.is_some());
    assert_eq!(terminal, after.completion_time.is_some());
    assert!(!terminal || open == 0);
    for kind in ["Ready", "Finished", "Succeeded"] {
        assert!(standing(after, kind).is_some(), "{kind}");
    }
    assert_ne!(
        standing(after, "Stalled").is_some(),
        standing(after, "Reconciling").is_some() || after.outcome == Some(Outcome::Passed)
    );
}

/// Plays a sequence of events, then lets time pass until the run has ended, and checks the end.
fn check_sequence(spec: &str, events: &[Event], retries: u32) {
    let mut world = World::new(&format!("{{{spec}, execution: {{retry: {{limit: {retries}}}}}}}"));
    for event in events {
        world.befall(event);
        world.turn();
    }
    // From here on nothing interferes and time passes, so every run must end.
    world.run.spec.suspend = false;
    (world.lose_status, world.delay_status, world.target_busy) = (false, false, false);
    check_hold(&mut world);
    world.others_since = None;
    for _ in 0..100 {
        world.befall(&Event::QueueAdmits);
        if world.run.status.as_ref().is_some_and(|it| it.phase.is_some_and(Phase::is_terminal)) {
            break;
        }
        world.befall(&Event::Time(1_000));
        world.befall(&Event::PodGone);
        world.turn();
    }
    let status = world.run.status.clone().unwrap_or_default();
    assert!(status.phase.is_some_and(Phase::is_terminal), "the run never ends: {status:#?}");
    assert!(world.jobs_created <= MAX_STARTED, "{} Jobs were created", world.jobs_created);
    // While other runs wait, an attempt in a queue is ended each time its time limit has passed. So attempts can be suspended without an event.
    let suspends = |it: &&Event| matches!(it, Event::Suspend(true) | Event::QueueStops | Event::Time(_));
    let suspensions = events.iter().filter(suspends).count() + 1;
    let number = status.attempts.last().map_or(0, |it| it.number as usize);
    assert!(number <= retries as usize + 1 + suspensions, "attempt {number} with {retries} retries");
    // The delayed write arrives last and must have no effect.
    world.befall(&Event::LateWriteArrives);
    assert_eq!(of_generation_0(&world.run.status.unwrap_or_default()), of_generation_0(&status));
}

/// Checks that an attempt which its queue does not admit lets other runs in.
fn check_hold(world: &mut World) {
    let attempt = |world: &World| {
        let last = world.run.status.as_ref().and_then(|it| it.attempts.last());
        last.filter(|it| it.end_time.is_none()).map(|it| it.number)
    };
    let is_suspended = world.job.as_ref().is_some_and(|(_, job)| job.suspended && !job.deleting);
    let Some(number) = attempt(world).filter(|_| is_suspended) else { return };
    world.befall(&Event::OthersWait(true));
    world.now += QUEUE_END;
    for _ in 0..5 {
        world.turn();
    }
    assert_ne!(attempt(world), Some(number), "it waits for its queue for ever: {:#?}", world.run.status);
}

fn sequences() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(SEQUENCES)
}

/// Checks `count` random sequences on all processors.
fn check_sequences(count: u32) -> Result<(), String> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get) as u32;
    let config =
        ProptestConfig { cases: count.div_ceil(workers), failure_persistence: None, ..ProptestConfig::default() };
    let check = || {
        let spec = prop::sample::select(SPECS.to_vec());
        let input = (spec, prop::collection::vec(event(), 0..MAX_EVENTS), 0_u32..11);
        let mut runner = TestRunner::new(config.clone());
        runner.run(&input, |(spec, events, retries)| {
            check_sequence(spec, &events, retries);
            Ok(())
        })
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(check)).collect();
        workers.into_iter().try_for_each(|it| match it.join() {
            Ok(done) => done.map_err(|it| it.to_string()),
            Err(_) => Err("a worker ended early".into()),
        })
    })
}

#[test]
fn any_events_leave_one_job_at_most_and_an_end_that_stays() {
    let count = sequences();
    assert_eq!(check_sequences(count), Ok(()));
    println!("figure 1: {count} random orders of events: at most one live Job, always a final phase, no endless wait");
}
