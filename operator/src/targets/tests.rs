use serde_json::{Value, json};

use super::*;
use crate::plan::job;

const URL: &str = "http://gateway.llm-d:80";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn seconds(second: i64) -> Value {
    json!(at(second).to_string())
}

/// A run with the name `namespace/name` that was created at this second. [`URL`] is its target.
fn run(name: &str, second: i64, status: Value) -> BenchmarkRun {
    let (namespace, name) = name.split_once('/').unwrap();
    serde_json::from_value(json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("uid-{name}"), "generation": 1, "creationTimestamp": seconds(second)},
        "spec": {"target": {"url": URL}},
        "status": status,
    }))
    .unwrap()
}

fn attempt(number: u32, ended: Option<i64>) -> Value {
    let mut attempt = json!({"number": number, "jobName": format!("job-a{number}"), "startTime": seconds(0)});
    if let Some(ended) = ended {
        attempt["endTime"] = seconds(ended);
    }
    attempt
}

fn fresh(name: &str, second: i64) -> BenchmarkRun {
    run(name, second, json!({}))
}

fn measuring(name: &str, second: i64) -> BenchmarkRun {
    run(name, second, json!({"phase": "Running", "attempts": [attempt(1, None)]}))
}

fn finished(name: &str, second: i64, ended: i64) -> BenchmarkRun {
    let status = json!({"phase": "Succeeded", "completionTime": seconds(ended), "attempts": [attempt(1, Some(ended))]});
    run(name, second, status)
}

fn key() -> Target {
    Target::of_run(&fresh("bench/a", 0), &Settings::default()).unwrap()
}

/// Requests the target in a turn of a run that was read from the API server, and returns the answer.
fn ask(targets: &Targets, run: &BenchmarkRun, second: i64) -> Answer {
    targets.note_live(run, Some(key()), at(second));
    targets.ask(&run.uid().unwrap(), at(second))
}

fn seen(targets: &Targets, run: &BenchmarkRun, second: i64) {
    targets.note(run, &Settings::default(), at(second));
}

#[track_caller]
fn assert_waits(answer: Answer, expected: &str) {
    let Answer::Wait(wait) = answer else { panic!("it does not wait: {answer:?}") };
    assert_eq!(wait.busy.message(URL), expected);
}

/// The names of the runs that were woken so far.
fn woken(woken: &mut Woken) -> Vec<String> {
    let mut names = Vec::new();
    while let Some((namespace, name)) = woken.try_next() {
        names.push(format!("{namespace}/{name}"));
    }
    names
}

#[test]
fn two_runs_that_are_decided_at_once_do_not_both_begin() {
    let targets = Targets::default();
    let (a, b) = (fresh("bench/a", 1), fresh("other/b", 2));
    assert_eq!(ask(&targets, &a, 10), Answer::Begin(Vec::new()));
    // `a` may begin, but its attempt is not written yet.
    assert_waits(ask(&targets, &b, 10), "1st in line for http://gateway.llm-d:80; bench/a uses it now");
    // An outdated watch event does not take the place of `a` away.
    seen(&targets, &a, 10);
    assert_waits(ask(&targets, &b, 11), "1st in line for http://gateway.llm-d:80; bench/a uses it now");
    seen(&targets, &measuring("bench/a", 1), 11);
    seen(&targets, &a, 11);
    assert_waits(ask(&targets, &b, 12), "1st in line for http://gateway.llm-d:80; bench/a uses it now");
}

#[test]
fn an_older_run_begins_first_although_the_younger_one_asks_first() {
    let targets = Targets::default();
    let (a, b) = (fresh("bench/a", 1), fresh("bench/b", 2));
    seen(&targets, &a, 9);
    assert_waits(ask(&targets, &b, 10), "2nd in line for http://gateway.llm-d:80; bench/a begins first");
    assert_eq!(ask(&targets, &a, 10), Answer::Begin(Vec::new()));
}

#[test]
fn a_run_that_waits_for_something_else_holds_nobody_up() {
    let b = fresh("bench/b", 2);
    for status in [
        json!({"phase": "Pending", "reason": "ProfileNotFound"}),
        json!({"phase": "Pending", "reason": "TargetNotFound"}),
    ] {
        let targets = Targets::default();
        seen(&targets, &run("bench/a", 1, status.clone()), 9);
        assert_eq!(ask(&targets, &b, 10), Answer::Begin(Vec::new()), "{status}");
    }
    let mut suspended = fresh("bench/a", 1);
    suspended.spec.suspend = true;
    let targets = Targets::default();
    seen(&targets, &suspended, 9);
    assert_eq!(ask(&targets, &b, 10), Answer::Begin(Vec::new()));
    // The resumed run is older, but must still wait for the run that has begun.
    suspended.spec.suspend = false;
    suspended.metadata.generation = Some(2);
    assert_waits(ask(&targets, &suspended, 11), "1st in line for http://gateway.llm-d:80; bench/b uses it now");
}

/// A way in which a run ends.
type End = Box<dyn Fn(&Targets)>;

#[test]
fn the_first_in_line_is_woken_by_every_end_of_the_holder() {
    let holder = measuring("bench/a", 1);
    let mut suspended = run("bench/a", 1, json!({"phase": "Suspended", "attempts": [attempt(1, Some(20))]}));
    suspended.spec.suspend = true;
    suspended.metadata.generation = Some(2);
    let ends: [(&str, End); 3] = [
        ("finished", Box::new(|it| seen(it, &finished("bench/a", 1, 20), 20))),
        ("deleted", Box::new(|it| it.forget("uid-a", at(20)))),
        ("suspended", Box::new(move |it| seen(it, &suspended, 20))),
    ];
    for (how, end) in ends {
        let targets = Targets::default();
        let (mut all, mut of_other) = (targets.woken(None), targets.woken(Some("other")));
        seen(&targets, &holder, 9);
        for (name, second) in [("bench/c", 3), ("bench/b", 2)] {
            assert!(matches!(ask(&targets, &fresh(name, second), 10), Answer::Wait(_)), "{how}");
        }
        seen(&targets, &holder, 11);
        assert_eq!(woken(&mut all), Vec::<String>::new(), "{how}: nothing has changed");
        end(&targets);
        assert_eq!((woken(&mut all), woken(&mut of_other)), (vec!["bench/b".to_owned()], vec![]), "{how}");
        // The pod of the ended run may still work, so the next run must check it.
        let Answer::Begin(drains) = ask(&targets, &fresh("bench/b", 2), 21) else { panic!("{how}") };
        assert_eq!(
            drains.iter().map(|it| (it.uid.as_str(), it.job.as_str())).collect::<Vec<_>>(),
            [("uid-a", "job-a1")]
        );
        let wait = targets.wait_for("uid-b", &drains[0], at(21)).unwrap();
        assert_eq!(wait.busy.message(URL), format!("1st in line for {URL}; the pod of bench/a has not ended yet"));
        assert_eq!(wait.next_look.as_secs(), 2);
        targets.drained("uid-a");
        assert_eq!(ask(&targets, &fresh("bench/b", 2), 22), Answer::Begin(Vec::new()), "{how}");
    }
}

#[test]
fn an_ended_run_counts_for_its_grace_period_and_a_minute() {
    let targets = Targets::default();
    seen(&targets, &finished("bench/a", 1, 100), 100);
    let b = fresh("bench/b", 2);
    let drains = |second: i64| match ask(&targets, &b, second) {
        Answer::Begin(drains) => drains.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!([drains(101), drains(219), drains(220), drains(300)], [1, 1, 0, 0]);
    assert_eq!(targets.count(), 1, "nothing of the ended run is left");
    // After a restart, an ended run is recorded only if its pod may still work.
    let restarted = Targets::default();
    seen(&restarted, &finished("bench/a", 1, 100), 219);
    assert_eq!(restarted.count(), 1);
    seen(&restarted, &finished("bench/c", 1, 100), 220);
    assert_eq!(restarted.count(), 1, "a run that ended long ago takes no memory");
}

#[test]
fn a_run_that_a_finalizer_keeps_after_its_deletion_does_not_hold_its_target() {
    let targets = Targets::default();
    seen(&targets, &measuring("bench/a", 1), 9);
    let mut deleted = measuring("bench/a", 1);
    deleted.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(20)));
    deleted.metadata.generation = Some(2);
    let b = fresh("bench/b", 2);
    // A later event, which only changes the metadata, changes nothing.
    for second in [20, 21] {
        seen(&targets, &deleted, second);
        targets.forget("uid-a", at(second));
        assert!(matches!(ask(&targets, &b, second), Answer::Begin(drains) if drains.len() == 1), "at {second}");
        targets.step_back("uid-b");
    }
    targets.drained("uid-a");
    assert_eq!(ask(&targets, &b, 30), Answer::Begin(Vec::new()));
}

#[test]
fn the_job_of_a_deleted_run_counts_for_an_hour_although_nobody_deletes_it() {
    let targets = Targets::default();
    seen(&targets, &measuring("bench/a", 1), 9);
    targets.forget("uid-a", at(100));
    let b = fresh("bench/b", 2);
    for (second, known) in [(101, true), (3_000, true), (3_819, true), (3_820, false)] {
        let Answer::Begin(drains) = ask(&targets, &b, second) else { panic!("{second}") };
        assert_eq!((drains.len(), targets.knows("uid-a", at(second))), (usize::from(known), known), "{second}");
        targets.step_back("uid-b");
    }
}

#[test]
fn runs_of_a_target_that_is_held_are_deleted_without_waking_anybody() {
    let targets = Targets::default();
    seen(&targets, &measuring("bench/a", 1), 9);
    for name in ["bench/b", "bench/c", "bench/d"] {
        seen(&targets, &fresh(name, 2), 9);
    }
    let mut all = targets.woken(None);
    targets.forget("uid-b", at(10));
    targets.retain(None, &["uid-a".to_owned(), "uid-d".to_owned()].into(), at(10));
    assert_eq!(woken(&mut all), Vec::<String>::new());
    targets.retain(None, &["uid-d".to_owned()].into(), at(11));
    assert_eq!(woken(&mut all), ["bench/d"]);
}

#[test]
fn a_place_is_given_back_when_the_intent_was_not_written() {
    let targets = Targets::default();
    let mut all = targets.woken(None);
    let (a, b) = (fresh("bench/a", 1), fresh("bench/b", 2));
    assert_eq!(ask(&targets, &a, 10), Answer::Begin(Vec::new()));
    assert!(matches!(ask(&targets, &b, 10), Answer::Wait(_)));
    targets.give_back("uid-a", at(10));
    assert_eq!(woken(&mut all), ["bench/a"], "it is still the first in line");
    targets.forget("uid-a", at(12));
    assert_eq!(woken(&mut all), ["bench/b"]);
    assert_eq!(ask(&targets, &b, 12), Answer::Begin(Vec::new()), "it had no pod");
}

#[test]
fn the_message_of_a_run_is_made_anew_once_a_minute() {
    let targets = Targets::default();
    seen(&targets, &measuring("bench/a", 1), 0);
    let b = fresh("bench/b", 2);
    let keeps: Vec<bool> = [10, 11, 69, 70, 71, 130]
        .map(|second| match ask(&targets, &b, second) {
            Answer::Wait(wait) => wait.keep_message,
            other => panic!("{other:?}"),
        })
        .into();
    assert_eq!(keeps, [false, true, true, false, true, false]);
    assert_eq!(targets.last_in_line("uid-b"), Some(at(130)));
}

#[test]
fn a_run_that_tries_again_keeps_its_target() {
    let targets = Targets::default();
    let retrying = run("bench/b", 2, json!({"phase": "Preparing", "attempts": [attempt(1, Some(20))]}));
    seen(&targets, &fresh("bench/a", 1), 20);
    seen(&targets, &retrying, 20);
    assert_waits(
        ask(&targets, &fresh("bench/a", 1), 21),
        "1st in line for http://gateway.llm-d:80; bench/b uses it now",
    );
    assert_eq!(ask(&targets, &retrying, 22), Answer::Begin(Vec::new()));
}

#[test]
fn runs_that_a_watch_missed_the_end_of_leave() {
    let targets = Targets::default();
    seen(&targets, &measuring("bench/a", 1), 0);
    seen(&targets, &measuring("other/x", 1), 0);
    targets.retain(Some("bench"), &HashSet::new(), at(10));
    let Answer::Wait(wait) = ask(&targets, &fresh("bench/b", 2), 11) else { panic!() };
    assert_eq!(wait.busy.name, "other/x", "the run of the other namespace is another watch's");
    targets.retain(None, &["uid-b".to_owned()].into(), at(12));
    assert!(matches!(ask(&targets, &fresh("bench/b", 2), 13), Answer::Begin(drains) if drains.len() == 2));
}

#[tokio::test(start_paused = true)]
async fn nobody_begins_before_all_runs_are_known() {
    let targets = Targets::default();
    targets.filling();
    targets.filling();
    let a = fresh("bench/a", 1);
    assert_eq!(ask(&targets, &a, 1), Answer::NotYet);
    targets.filled();
    assert_eq!(ask(&targets, &a, 2), Answer::NotYet);
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(
        ask(&targets, &a, 33),
        Answer::Begin(Vec::new()),
        "a namespace that cannot be watched holds up nobody for ever"
    );
}

#[test]
fn a_run_of_a_gateway_is_known_by_its_status() {
    let targets = Targets::default();
    let status =
        json!({"phase": "Running", "attempts": [attempt(1, None)], "resolved": {"endpoint": URL, "profileSha256": ""}});
    let mut holder = run("bench/a", 1, status);
    holder.spec.target = serde_json::from_value(json!({"gatewayRef": {"name": "gw"}})).unwrap();
    seen(&targets, &holder, 1);
    assert_waits(
        ask(&targets, &fresh("bench/b", 2), 2),
        "1st in line for http://gateway.llm-d:80; bench/a uses it now",
    );
}

/// A turn of a run that cannot write its status. `is_lost`: whether the response was lost, so that the write may have succeeded.
fn fails(targets: &Targets, run: &BenchmarkRun, second: i64, is_lost: bool) {
    let uid = run.uid().unwrap();
    ask(targets, run, second);
    if !is_lost {
        targets.give_back(&uid, at(second));
    }
    targets.written(&uid, false, at(second));
}

#[test]
fn a_run_whose_status_cannot_be_written_has_no_place() {
    let (hostile, other) = (fresh("hostile/h", 1), fresh("other/b", 2));
    // A policy denies this run, so it never requests the target. Other runs wait only briefly for a new run.
    let targets = Targets::default();
    seen(&targets, &hostile, 10);
    assert_waits(ask(&targets, &other, 11), &format!("2nd in line for {URL}; hostile/h begins first"));
    assert_eq!(ask(&targets, &other, 26), Answer::Begin(Vec::new()));

    // The run is allowed to begin, but its write fails and may have succeeded. Other runs wait for that, but not longer if the run tries again.
    let targets = Targets::default();
    for second in [10, 11, 13, 17, 25] {
        fails(&targets, &hostile, second, true);
        if second < 25 {
            assert_waits(ask(&targets, &other, second), &format!("1st in line for {URL}; hostile/h uses it now"));
        }
    }
    assert_eq!(ask(&targets, &other, 30), Answer::Begin(Vec::new()));

    // The operator could not record that the run waits. When the target becomes free, this run is the oldest.
    let targets = Targets::default();
    seen(&targets, &measuring("bench/a", 0), 9);
    fails(&targets, &hostile, 10, false);
    targets.forget("uid-a", at(20));
    targets.drained("uid-a");
    assert_eq!(ask(&targets, &other, 21), Answer::Begin(Vec::new()));

    // According to its last written status the run waits, but it has no turn when it is woken.
    let targets = Targets::default();
    seen(&targets, &measuring("bench/a", 0), 9);
    let waiting = run("hostile/h", 1, json!({"phase": "Pending", "reason": "TargetBusy"}));
    ask(&targets, &waiting, 10);
    ask(&targets, &other, 11);
    targets.forget("uid-a", at(20));
    targets.drained("uid-a");
    assert_waits(ask(&targets, &other, 21), &format!("2nd in line for {URL}; hostile/h begins first"));
    assert_eq!(ask(&targets, &other, 36), Answer::Begin(Vec::new()));
}

#[test]
fn an_attempt_whose_end_cannot_be_written_holds_its_target_to_its_last_deadline() {
    let targets = Targets::default();
    let mut holder = measuring("hostile/h", 1);
    let effective = crds::EffectiveSpec::new(&holder.spec, "", &Settings::default());
    let last = job::deadline(&effective) + 60;
    holder.status.as_mut().unwrap().effective_spec = Some(Box::new(effective));
    seen(&targets, &holder, 9);
    let other = fresh("other/b", 2);
    let ends = |targets: &Targets, second: i64| matches!(ask(targets, &other, second), Answer::Begin(_));
    assert!(!ends(&targets, last + 1), "its end may only be late");
    targets.written("uid-h", false, at(20));
    assert!(!ends(&targets, last) && ends(&targets, last + 1));
}

#[test]
fn a_namespace_with_a_thousand_older_runs_takes_turns() {
    let targets = Targets::default();
    seen(&targets, &measuring("many/r0", 0), 9);
    for number in 1..1_000 {
        assert!(matches!(ask(&targets, &fresh(&format!("many/r{number}"), number), 10), Answer::Wait(_)));
    }
    let other = fresh("other/b", 2_000);
    assert_waits(ask(&targets, &other, 11), &format!("1st in line for {URL}; many/r0 uses it now"));
    let mut all = targets.woken(None);
    targets.forget("uid-r0", at(20));
    assert_eq!(woken(&mut all), ["other/b"]);
    targets.drained("uid-r0");
    assert_eq!(ask(&targets, &other, 21), Answer::Begin(Vec::new()));
    targets.forget("uid-b", at(30));
    assert_eq!(woken(&mut all), ["many/r1"]);
}

#[test]
fn a_run_that_tries_again_lets_other_namespaces_in() {
    let retrying = run("bench/b", 2, json!({"phase": "Preparing", "attempts": [attempt(1, Some(20))]}));
    let after = |other: &str| {
        let targets = Targets::default();
        seen(&targets, &measuring("bench/b", 2), 9);
        ask(&targets, &fresh(other, 3), 10);
        seen(&targets, &retrying, 20);
        ask(&targets, &retrying, 21)
    };
    assert_eq!(after("bench/c"), Answer::Begin(Vec::new()));
    assert_waits(after("other/c"), &format!("2nd in line for {URL}; other/c begins first"));
}

#[test]
fn a_run_that_its_queue_does_not_admit_goes_behind_the_others() {
    let queued = run("bench/a", 1, json!({"phase": "Suspended", "reason": "Queued", "attempts": [attempt(1, None)]}));
    let mut ended = attempt(1, Some(20));
    ended["reason"] = json!("Suspended");
    let let_go = run("bench/a", 1, json!({"phase": "Preparing", "attempts": [ended]}));
    let targets = Targets::default();
    seen(&targets, &queued, 9);
    assert!(!targets.is_wanted("uid-a", at(10)));
    let other = fresh("bench/b", 2);
    assert_waits(ask(&targets, &other, 10), &format!("1st in line for {URL}; bench/a uses it now"));
    assert!(targets.is_wanted("uid-a", at(11)));
    seen(&targets, &let_go, 20);
    assert!(matches!(ask(&targets, &other, 21), Answer::Begin(drains) if drains.len() == 1));
    targets.drained("uid-a");
    assert_waits(ask(&targets, &let_go, 22), &format!("1st in line for {URL}; bench/b uses it now"));
}

proptest::proptest! {
    /// The second of two runs on one target begins within a minute, whatever happens to the turns and writes of the first.
    #[test]
    fn a_run_that_is_never_written_delays_another_one_by_less_than_a_minute(
        turns in proptest::collection::vec((0..60_i64, proptest::prelude::any::<bool>()), 0..30),
        is_told in proptest::prelude::any::<bool>(),
        begins in 0..60_i64,
    ) {
        let status = if is_told { json!({"phase": "Pending", "reason": "TargetBusy"}) } else { json!({}) };
        let (hostile, other) = (run("hostile/h", 1, status), fresh("other/b", 2));
        let targets = Targets::default();
        seen(&targets, &hostile, 0);
        let mut looks = begins;
        for second in 0..begins + 60 {
            for (_, is_lost) in turns.iter().filter(|(at, _)| *at == second) {
                fails(&targets, &hostile, second, *is_lost);
            }
            if second == looks {
                match ask(&targets, &other, second) {
                    Answer::Begin(_) => return Ok(()),
                    Answer::Wait(wait) => looks += i64::try_from(wait.next_look.as_secs()).unwrap(),
                    Answer::NotYet => {}
                }
            }
        }
        proptest::prop_assert!(false, "it waits still");
    }
}
