//! Tests with random events of a server and of the launcher, in any order.

use crds::{BenchmarkRun, Outcome, benchmark_run::Cancel, status::Phase};
use operator::plan::{Child, Observed, Presence, Turn, plan, server::ServerState, status::MAX_STATUS_BYTES};
use proptest::prelude::*;

use super::*;

/// An arbitrary observation of a server.
fn any_server() -> impl Strategy<Value = ServerState> {
    let pod = (any::<[bool; 6]>(), 0_u32..3, prop::option::of(0_i32..140), prop::option::of(0_i64..2_000)).prop_map(
        |([runs, is_ready, deleting, over, unschedulable, waits], restarts, ended, created)| {
            let mut pod = if runs { running("s-a") } else { pod("s-a") };
            pod.state.ready = runs && is_ready;
            pod.state.deleting = deleting.then(|| at(100));
            pod.state.unschedulable = unschedulable.then(|| "0/3 nodes".into());
            pod.state.waiting = waits.then(|| ("ErrImagePull".into(), "not found".into()));
            (pod.restarts, pod.over) = (restarts, over);
            pod.ended = ended.map(|it| end(it, "Error", &"word ".repeat(400)));
            pod.created = created.map(at);
            pod
        },
    );
    let presence = prop::sample::select(vec![Presence::Absent, Presence::Ours, Presence::Ours, Presence::Foreign]);
    (presence, any::<[bool; 2]>(), prop::collection::vec(pod, 0..3)).prop_map(
        |(deployment, [deleting, services], pods)| {
            let services = if services { vec![NAME.to_owned()] } else { Vec::new() };
            ServerState { deployment, deleting, services, pods, ..exists(Vec::new()) }
        },
    )
}

/// An arbitrary observation of the launcher.
fn any_launcher() -> impl Strategy<Value = Observed> {
    prop_oneof![
        3 => Just(Observed::default()),
        2 => Just(started()),
        2 => Just(measuring()),
        1 => prop::sample::select(Outcome::ALL.to_vec()).prop_map(|it| ended(said(&envelope(it, "RunSucceeded")))),
    ]
}

fn is_settled(run: &BenchmarkRun) -> bool {
    let status = run.status.clone().unwrap_or_default();
    status.server.is_none_or(|it| it.gone_time.is_some() || it.stop_time.is_some())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The observations change at random between turns.
    #[test]
    fn a_run_in_any_order_of_events_starts_no_launcher_without_a_server_and_never_finishes_before_the_server_is_gone(
        turns in prop::collection::vec((any_server(), any_launcher(), 1_i64..900, any::<[u8; 2]>()), 1..30)
    ) {
        let settings = settings();
        let mut run = run(ONE);
        let mut now = 0;
        for (server, launcher, seconds, [cancel, suspend]) in turns {
            now += seconds;
            run.spec.suspend = suspend < 20;
            if cancel < 10 {
                run.spec.cancel = Some(Cancel::Immediate);
            }
            let before = run.status.clone().unwrap_or_default();
            let number = operator::plan::current_attempt(&before).map_or(before.attempts.last().map_or(1, |it| it.number + 1), |it| it.number);
            let mut observed = Observed { server: server.clone(), input: Some(Ok(input(&run, number))), ..launcher };
            if before.server.is_none() {
                observed.server = ServerState::default();
            }
            let made = plan(&run, &observed, &Turn { settings: &settings, now: at(now) });
            let status = &made.status;
            prop_assert!(serde_json::to_vec(status).unwrap().len() <= MAX_STATUS_BYTES);
            if made.create.iter().any(|it| matches!(it, Child::Job(_))) {
                prop_assert!(observed.server.pods.iter().any(|it| it.state.ready && it.state.deleting.is_none()), "{server:?}");
                prop_assert!(before.server.as_ref().is_some_and(|it| it.ready_time.is_some()));
            }
            if let Some(stop) = &made.stop_server {
                let ended = before.server.as_ref().is_some_and(|it| it.held_end.is_some());
                let failed = operator::plan::current_attempt(&before).is_none() || run.spec.suspend;
                prop_assert!(ended || failed, "removed in mid-run: {stop:?}");
                prop_assert!(observed.server.deployment != Presence::Foreign || stop.deployment.is_none());
            }
            let finished = status.phase.is_some_and(Phase::is_terminal);
            if before.phase.is_some_and(Phase::is_terminal) {
                prop_assert_eq!((status.phase, status.outcome), (before.phase, before.outcome));
            } else if finished {
                let left = observed.server.left(NAME);
                let late = before.server.as_ref().and_then(|it| it.stop_time).is_some_and(|it| at(now).duration_since(it).as_secs() > 300);
                prop_assert!(left.is_empty() || late, "{left:?}");
                prop_assert!(status.outcome.is_some() && status.completion_time.is_some());
                prop_assert!(status.server.as_ref().is_none_or(|it| it.held_end.is_none()));
            }
            run = after(&run, &made);
        }
        prop_assert!(!run.is_finished() || is_settled(&run));
    }
}
