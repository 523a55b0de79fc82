//! A small hand-made measurement: an open-loop stage of ten requests and a closed-loop stage of four.

use std::time::Duration;

use analysis::{Analysis, Evidence, LatencyOrigin, Measured, TargetIdentity, analyse, objectives::Source};
use crds::{
    benchmark_run::{Api, Harness, PerRequestRecords, ReadinessProbe},
    resolve::{Endpoint, Hardware, Price, ResolvedRun, RunIdentity, ValidityBounds},
    units::{RequestRate, Seed, Span},
};
use document::Parts;
use files::file_digest::FileDigest;
use measurement::{
    histogram::TimeHistogram,
    phase::StopReason,
    record::{RequestOutcome, RequestRecord},
    recorder::{Keep, Recorder, Records, Steps, WireTally},
    rows_used::RowsUsed,
    server_identity::ServerIdentity,
    vitals::{
        Throttling, Vitals,
        clocks::ClockSteps,
        stalls::Stalls,
        worker::{StageVitals, WorkerVitals},
    },
};
use workload_profiles::{
    Notice, Workload,
    workload::{Arrivals, Goodput, LengthDistribution, Load, PromptText, Rate, RequestSource, Sampling, Shape, Stage},
};

pub const PROFILE: &str = "\
api:
  type: completion
  headers: {x-api-key: sk-of-the-profile}
load:
  stages: [{rate: 10, duration: 1}, {concurrency_level: 2, num_requests: 4}]
";

/// A measurement with everything that a report needs.
pub struct Fixture {
    pub run: ResolvedRun,
    pub workload: Workload,
    pub requests: Vec<(RequestRecord, WireTally)>,
    pub files: Vec<FileDigest>,
    pub notices: Vec<Notice>,
    pub stopped: Option<StopReason>,
    pub server: Option<TargetIdentity>,
    pub rows: Option<RowsUsed>,
}

/// The data that [`Fixture::report`] borrows.
#[derive(Clone)]
pub struct Analysed {
    pub analysis: Analysis,
    pub records: Records,
}

impl Fixture {
    pub fn new() -> Self {
        let mut fixture = Fixture {
            run: run(),
            workload: workload(),
            requests: Vec::new(),
            files: files(),
            notices: notices(),
            stopped: None,
            server: None,
            rows: None,
        };
        for number in 0..10 {
            fixture.requests.push(succeeded(0, number, 100 * number, 40 + 2 * number));
        }
        for number in 0..3 {
            fixture.requests.push(succeeded(1, number, 3_000 + 300 * number, 30));
        }
        fixture.requests.push(failed(RequestOutcome::HttpError(503), 3, 3_100));
        fixture
    }

    /// The fixture with all values that a server and a user can provide.
    pub fn with_all_told() -> Self {
        let mut fixture = Fixture::new();
        let text = |it: &str| Some(it.to_owned());
        let before = ServerIdentity {
            engine: text("vllm"),
            version: text("0.11.0"),
            simulator: text("benchwright 1"),
            server: text("uvicorn"),
            model: text("org/model-8b"),
            model_root: text("/models/8b|x"),
            model_revision: text("abc"),
            max_model_len: Some(8_192),
        };
        let after = ServerIdentity { version: text("0.11.1"), ..before.clone() };
        fixture.server = Some(TargetIdentity { before, after: Some(after) });
        let price = Price { per_accelerator_hour: 2.5, currency: "USD".into() };
        fixture.run.hardware = Some(Hardware { accelerator: text("H100"), accelerators: 8, price: Some(price) });
        fixture.rows = Some(RowsUsed { rows: 10, begun: 14, distinct: 10 });
        fixture.requests[0].0.cached_tokens = Some(16);
        fixture
    }

    /// The fixture with only its first stage.
    pub fn of_one_stage() -> Self {
        let mut fixture = Fixture::new();
        fixture.workload.stages.truncate(1);
        fixture.requests.retain(|(record, _)| record.stage == 0);
        fixture
    }

    /// The fixture with only a first stage of 400 requests over 40 s.
    pub fn of_a_steady_stage() -> Self {
        let mut fixture = Fixture::of_one_stage();
        fixture.requests = (0..400).map(|number| succeeded(0, number, 100 * number, 40 + number * 7 % 5)).collect();
        fixture
    }

    pub fn analyse(&self) -> Analysed {
        self.analyse_beside(None)
    }

    /// Analyses the fixture. `baseline`: an earlier run with which its objectives compare figures.
    pub fn analyse_beside(&self, baseline: Option<&dyn Source>) -> Analysed {
        let classes = self.workload.classes.classes.len();
        let mut recorder = Recorder::new(self.workload.stages.len(), self.workload.goodput.clone(), Keep::Records)
            .with_classes(classes)
            .with_latency_origins(self.workload.stages.iter().map(|it| LatencyOrigin::from_load(&it.load)));
        for (record, wire) in &self.requests {
            recorder.record(record.clone(), wire);
        }
        let measured = Measured {
            recorder: &recorder,
            zero: Duration::ZERO,
            started: "2026-01-02T03:04:05Z".parse().unwrap(),
            rows: self.rows,
            stages: &[],
            stopped: self.stopped,
            own_cpu: ms(250),
            wall: ms(5_000),
            threads: 2,
            workers: &workers(self.workload.stages.len()),
            vitals: &vitals(),
        };
        let evidence = Evidence::new(measured, &self.workload, &self.run, "org/model-8b");
        let analysis = analyse(&Evidence { baseline, ..evidence });
        Analysed { analysis, records: recorder.records.unwrap() }
    }

    pub fn report<'a>(&'a self, analysed: &'a Analysed) -> Parts<'a> {
        Parts {
            commit: "0123456789ab",
            analysis: &analysed.analysis,
            server: self.server.as_ref(),
            run: &self.run,
            workload: &self.workload,
            profile_text: PROFILE,
            files: &self.files,
            notices: &self.notices,
            loadgen: None,
            startups: &[],
            managed_server: None,
            server_replicas: None,
        }
    }
}

fn files() -> Vec<FileDigest> {
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    vec![FileDigest { path: "/data/traces/prod.csv".into(), bytes: Some(3), sha256: Some(sha256.into()) }]
}

/// CPU use of two threads per stage. The second thread is busier, and one read in a hundred came 2 ms late.
fn workers(stages: usize) -> Vec<WorkerVitals> {
    let stage = |cpu: u64| {
        let mut delays = TimeHistogram::default();
        (0..100).for_each(|read| delays.record(Duration::from_micros(if read == 0 { 2_000 } else { 30 })));
        StageVitals { cpu: ms(cpu), waited: Some(ms(cpu / 5)), wall: ms(1_500), receive_delay: Some(delays) }
    };
    let worker = |cpu| WorkerVitals { stages: (0..stages).map(|_| stage(cpu)).collect(), coarse_timer: false };
    vec![worker(60), worker(120)]
}

fn vitals() -> Vitals {
    let mut stalls = Stalls::default();
    for (at, late) in [(500, 0), (505, 6), (2_000, 7)] {
        stalls.beat(ms(at), ms(late));
    }
    let mut steps = ClockSteps::default();
    steps.add(ms(3), Duration::ZERO);
    Vitals {
        process_cpu: Some(ms(280)),
        stalls: Some(stalls),
        throttling: Some(Throttling { periods: 50, throttled: 1, time: ms(12) }),
        steal_share: Some(0.002),
        clock_steps: Some(steps),
    }
}

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A successful request: sent 1 ms late, the first token after `ttft`, then four more tokens 10 ms apart.
fn succeeded(stage: u32, number: u64, due: u64, ttft: u64) -> (RequestRecord, WireTally) {
    let first = ms(due + 1 + ttft);
    let record = RequestRecord {
        stage,
        number,
        turn: None,
        scheduled: ms(due),
        sent: Some(ms(due + 1)),
        permit_wait: None,
        first_token: Some(first),
        last_token: Some(first + ms(40)),
        ended: first + ms(41),
        outcome: RequestOutcome::Ok,
        requested_input_tokens: Some(20),
        requested_output_tokens: Some(5),
        input_tokens: Some(20),
        cached_tokens: None,
        class: None,
        output_tokens: Some(5),
        content_events: 5,
        replica: None,
    };
    let us = Duration::from_micros;
    let steps =
        Steps { build: us(30), written: Some(ms(due + 1) + us(20)), head: Some(first - us(500)), parse: us(15) };
    (record, WireTally { gaps: [ms(10); 4].into_iter().collect(), reads: 5, steps, ..WireTally::default() })
}

fn failed(outcome: RequestOutcome, number: u64, due: u64) -> (RequestRecord, WireTally) {
    let record = RequestRecord {
        first_token: None,
        last_token: None,
        ended: ms(due + 5),
        outcome,
        input_tokens: None,
        output_tokens: None,
        content_events: 0,
        ..succeeded(1, number, due, 0).0
    };
    (record, WireTally { error: Some("503, overloaded|<b>\n\u{1b}[31m".into()), ..WireTally::default() })
}

fn run() -> ResolvedRun {
    ResolvedRun {
        run: RunIdentity {
            name: "chat".into(),
            namespace: "bench".into(),
            uid: "2f9c4e0a-9d1b-4e57-8d8c-0a2f6f3f9b11".into(),
            attempt: 1,
            repeat_number: None,
        },
        endpoint: Endpoint::Url("http://gateway.llm-d:80".into()),
        server_replicas: None,
        server: None,
        metrics: None,
        api: None,
        model: None,
        token_file: Some("/etc/benchwright/auth/token".into()),
        ca_file: None,
        http_version: crds::benchmark_run::HttpVersion::Auto,
        egress: None,
        readiness_probe: ReadinessProbe::Generate,
        readiness_timeout: Span(ms(900_000)),
        hardware: None,
        harness: Harness::InferencePerf,
        profile_source: "inline".into(),
        seed: Seed(42),
        fixed_seed: true,
        prompt_salt: "2f9c4e0a-9d1b-4e57-8d8c-0a2f6f3f9b11-a1".into(),
        repeat: 1,
        per_request_records: PerRequestRecords::Full,
        store_results: true,
        upload: None,
        retention: None,
        storage_required: true,
        validity: ValidityBounds {
            min_successful_requests: 1,
            max_error_ratio: 0.01,
            max_send_lag_p99: Span(ms(10)),
            ..ValidityBounds::default()
        },
        slo: None,
        profiling: None,
        search: None,
        finished_attempts: Vec::new(),
        collect: None,
        debug: false,
        run_deadline: Span(ms(3_600_000)),
        grace_period: Span(ms(60_000)),
    }
}

fn workload() -> Workload {
    let open = Load::Open {
        arrivals: Arrivals::ConditionedPoisson,
        rate: Rate::Steady(RequestRate::try_from(10.0).unwrap()),
        duration: Some(Span(ms(1_000))),
        count: Some(10),
        max_concurrency: None,
    };
    let closed = Load::closed(2, 4);
    Workload {
        headers: [("x-api-key".to_owned(), "sk-of-the-profile".to_owned())].into(),
        sampling: Sampling { ignore_eos: true, ..Sampling::default() },
        goodput: Goodput { ttft: Some(Span(ms(50))), ..Goodput::default() },
        ..Workload::new(
            Api::Completions,
            RequestSource::random(normal(20), LengthDistribution::fixed(5), PromptText::Words),
            vec![Stage { pause_after: Span(ms(1_000)), ..Stage::new("r10", open) }, Stage::new("c2", closed)],
        )
    }
}

pub fn normal(mean: u32) -> LengthDistribution {
    LengthDistribution {
        shape: Shape::Normal,
        min: mean / 2,
        max: mean * 2,
        mean: f64::from(mean),
        std_dev: f64::from(mean) / 4.0,
        total_count: None,
    }
}

fn notices() -> Vec<Notice> {
    vec![Notice { path: "storage".into(), message: "is ignored: results go into the results folder".into() }]
}
