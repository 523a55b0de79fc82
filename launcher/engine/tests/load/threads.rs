//! Tests with several threads, real sockets and real time. They check only counts, because times are unreliable on a busy machine.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{Arc, Mutex, atomic::Ordering},
    thread,
    time::Duration,
};

use crds::{
    benchmark_run::Api,
    units::{Seed, Span},
};
use engine::{
    client::Target,
    issue::{LoadOrder, Progress, run_load},
    stop::{Stop, StopReason},
};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Bytes, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use measurement::{load_result::LoadResult, record::RequestOutcome, recorder::Keep};
use simulator::{SimOptions, Simulator};
use tokio::{net::TcpListener, sync::oneshot};
use workload_files::WorkloadFiles;
use workload_profiles::{
    Workload,
    workload::{
        AcrossStages, Arrivals, Load, MeasuredRate, Rate, RateBound, RateShape, RecordedFormat, RequestSource, Spacing,
        Stage, Unit, Window,
    },
};

use super::{
    common::*,
    session_limits::weka,
    sessions::{conversations, recorded, talk},
};

#[test]
fn lanes_without_a_slot_leave_the_requests_to_the_others() {
    for threads in [2, 5] {
        let mut by_time = closed_for(1, millis(1_000), millis(0));
        by_time.name = "by time".into();
        let result = run(&workload(vec![closed(1, 30), closed(4, 50), by_time], 2), threads, &Arc::default());
        let counts: Vec<u64> = result.recorder.stages.iter().map(|it| it.outcomes[&RequestOutcome::Ok]).collect();
        assert_eq!(counts[..2], [30, 50]);
        assert!(counts[2] > 1, "{counts:?}");
    }
}

/// Each load is stopped after its first requests, an hour before its planned end. Some threads have no slot, user or request, or none left.
#[test]
fn a_stop_ends_the_window_whatever_the_threads_had_to_do() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let first_then_much_later = || {
        let mut stage = paced(0.001, 3);
        stage.name = "open".into();
        stage
    };
    let users =
        Load::Users { users: 1, rate: 100.0.try_into().unwrap(), turns: 2, duration: Some(Span(HOUR)), count: None };
    let by_users = talk(conversations(None, 2, millis(0)), Unit::Request, Stage::new("users", users));
    for load in [
        workload(vec![closed_for(1, HOUR, millis(0))], 2),
        workload(vec![closed_for(3, HOUR, millis(0))], 2),
        workload(vec![first_then_much_later()], 2),
        by_users,
    ] {
        let load = Workload { window: Window::Cut, ..load };
        let whole = if matches!(load.stages[0].load, Load::Open { .. }) { Duration::from_secs(2_000) } else { HOUR };
        for (threads, end) in [(1, Stop::drain as fn(&Stop, StopReason)), (2, Stop::drain), (8, Stop::abort)] {
            let (stop, progress) = (Stop::default(), Arc::<Progress>::default());
            let result = serve(server(millis(2), millis(1)), |url| {
                thread::scope(|scope| {
                    scope.spawn(|| {
                        while progress.ended.load(Ordering::Relaxed) == 0 {
                            thread::sleep(millis(5));
                        }
                        end(&stop, StopReason::Signal);
                    });
                    run_until(url, &load, threads, &progress, &stop)
                })
            });
            let (name, tally) = (&load.stages[0].name, &result.recorder.stages[0]);
            let (open, close) = tally.window_bounds.unwrap();
            assert!(close - open <= result.wall, "{name}, {threads} threads: {open:?} to {close:?}");
            assert!(result.wall < whole && result.stopped == Some(StopReason::Signal), "{name}, {threads} threads");
        }
    }
}

/// Runs a simulator on loopback during `with`.
fn serve<T>(options: SimOptions, with: impl FnOnce(&str) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (end, ended) = oneshot::channel::<()>();
    let server = thread::spawn(move || {
        runtime.block_on(Simulator::new(options).serve(listener, async {
            // A dropped sender also ends the server.
            let _ = ended.await;
        }));
    });
    let done = with(&url);
    drop(end);
    server.join().unwrap();
    done
}

fn run(workload: &Workload, threads: usize, progress: &Arc<Progress>) -> LoadResult {
    serve(server(millis(2), millis(1)), |url| run_on(url, workload, threads, progress))
}

fn run_on(url: &str, workload: &Workload, threads: usize, progress: &Arc<Progress>) -> LoadResult {
    run_until(url, workload, threads, progress, &Stop::default())
}

fn run_until(url: &str, workload: &Workload, threads: usize, progress: &Arc<Progress>, stop: &Stop) -> LoadResult {
    let target = Target::new(url, workload.api, None, None, &Default::default()).unwrap();
    let files = WorkloadFiles::read(workload, Seed(1)).unwrap().to_send;
    run_load(LoadOrder {
        workload,
        files: &files,
        phases: &[],
        model: "m",
        target: &target,
        seeds: Seed(1).into(),
        keep: Keep::Records,
        threads,
        stop,
        progress: Arc::clone(progress),
        trials: None,
    })
    .unwrap()
}

/// Returns the bodies of all requests of a load. The keys are their ids without the id of the load: stage, number and turn.
fn bodies(workload: &Workload, threads: usize) -> BTreeMap<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::<Mutex<Vec<(String, String)>>>::default();
    let kept = Arc::clone(&seen);
    let (end, ended) = oneshot::channel::<()>();
    let serve = async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let kept = Arc::clone(&kept);
            let service = service_fn(move |request: Request<Incoming>| {
                let kept = Arc::clone(&kept);
                async move {
                    let id =
                        request.headers()["x-request-id"].to_str().unwrap().splitn(3, '-').last().unwrap().to_owned();
                    let body = request.into_body().collect().await?.to_bytes();
                    kept.lock().unwrap().push((id, String::from_utf8(body.to_vec()).unwrap()));
                    let head = Response::builder().header("content-type", "text/event-stream");
                    Ok::<_, hyper::Error>(head.body(Full::<Bytes>::from(SAID)).unwrap())
                }
            });
            // How a connection ends does not matter.
            tokio::spawn(
                async move { drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await) },
            );
        }
    };
    let server = thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = serve => {}
                _ = ended => {}
            }
        });
    });
    let result = run_on(&url, workload, threads, &Arc::default());
    assert!(all(&result, RequestOutcome::Ok));
    drop(end);
    server.join().unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let count = seen.len();
    let bodies: BTreeMap<_, _> = seen.into_iter().collect();
    assert_eq!((bodies.len() as u64, count), (result.issued, bodies.len()), "each is sent once");
    bodies
}

/// The body of an answer in a chat.
const SAID: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"said\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";

#[test]
fn threads_share_sessions_and_send_each_turn_once() {
    for unit in [Unit::Session, Unit::Request] {
        for stage in [closed(1, 12), closed(2, 12), paced(400.0, 12)] {
            let mut workload = talk(conversations(Some(3), 2, millis(0)), unit, stage);
            workload.stages.push(closed(4, 12));
            let expected = bodies(&workload, 1);
            assert_eq!(expected.len(), if unit == Unit::Session { 48 } else { 24 });
            for threads in [3, 5] {
                assert_eq!(bodies(&workload, threads), expected, "{unit:?} {threads}");
            }
        }
    }
}

#[test]
fn threads_share_recorded_sessions_that_go_on_from_stage_to_stage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let line = |it: u32| weka(&[2 * it + 1, 2 * it + 2]);
    std::fs::write(&path, (0..12).map(line).collect::<Vec<_>>().join("\n")).unwrap();
    let mut sessions = recorded(&path, RecordedFormat::Weka { block_size: 64 });
    sessions.across_stages = AcrossStages::Continue;
    let stages = vec![closed(2, 4), paced(400.0, 4), closed(4, 4)];
    let mut workload = Workload::new(Api::Chat, RequestSource::Recorded(sessions), stages);
    workload.sessions.unit = Unit::Session;
    let expected = bodies(&workload, 1);
    assert_eq!(expected.len(), 24);
    for threads in [3, 5] {
        assert_eq!(bodies(&workload, threads), expected, "{threads}");
    }
}

#[test]
fn threads_draw_one_schedule_for_a_measured_rate() {
    let throughput = RateBound::Throughput(0);
    let rate = MeasuredRate { from: throughput, to: throughput, position: 1.0, spacing: Spacing::Linear };
    let load = Load::Open {
        arrivals: Arrivals::Poisson,
        rate: Rate::Varying(RateShape::Measured(rate)),
        duration: None,
        count: Some(60),
        max_concurrency: None,
    };
    let progress = Arc::new(Progress::default());
    let result = run(&workload(vec![closed(4, 40), Stage::new("sweep", load)], 2), 3, &progress);
    let numbers: Vec<u64> = records(&result).iter().filter(|it| it.stage == 1).map(|it| it.number).collect();
    assert_eq!(numbers, (0..60).collect::<Vec<_>>());
    let rate = result.stages[1].measured_rate.clone().unwrap().unwrap().per_second();
    assert!(rate > 0.0 && progress.planned_requests() == Some(100), "{rate}");
    assert_eq!(f64::from_bits(progress.measured_rate.load(Ordering::Relaxed)), rate);
}

#[test]
fn a_load_that_is_held_begins_no_stage_until_it_is_released() {
    let progress = Arc::new(Progress::default());
    progress.hold.hold();
    let watched = Arc::clone(&progress);
    let releaser = thread::spawn(move || {
        while watched.stages_over.load(Ordering::Acquire) < 1 {
            thread::sleep(millis(1));
        }
        thread::sleep(millis(50));
        let at = watched.timeline.get().unwrap().clock.now();
        assert_eq!(watched.stage.load(Ordering::Acquire), 0);
        watched.hold.release();
        at
    });
    let result = run(&workload(vec![closed(2, 4), closed(2, 4)], 2), 2, &progress);
    let released = releaser.join().unwrap();
    let begun = records(&result).iter().filter(|it| it.stage == 1).map(|it| it.scheduled).min().unwrap();
    assert!(begun >= released, "{begun:?} {released:?}");
    assert_eq!(result.recorder.stages[1].outcomes[&RequestOutcome::Ok], 4);
}

#[test]
fn the_end_of_the_last_stage_waits_for_no_release() {
    let progress = Arc::new(Progress::default());
    progress.hold.hold();
    let result = run(&workload(vec![closed(1, 2)], 1), 1, &progress);
    assert_eq!(result.recorder.stages[0].outcomes[&RequestOutcome::Ok], 2);
    assert_eq!(progress.stages_over.load(Ordering::Relaxed), 0);
}

#[test]
fn the_number_of_requests_is_not_known_where_time_decides_it() {
    let progress = Arc::new(Progress::default());
    let stages = vec![paced(200.0, 4), closed_for(1, millis(20), millis(0))];
    let result = run(&workload(stages, 1), 1, &progress);
    assert_eq!(result.recorder.stages[0].outcomes[&RequestOutcome::Ok], 4);
    // More requests than the first stage alone has.
    assert!(progress.issued.load(Ordering::Relaxed) > 4 && progress.planned_requests().is_none());
}

#[test]
fn threads_share_a_load_and_lose_nothing() {
    for threads in [1, 3] {
        let progress = Arc::new(Progress::default());
        let result = run(&workload(vec![open(200.0, 1), closed(7, 100), closed(2, 1)], 3), threads, &progress);
        let counts: Vec<u64> = result.recorder.stages.iter().map(|it| it.outcomes[&RequestOutcome::Ok]).collect();
        assert_eq!(counts, [200, 100, 1]);
        let records = records(&result);
        let numbers: Vec<_> = records.iter().map(|it| (it.stage, it.number)).collect();
        let expected = [200, 100, 1].iter().zip(0..).flat_map(|(count, stage)| (0..*count).map(move |it| (stage, it)));
        assert_eq!(numbers, expected.collect::<Vec<_>>());
        // The stages do not overlap.
        for stage in 0..2 {
            let end = records.iter().filter(|it| it.stage == stage).map(|it| it.ended).max();
            let start = records.iter().filter(|it| it.stage == stage + 1).map(|it| it.scheduled).min();
            assert!(end <= start, "{end:?} {start:?}");
        }
        assert!(records.iter().all(|it| it.sent.unwrap() >= it.scheduled && it.output_tokens == Some(3)));
        let read = |it: &std::sync::atomic::AtomicU64| it.load(Ordering::Relaxed);
        assert_eq!((progress.planned_requests(), read(&progress.issued), read(&progress.ended)), (Some(301), 301, 301));
        assert_eq!((read(&progress.failed), read(&progress.output_events)), (0, 903));
        assert!(result.own_cpu > millis(0) && result.wall > millis(900));
        // The vitals of each thread are known for each stage. Together, the threads have read every token of every answer.
        assert_eq!(result.workers.iter().map(|it| it.stages.len()).collect::<Vec<_>>(), vec![3; threads]);
        let stages = result.workers.iter().flat_map(|it| &it.stages);
        let reads: u64 = stages.map(|it| it.receive_delay.as_ref().unwrap().histogram().len()).sum();
        let with_content: u64 = result.recorder.stages.iter().map(|it| it.reads).sum();
        assert!(reads >= with_content && with_content > 301, "{reads} {with_content}");
        let open = result.workers.iter().map(|it| it.stages[0].wall).max().unwrap();
        assert!(open > millis(900) && open <= result.wall, "{open:?}");
        assert!(result.vitals.process_cpu >= Some(result.own_cpu) && result.vitals.stalls.is_some());
        assert_eq!(result.recorder.dropped(), 0);
    }
}

#[test]
fn threads_share_the_permits_of_a_bounded_load() {
    use workload_profiles::workload::Load;
    let stage = workload_profiles::workload::Stage::new("burst", Load::Burst { count: 200, max_concurrency: Some(4) });
    let mut workload = workload(vec![stage], 3);
    workload.probes = Some(workload_profiles::workload::Probes { rate: 50.0.try_into().unwrap(), input: 3, output: 1 });
    let result = run(&workload, 3, &Arc::default());
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 200)]);
    // A permit is held from before a request is sent until after it has ended, so at most four others are in flight.
    let records = records(&result);
    for record in &records {
        let sent = record.sent.unwrap();
        let under_way = records.iter().filter(|it| it.sent.unwrap() <= sent && sent < it.ended).count();
        assert!((1..=4).contains(&under_way), "{under_way}");
    }
    assert!(records.iter().all(|it| it.permit_wait.is_some()));
    assert!(result.recorder.probes[0].succeeded() > 0);
}
