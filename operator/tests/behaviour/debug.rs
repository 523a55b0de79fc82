//! Plans for a run with `spec.launcher.debug`. Its launcher waits for a person, and there are no figures.

use crds::{LauncherReason, Outcome, Reason, status::ConditionStatus, status::Phase};
use operator::plan::config_map;

use crate::behaviour::fixture::*;

const DEBUG: &str = "{target: {simulator: {}}, launcher: {debug: true}}";

/// How the launcher ends when it is stopped, with its report.
fn last_word(outcome: Outcome, reason: LauncherReason) -> operator::plan::Ended {
    let mut envelope = envelope(outcome, "");
    envelope.core.reason = reason.into();
    envelope.core.summary = None;
    envelope.core.folder = None;
    envelope.stages.clear();
    said(&envelope)
}

#[test]
fn the_launcher_learns_of_it_from_its_input() {
    let debug = run(DEBUG);
    let input = input(&debug, 1);
    let data = config_map::build(&debug, &input.run, &input.profile).data.unwrap();
    assert!(data["run.yaml"].contains("debug: true\n"), "{}", data["run.yaml"]);
    let other = run(SIMULATOR);
    let input = crate::behaviour::fixture::input(&other, 1);
    let data = config_map::build(&other, &input.run, &input.profile).data.unwrap();
    assert!(!data["run.yaml"].contains("debug"), "{}", data["run.yaml"]);
}

#[test]
fn a_launcher_that_waits_shows_how_the_load_is_sent_by_hand() {
    let says = "start the load yourself: kubectl exec -it -n bench chat-2db482-a1-0-x -c launcher -- /benchwright run --now; the run ends when you \
                cancel it, or 3600 seconds after its start";
    let want = Want { phase: Some(Phase::Running), reason: Some(Reason::Debugging), says, ..Want::default() };
    let run = in_phase(DEBUG, Phase::Starting);
    let made = check(&run, &measuring(), 60, &want);
    assert_eq!(condition(&made.status, "TargetReady").map(|it| it.reason.clone()), Some(Reason::Debugging.into()));
    assert_eq!(condition(&made.status, "TargetReady").map(|it| it.status), Some(ConditionStatus::True));
    assert_eq!(condition(&made.status, "Succeeded").map(|it| it.status), Some(ConditionStatus::Unknown));
    // The status does not change.
    let waits = after(&run, &made);
    assert_eq!(check(&waits, &measuring(), 120, &want).status, made.status);
    // The operator ends the attempt after the launcher's deadline, the grace period and some extra time.
    check(&waits, &measuring(), 60 + 3600 + 60 + 61, &given_up(Phase::Running, Reason::DeadlineExceeded));
}

#[test]
fn a_cancel_ends_it_as_cancelled() {
    for (how, ended_as) in [("Graceful", true), ("Immediate", false)] {
        let spec = format!("{{target: {{simulator: {{}}}}, launcher: {{debug: true}}, cancel: {how}}}");
        let run = in_phase(&spec, Phase::Running);
        let want = Want {
            says: "cancelled; the launcher sent no load, as spec.launcher.debug says",
            ..super::fixture::ended_as(Phase::Cancelled, Outcome::Cancelled, Reason::Cancelled)
        };
        if ended_as {
            check(&run, &ended(last_word(Outcome::Cancelled, LauncherReason::Cancelled)), 600, &want);
        } else {
            check(&run, &measuring(), 600, &Want { stops: now_gone(), ..want });
        }
    }
}

#[test]
fn figures_of_a_person_count_for_nothing() {
    for outcome in [Outcome::Passed, Outcome::SLOViolated, Outcome::Invalid] {
        let wrote = ended(said(&envelope(outcome, "RunSucceeded")));
        let want = Want { says: "with spec.launcher.debug it sends no load", ..failed(Reason::LauncherFailed) };
        let made = check(&in_phase(DEBUG, Phase::Running), &wrote, 600, &want);
        assert!(made.status.summary.is_none() && made.status.columns.is_none(), "{:#?}", made.status);
        let cancelled =
            in_phase("{target: {simulator: {}}, launcher: {debug: true}, cancel: Graceful}", Phase::Running);
        let want = ended_as(Phase::Cancelled, Outcome::Cancelled, Reason::Cancelled);
        assert!(check(&cancelled, &wrote, 600, &want).status.summary.is_none());
    }
}

#[test]
fn its_deadline_fails_it_and_no_attempt_follows() {
    let late = ended(last_word(Outcome::Error, LauncherReason::DeadlineExceeded));
    check(&in_phase(DEBUG, Phase::Running), &late, 4_000, &failed(Reason::DeadlineExceeded));
}
