//! Tests of `cleanup.server`: when the server of a finished run is removed.

use operator::plan::{
    Unread, What,
    server::{
        OtherUse,
        retention::{begins_to_share, removes_shared},
    },
};

use super::*;

/// A run that finished at second 600. Its server is kept.
fn finished(spec: &str) -> BenchmarkRun {
    let run = with_ready_server(spec, Phase::Running);
    let passed =
        Observed { server: exists(vec![ready("s-a")]), ..ended(said(&envelope(Outcome::Passed, "RunSucceeded"))) };
    let run = after(&run, &decide(&run, &passed, 600));
    assert!(run.is_finished() && run.status.as_ref().unwrap().server.as_ref().unwrap().gone_time.is_none());
    run
}

fn with(server: ServerState) -> Observed {
    Observed { server, ..Observed::default() }
}

fn next_look(made: &Plan) -> Option<u64> {
    made.next_look.map(|it| it.as_secs())
}

const KEPT: &str =
    "{target: {server: {engine: Simulator, lifecycle: Keep}}, cleanup: {server: {afterSuccessSeconds: 100}}}";
const SHARED: &str =
    "{target: {server: {engine: Simulator, lifecycle: Reuse}}, cleanup: {server: {afterSuccessSeconds: 100}}}";

#[test]
fn a_kept_server_is_removed_after_its_time_and_the_status_says_when_it_was_gone() {
    let run = finished(KEPT);
    let made = decide(&run, &Observed::default(), 650);
    assert_eq!((made.stop_server.clone(), next_look(&made)), (None, Some(50)));
    assert_eq!(made.status.server, run.status.as_ref().unwrap().server);

    let made = decide(&run, &with(exists(vec![ready("s-a")])), 700);
    assert!(made.stop_server.as_ref().is_some_and(|it| it.deployment == Some((NAME.into(), Some("d".into())))));
    assert_eq!((server(&made).stop_time, server(&made).gone_time, next_look(&made)), (Some(at(700)), None, Some(60)));
    let run = after(&run, &made);
    let going = ServerState { deleting: true, services: Vec::new(), ..exists(vec![ready("s-a")]) };
    let made = decide(&run, &with(going), 705);
    assert_eq!((made.stop_server.clone(), server(&made).stop_time), (None, Some(at(700))));

    let made = decide(&run, &with(ServerState::default()), 730);
    assert_eq!((server(&made).gone_time, server(&made).ready_replicas), (Some(at(730)), 0));
    assert_eq!((made.status.phase, made.status.reason.as_str()), (Some(Phase::Succeeded), "RunSucceeded"));
    // Afterwards no further turn is needed.
    let made = decide(&after(&run, &made), &Observed::default(), 9_000);
    assert_eq!((made.stop_server.clone(), next_look(&made)), (None, None));
}

#[test]
fn the_time_may_be_set_when_the_run_has_finished_and_without_it_a_server_stays_for_a_day() {
    let mut run = finished(KEEP);
    let made = decide(&run, &with(exists(vec![ready("s-a")])), 601);
    assert_eq!((made.stop_server.clone(), next_look(&made)), (None, Some(86_399)));
    assert!(decide(&run, &with(exists(vec![ready("s-a")])), 87_000).stop_server.is_some());
    run.spec.cleanup.server = Some(crds::benchmark_run::ServerCleanup::default());
    let made = decide(&run, &Observed::default(), 601);
    assert_eq!(next_look(&made), Some(3_599), "an hour by default");
    assert!(decide(&run, &with(exists(vec![ready("s-a")])), 4_200).stop_server.is_some());
}

#[test]
fn a_server_that_cannot_be_read_is_neither_removed_nor_gone() {
    let run = finished(KEPT);
    let unread = Unread { what: What::Server, message: "the operator cannot get deployments".into(), passing: false };
    let server_state = ServerState { deployment: Presence::Unknown, ..ServerState::default() };
    let made = decide(&run, &Observed { unread: vec![unread], ..with(server_state) }, 700);
    assert_eq!((made.stop_server.clone(), server(&made).gone_time, next_look(&made)), (None, None, Some(3_600)));
    assert_eq!(server(&made).last_failure, "the server is not removed: the operator cannot get deployments");
}

#[test]
fn a_server_that_does_not_go_is_looked_at_ever_less_often_and_the_status_says_what_is_left() {
    let mut run = finished(KEPT);
    let stays = with(exists(vec![ready("s-a")]));
    for (seconds, next, is_late) in
        [(700, 60, false), (730, 60, false), (1_000, 300, false), (1_001, 301, true), (90_000, 3_600, true)]
    {
        let made = decide(&run, &stays, seconds);
        assert_eq!((made.stop_server.is_some(), next_look(&made)), (true, Some(next)), "{seconds}");
        let failure = server(&made).last_failure.clone();
        assert_eq!(!failure.is_empty(), is_late, "{seconds}: {failure}");
        assert!(!is_late || failure.contains(&format!("Deployment {NAME}")) && failure.contains("managedServers"));
        run = after(&run, &made);
    }
    let made = decide(&run, &with(ServerState::default()), 90_060);
    assert_eq!((server(&made).gone_time, server(&made).last_failure.as_str()), (Some(at(90_060)), ""));
}

#[test]
fn a_shared_server_is_removed_by_the_run_that_finished_last_when_none_uses_it() {
    let run = finished(SHARED);
    let used = |other_use| Observed { other_use, ..with(exists(vec![ready("s-a")])) };
    let made = decide(&run, &used(OtherUse::Now), 700);
    assert_eq!((made.stop_server.clone(), server(&made).left_time, next_look(&made)), (None, None, Some(3_600)));
    let made = decide(&run, &used(OtherUse::Later), 700);
    assert_eq!((made.stop_server.clone(), server(&made).left_time, next_look(&made)), (None, Some(at(700)), None));
    assert_eq!(decide(&after(&run, &made), &used(OtherUse::None), 800).stop_server, None, "it has left it");
    let made = decide(&run, &used(OtherUse::None), 700);
    assert!(made.stop_server.is_some() && server(&made).stop_time == Some(at(700)));
}

#[test]
fn a_run_whose_time_has_passed_stays_until_its_shared_server_is_gone_or_left_to_another_run() {
    let both = |spec: &str| spec.replace("cleanup: {", "cleanup: {run: {afterSuccessSeconds: 50}, ");
    let used = |other_use| Observed { other_use, ..with(exists(vec![ready("s-a")])) };
    let run = finished(&both(SHARED));
    let made = decide(&run, &Observed::default(), 660);
    assert_eq!((made.delete_run, next_look(&made)), (false, Some(40)), "the server is not due");
    let made = decide(&run, &used(OtherUse::Now), 700);
    assert_eq!((made.delete_run, made.stop_server.is_some(), next_look(&made)), (false, false, Some(3_600)));
    let made = decide(&run, &used(OtherUse::None), 700);
    assert_eq!((made.delete_run, made.stop_server.is_some(), next_look(&made)), (false, true, Some(60)));
    assert!(decide(&after(&run, &made), &with(ServerState::default()), 730).delete_run, "it is gone");
    assert!(decide(&run, &used(OtherUse::Later), 700).delete_run, "another run decides");
    // A server that belongs to one run is deleted together with the run.
    assert!(decide(&finished(&both(KEPT)), &Observed::default(), 660).delete_run);
    // If cleanup.server is absent, a shared server is kept for one day.
    let run = finished(&both(SHARED).replace(", server: {afterSuccessSeconds: 100}", ""));
    let made = decide(&run, &Observed::default(), 660);
    assert_eq!((made.delete_run, next_look(&made)), (false, Some(86_340)));
}

#[test]
fn a_run_that_finished_later_decides_although_another_one_uses_the_server() {
    let found = [OtherUse::Now, OtherUse::Later, OtherUse::None];
    assert_eq!(found.into_iter().max(), Some(OtherUse::Later), "the others need not look again");
    assert_eq!([OtherUse::Now, OtherUse::None].into_iter().max(), Some(OtherUse::Now));
}

#[test]
fn only_the_turn_that_notes_a_shared_server_or_may_remove_it_excludes_others() {
    let server = |run: &BenchmarkRun| run.status.as_ref().unwrap().server.clone().unwrap();
    // The cases: the run waits to begin, begins, has begun before, begins with another server, gives up its server, and has a server that is not
    // shared.
    for (spec, noted, then, expected) in [
        (SHARED, None, None, false),
        (SHARED, None, Some("s"), true),
        (SHARED, Some("s"), Some("s"), false),
        (SHARED, Some("s"), Some("t"), true),
        (SHARED, Some("s"), None, false),
        (KEPT, None, Some("s"), false),
    ] {
        let mut run = preparing(spec);
        let named = |name: Option<&str>| name.map(|it| ServerStatus { name: it.into(), ..server(&preparing(spec)) });
        run.status.as_mut().unwrap().server = named(noted);
        let after = crds::BenchmarkRunStatus { server: named(then), ..run.status.clone().unwrap() };
        let begins = begins_to_share(&run, &after);
        assert_eq!(begins, then.filter(|_| expected), "{spec} {noted:?} {then:?}");
        assert_eq!(removes_shared(&run, at(9_000)), None);
    }
    let run = finished(SHARED);
    let name = server(&run).name;
    assert_eq!((removes_shared(&run, at(699)), removes_shared(&run, at(700))), (None, Some(name.as_str())));
    assert_eq!(begins_to_share(&run, run.status.as_ref().unwrap()), None);
    assert_eq!(removes_shared(&finished(KEPT), at(9_000)), None);
    let mut left = run;
    left.status.as_mut().unwrap().server.as_mut().unwrap().left_time = Some(at(700));
    assert_eq!(removes_shared(&left, at(9_000)), None);
}

#[test]
fn other_runs_are_told_apart_by_what_they_have_to_do_with_the_server() {
    let run = finished(SHARED);
    let name = run.status.as_ref().unwrap().server.as_ref().unwrap().name.clone();
    let other = |change: fn(&mut BenchmarkRun)| {
        let mut other = run.clone();
        other.metadata.uid = Some("another".into());
        change(&mut other);
        OtherUse::from_runs(&run, &name, &other)
    };
    fn status(run: &mut BenchmarkRun) -> &mut crds::BenchmarkRunStatus {
        run.status.as_mut().unwrap()
    }
    assert_eq!(OtherUse::from_runs(&run, &name, &run), OtherUse::None, "the run itself");
    assert_eq!(other(|it| it.status = None), OtherUse::None);
    assert_eq!(other(|it| status(it).completion_time = Some(at(599))), OtherUse::None);
    assert_eq!(other(|it| status(it).completion_time = Some(at(601))), OtherUse::Later);
    assert_eq!(other(|it| status(it).phase = Some(Phase::Running)), OtherUse::Now);
    assert_eq!(other(|it| status(it).server.as_mut().unwrap().name = "benchwright-x-server".into()), OtherUse::None);
    assert_eq!(other(|it| status(it).server.as_mut().unwrap().gone_time = Some(at(9))), OtherUse::None);
    // If two runs finished in the same second, exactly one of them removes the server.
    let mut other = run.clone();
    other.metadata.uid = Some("another".into());
    let both = [OtherUse::from_runs(&run, &name, &other), OtherUse::from_runs(&other, &name, &run)];
    assert!(both.contains(&OtherUse::None) && both.contains(&OtherUse::Later), "{both:?}");
}
