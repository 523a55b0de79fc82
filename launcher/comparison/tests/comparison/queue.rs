//! Runs on a server with a queue, simulated request by request. Arrivals and service times are random, and no clock is used.

use std::time::Duration;

use crds::units::{Seed, Span};
use document::ReportDocument;
use measurement::{
    record::{RequestOutcome, RequestRecord},
    recorder::WireTally,
};
use workload_profiles::workload::{Arrivals, Goodput, Load, Rate, Stage};

use crate::fixture::Fixture;

/// Output tokens per request.
const OSL: u32 = 12;
/// Requests per second.
const RATE: f64 = 10.0;

/// A server with some slots. Each slot serves one request at a time.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub slots: usize,
    /// Median time to the first token, in milliseconds, once a request has a slot.
    pub prefill_ms: f64,
    /// Median time per further token, in milliseconds.
    pub token_ms: f64,
    /// Every n-th request fails; 0 if none fails.
    pub fails_every: u64,
}

impl Default for Server {
    fn default() -> Self {
        Server { slots: 8, prefill_ms: 60.0, token_ms: 20.0, fails_every: 0 }
    }
}

/// SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    /// A uniform random number above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((bits ^ (bits >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// A log-normal random number with median 1.
    fn about_one(&mut self, sigma: f64) -> f64 {
        let normal = (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos();
        (sigma * normal).exp()
    }
}

/// Simulates `count` requests with Poisson arrivals.
fn requests(server: Server, count: u64, seed: u64) -> Vec<(RequestRecord, WireTally)> {
    let mut random = Random(seed << 20);
    let mut free = vec![0.0_f64; server.slots];
    let mut due = 0.0;
    let mut request = |number: u64| {
        due += random.exponential() / RATE;
        let slot = (0..free.len()).min_by(|one, other| free[*one].total_cmp(&free[*other])).unwrap();
        let start = due.max(free[slot]);
        let first = start + server.prefill_ms / 1e3 * random.about_one(0.3);
        let token = server.token_ms / 1e3 * random.about_one(0.1);
        let last = first + token * f64::from(OSL - 1);
        free[slot] = last;
        let fails = server.fails_every > 0 && number % server.fails_every == server.fails_every - 1;
        record(number, [due, first, last, token], fails)
    };
    (0..count).map(&mut request).collect()
}

fn record(number: u64, [due, first, last, token]: [f64; 4], fails: bool) -> (RequestRecord, WireTally) {
    let at = Duration::from_secs_f64;
    let record = RequestRecord {
        stage: 0,
        number,
        class: None,
        turn: None,
        scheduled: at(due),
        sent: Some(at(due)),
        permit_wait: None,
        first_token: Some(at(first)).filter(|_| !fails),
        last_token: Some(at(last)).filter(|_| !fails),
        ended: at(last),
        outcome: if fails { RequestOutcome::HttpError(503) } else { RequestOutcome::Ok },
        requested_input_tokens: Some(20),
        requested_output_tokens: Some(OSL),
        input_tokens: Some(20),
        cached_tokens: None,
        output_tokens: Some(OSL),
        content_events: OSL,
        replica: None,
    };
    let gaps = vec![at(token); OSL as usize - 1];
    (record, WireTally { gaps: gaps.into_iter().collect(), reads: u64::from(OSL), ..WireTally::default() })
}

/// The report of a run with `count` requests at 10 per second.
pub fn run_of(server: Server, count: u64, seed: u64) -> ReportDocument {
    let mut fixture = Fixture::of_one_stage();
    fixture.requests = requests(server, count, seed);
    fixture.run.seed = Seed(seed);
    fixture.run.run.uid = format!("run-{seed}");
    fixture.run.prompt_salt = fixture.run.run.prompt_salt();
    fixture.run.validity.max_error_ratio = 1.0;
    fixture.workload.goodput = Goodput { ttft: Some(Span(Duration::from_millis(100))), ..Goodput::default() };
    fixture.workload.stages = vec![stage(count)];
    fixture.report(&fixture.analyse()).document().unwrap()
}

/// A stage with `count` requests with Poisson arrivals at 10 per second.
pub fn stage(count: u64) -> Stage {
    let load = Load::Open {
        arrivals: Arrivals::ConditionedPoisson,
        rate: Rate::Steady(RATE.try_into().unwrap()),
        duration: Some(Span(Duration::from_secs_f64(count as f64 / RATE))),
        count: Some(count),
        max_concurrency: None,
    };
    Stage::new("r10", load)
}

/// A run of two minutes.
pub fn run(server: Server, seed: u64) -> ReportDocument {
    run_of(server, 1_200, seed)
}
