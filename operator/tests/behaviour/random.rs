//! Any order of events, in a world of one Job and one pod.

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Outcome,
    benchmark_run::Cancel,
    status::{MAX_ATTEMPTS, Phase},
};
use operator::plan::{
    Child, Ended, JobState, Observed, Plan, PodState, Presence, Refused, Stop, Turn, plan, status::MAX_STATUS_BYTES,
};
use proptest::prelude::*;

use crate::fixture::*;

#[derive(Clone, Debug)]
enum Event {
    Time(u16),
    PodComes,
    PodWaits(bool),
    PodRuns,
    PodReady,
    PodEnds(Outcome),
    PodKilled(bool),
    PodGone,
    JobFails,
    JobDeleted,
    Suspend(bool),
    Cancel(bool),
    Refused(bool),
    StatusWriteFails,
}

fn event() -> impl Strategy<Value = Event> {
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    prop_oneof![
        4 => (0_u16..4_000).prop_map(Event::Time),
        6 => Just(Event::PodComes),
        1 => any::<bool>().prop_map(Event::PodWaits),
        4 => Just(Event::PodRuns),
        4 => Just(Event::PodReady),
        2 => outcome.prop_map(Event::PodEnds),
        2 => any::<bool>().prop_map(Event::PodKilled),
        3 => Just(Event::PodGone),
        1 => Just(Event::JobFails),
        1 => Just(Event::JobDeleted),
        2 => any::<bool>().prop_map(Event::Suspend),
        1 => any::<bool>().prop_map(Event::Cancel),
        1 => any::<bool>().prop_map(Event::Refused),
        2 => Just(Event::StatusWriteFails),
    ]
}

struct World {
    run: BenchmarkRun,
    now: i64,
    /// Number and state of the Job that exists; a Job that was deleted stays while its pod does.
    job: Option<(u32, JobState)>,
    pod: PodState,
    ended: Option<Ended>,
    refused: Option<bool>,
    lose_status: bool,
}

impl World {
    fn new(spec: &str) -> Self {
        let run = run(spec);
        World { run, now: 0, job: None, pod: PodState::default(), ended: None, refused: None, lose_status: false }
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
            Event::PodGone if has_pod && (self.pod.deleting.is_some() || self.ended.is_some()) => {
                self.pod = PodState::default()
            }
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
            _ => {}
        }
        if let Some((_, job)) = &self.job
            && job.deleting
            && self.pod.name.is_none()
        {
            self.job = None;
        }
    }

    fn may_have_a_pod(&self) -> bool {
        let live = |job: &JobState| !job.deleting && !job.complete && job.failed.is_none();
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
        let mut observed = Observed { pod: self.pod.clone(), ended: self.ended.clone(), ..Observed::default() };
        if let Some((_, job)) = self.job.as_ref().filter(|(number, _)| of_last(*number)) {
            observed.job = job.clone();
        }
        let open = last.as_ref().is_some_and(|it| it.end_time.is_none());
        let number = last.map_or(1, |it| if open { it.number } else { it.number + 1 });
        if !open || self.run.status.as_ref().is_some_and(|it| it.phase == Some(Phase::Preparing)) {
            observed.input = Some(Ok(input(&self.run, number)));
        }
        observed
    }

    /// What `apply` and the API server do: what has to end, what has to be made, and last the status.
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
            let state = JobState { presence: Presence::Ours, created: Some(at(self.now)), ..JobState::default() };
            self.job = Some((number, state));
            self.ended = None;
        }
        if !std::mem::take(&mut self.lose_status) {
            self.run.status = Some(made.status.clone());
        }
    }

    fn turn(&mut self) {
        let settings = settings();
        let before = self.run.status.clone().unwrap_or_default();
        let mut observed = self.observe();
        let turn = Turn { settings: &settings, now: at(self.now) };
        let mut made = plan(&self.run, &observed, &turn);
        if let Some(for_good) = self.refused.filter(|_| !made.create.is_empty()) {
            observed.refused = Some(Refused { message: "not here".into(), for_good });
            made = plan(&self.run, &observed, &turn);
            self.refused = None;
        }
        check_step(&before, &made.status);
        assert!(made.status != before || !made.again, "it would go in circles: {made:?}");
        self.apply(&made);
    }
}

fn check_step(before: &BenchmarkRunStatus, after: &BenchmarkRunStatus) {
    if before.phase.is_some_and(Phase::is_terminal) {
        assert_eq!(before, after, "what has finished stays");
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_events_leave_one_job_at_most_and_an_end_that_stays(
        events in prop::collection::vec(event(), 0..40),
        limit in 0_u32..11,
    ) {
        let mut world = World::new(&format!("{{target: {{simulator: {{}}}}, execution: {{retry: {{limit: {limit}}}}}}}"));
        for event in &events {
            world.befall(event);
            world.turn();
        }
        // Nobody interferes any more, and time passes: every run comes to its end.
        world.run.spec.suspend = false;
        for _ in 0..80 {
            if world.run.status.as_ref().is_some_and(|it| it.phase.is_some_and(Phase::is_terminal)) {
                break;
            }
            world.befall(&Event::Time(1_000));
            world.befall(&Event::PodGone);
            world.turn();
        }
        let status = world.run.status.unwrap();
        prop_assert!(status.phase.is_some_and(Phase::is_terminal), "never stops: {status:#?}");
    }
}
