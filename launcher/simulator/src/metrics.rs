//! The metrics of the simulated engine, with vLLM's names, labels, buckets and identities, as Prometheus text.
//!
//! They are computed from simulated times, not from the clock. A request whose client leaves counts in the metrics of tokens, TTFT and ITL, but not
//! in the metrics that are counted at the end of a request. Features that the simulator lacks, such as LoRA or a cache on another server, count 0.
//! Metrics that vLLM only has with a special flag are absent, and so are the metrics of its web layer.

use std::time::Duration;

use super::exposition::{CacheOptions, Exposition, Histogram, escape};
use super::options::SimOptions;
use super::scheduler::{CacheStats, Sequence};
use super::work::Finish;

#[rustfmt::skip]
const TTFT_BUCKETS: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0,
    640.0, 2560.0,
];
#[rustfmt::skip]
const ITL_BUCKETS: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
#[rustfmt::skip]
const LATENCY_BUCKETS: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
    1920.0, 7680.0,
];
#[rustfmt::skip]
const STEP_BUCKETS: &[f64] = &[
    1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0,
];

const N_BUCKETS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0];
const PREEMPTION_BUCKETS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0];

/// All counters, gauges and histograms.
#[derive(Clone, Debug)]
pub struct Metrics {
    options: CacheOptions,
    labels: String,
    created: f64,
    running: usize,
    waiting: usize,
    kv_cache_usage: f64,
    cache: CacheStats,
    /// The sleep level. 0 means awake.
    sleep_level: u8,
    prompt_tokens: u64,
    cached_tokens: u64,
    generation_tokens: u64,
    step_tokens: u64,
    stopped: u64,
    length_limited: u64,
    iteration_tokens: Histogram,
    ttft: Histogram,
    itl: Histogram,
    tpot: Histogram,
    e2e: Histogram,
    queue: Histogram,
    inference: Histogram,
    prefill: Histogram,
    decode: Histogram,
    request_prompt_tokens: Histogram,
    request_generation_tokens: Histogram,
    request_max_generation_tokens: Histogram,
    request_n: Histogram,
    request_max_tokens: Histogram,
    request_preemptions: Histogram,
    request_computed_tokens: Histogram,
}

impl Metrics {
    /// All metrics at zero.
    pub fn new(options: &SimOptions) -> Self {
        let lengths = length_buckets(options.max_model_len);
        Metrics {
            options: CacheOptions {
                block_size: options.block_size,
                num_gpu_blocks: options.num_gpu_blocks,
                prefix_caching: options.prefix_caching,
            },
            labels: format!("model_name=\"{}\"", escape(&options.model)),
            created: clock::now().as_duration().as_secs_f64(),
            running: 0,
            waiting: 0,
            kv_cache_usage: 0.0,
            cache: CacheStats::default(),
            sleep_level: 0,
            prompt_tokens: 0,
            cached_tokens: 0,
            generation_tokens: 0,
            step_tokens: 0,
            stopped: 0,
            length_limited: 0,
            iteration_tokens: Histogram::new(STEP_BUCKETS),
            ttft: Histogram::new(TTFT_BUCKETS),
            itl: Histogram::new(ITL_BUCKETS),
            tpot: Histogram::new(ITL_BUCKETS),
            e2e: Histogram::new(LATENCY_BUCKETS),
            queue: Histogram::new(LATENCY_BUCKETS),
            inference: Histogram::new(LATENCY_BUCKETS),
            prefill: Histogram::new(LATENCY_BUCKETS),
            decode: Histogram::new(LATENCY_BUCKETS),
            request_prompt_tokens: Histogram::new(&lengths),
            request_generation_tokens: Histogram::new(&lengths),
            request_max_generation_tokens: Histogram::new(&lengths),
            request_n: Histogram::new(N_BUCKETS),
            request_max_tokens: Histogram::new(&lengths),
            request_preemptions: Histogram::new(PREEMPTION_BUCKETS),
            request_computed_tokens: Histogram::new(&lengths),
        }
    }

    /// Records that a sequence got a token at `now`. `finish` is set for its last token.
    pub(crate) fn token<T>(&mut self, sequence: &Sequence<T>, now: Duration, finish: Option<Finish>) {
        self.generation_tokens += 1;
        self.step_tokens += 1;
        if sequence.generated == 1 {
            self.prompt_tokens += u64::from(sequence.work.prompt_tokens);
            self.cached_tokens += u64::from(sequence.cached);
            self.step_tokens += u64::from(sequence.work.prompt_tokens - sequence.cached);
            self.ttft.observe_time(now.saturating_sub(sequence.arrived));
        } else {
            self.itl.observe_time(now.saturating_sub(sequence.last_token));
        }
        let Some(finish) = finish else { return };
        match finish {
            Finish::Stop => self.stopped += 1,
            Finish::Length => self.length_limited += 1,
            // Requests that a shutdown aborts are not counted, as in vLLM.
            Finish::Abort => return,
        }
        let prefill = sequence.first_token.saturating_sub(sequence.admitted);
        let decode = now.saturating_sub(sequence.first_token);
        self.e2e.observe_time(now.saturating_sub(sequence.arrived));
        self.queue.observe_time(sequence.admitted.saturating_sub(sequence.arrived));
        self.prefill.observe_time(prefill);
        self.decode.observe_time(decode);
        self.inference.observe_time(prefill + decode);
        let gaps = sequence.generated - 1;
        self.tpot.observe(if gaps == 0 { 0.0 } else { decode.as_secs_f64() / f64::from(gaps) });
        self.request_prompt_tokens.observe(f64::from(sequence.work.prompt_tokens));
        self.request_generation_tokens.observe(f64::from(sequence.generated));
        // Record the values below once for all choices of a prompt, when the last choice ends.
        let all =
            sequence.work.siblings.as_ref().map_or(Some((1, sequence.generated)), |it| it.end(sequence.generated));
        if let Some((choices, longest)) = all {
            self.request_n.observe(f64::from(choices));
            self.request_max_generation_tokens.observe(f64::from(longest));
        }
        self.request_max_tokens.observe(f64::from(sequence.work.max_tokens));
        self.request_preemptions.observe(f64::from(sequence.preemptions));
        self.request_computed_tokens.observe(f64::from(sequence.work.prompt_tokens - sequence.cached));
    }

    /// Sets the gauges: sequences in the batch, sequences in the queue, and blocks of the KV cache in use.
    pub(crate) fn set_load(&mut self, running: usize, waiting: usize, used_blocks: u32) {
        self.running = running;
        self.waiting = waiting;
        // One block is reserved, as in vLLM, so it is not counted.
        self.kv_cache_usage = f64::from(used_blocks) / f64::from(self.options.num_gpu_blocks - 1);
    }

    /// Sets the counts of the caches.
    pub(crate) fn set_cache(&mut self, stats: CacheStats) {
        self.cache = stats;
    }

    /// Sets the sleep level. 0 means awake.
    pub(crate) fn set_sleep(&mut self, level: u8) {
        self.sleep_level = level;
    }

    /// Counts the tokens of the step that ends. A step in the middle of a long prompt yields no token, and is not counted.
    pub(crate) fn end_step(&mut self) {
        let tokens = std::mem::take(&mut self.step_tokens);
        if tokens > 0 {
            self.iteration_tokens.observe(tokens as f64);
        }
    }

    /// Returns the metrics as Prometheus text, format 0.0.4.
    pub fn render(&self) -> String {
        let mut text = Exposition { out: String::with_capacity(24 << 10), labels: &self.labels, created: self.created };
        text.process_start();
        self.render_gauges(&mut text);
        self.render_cache(&mut text);
        self.render_counters(&mut text);
        self.render_histograms(&mut text);
        text.lora_info();
        text.cache_info(&self.options);
        text.out
    }

    fn render_gauges(&self, text: &mut Exposition<'_>) {
        text.gauge("num_requests_running", "Number of requests in model execution batches.", self.running as f64);
        text.gauge("num_requests_waiting", "Number of requests waiting to be processed.", self.waiting as f64);
        let reasons = [("reason=\"capacity\"", self.waiting as f64), ("reason=\"deferred\"", 0.0)];
        text.gauges("num_requests_waiting_by_reason", "Number of waiting requests by reason.", &reasons);
        let is = |level| f64::from(u8::from(self.sleep_level == level));
        let states = [
            ("sleep_state=\"awake\"", is(0)),
            ("sleep_state=\"weights_offloaded\"", is(1)),
            ("sleep_state=\"discard_all\"", is(2)),
        ];
        text.gauges("engine_sleep_state", "Engine sleep state; awake = 1 means engine is awake.", &states);
        text.gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", self.kv_cache_usage);
    }

    fn render_cache(&self, text: &mut Exposition<'_>) {
        let CacheStats { queries, hits, preemptions } = self.cache;
        for (name, help, value) in [
            ("prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.", queries),
            ("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", hits),
            (
                "external_prefix_cache_queries",
                "External prefix cache queries, in terms of number of queried tokens.",
                0,
            ),
            ("external_prefix_cache_hits", "External prefix cache hits, in terms of number of cached tokens.", 0),
            ("mm_cache_queries", "Multi-modal cache queries, in terms of number of queried items.", 0),
            ("mm_cache_hits", "Multi-modal cache hits, in terms of number of cached items.", 0),
            ("num_preemptions", "Cumulative number of preemption from the engine.", preemptions),
        ] {
            text.counter(name, help, &[("", value)]);
        }
    }

    fn render_counters(&self, text: &mut Exposition<'_>) {
        text.counter("prompt_tokens", "Number of prefill tokens processed.", &[("", self.prompt_tokens)]);
        let sources = [
            ("source=\"local_compute\"", self.prompt_tokens - self.cached_tokens),
            ("source=\"local_cache_hit\"", self.cached_tokens),
            ("source=\"external_kv_transfer\"", 0),
        ];
        text.counter("prompt_tokens_by_source", "Number of prompt tokens by source.", &sources);
        let cached = [("", self.cached_tokens)];
        text.counter("prompt_tokens_cached", "Number of cached prompt tokens (local + external).", &cached);
        let tiers = [
            ("source=\"device\"", self.cache.hits),
            ("source=\"host\"", 0),
            ("source=\"p2p\"", 0),
            ("source=\"disk\"", 0),
            ("source=\"external_unspecified\"", 0),
        ];
        let help = "Prefix-cache hit tokens by the cache tier that supplied them. Counted at admission.";
        text.counter("prompt_tokens_cached_by_source", help, &tiers);
        text.counter("generation_tokens", "Number of generation tokens processed.", &[("", self.generation_tokens)]);
        let finished = [
            ("finished_reason=\"stop\"", self.stopped),
            ("finished_reason=\"length\"", self.length_limited),
            ("finished_reason=\"abort\"", 0),
            ("finished_reason=\"error\"", 0),
            ("finished_reason=\"repetition\"", 0),
        ];
        text.counter("request_success", "Count of successfully processed requests.", &finished);
        let help = "Corrupted requests, in terms of total number of requests with NaNs in logits.";
        text.counter("corrupted_requests", help, &[("", 0)]);
    }

    #[rustfmt::skip]
    fn render_histograms(&self, text: &mut Exposition<'_>) {
        for (name, help, histogram) in [
            ("request_prompt_tokens", "Number of prefill tokens processed.", &self.request_prompt_tokens),
            ("request_generation_tokens", "Number of generation tokens processed.", &self.request_generation_tokens),
            ("iteration_tokens_total", "Histogram of number of tokens per engine_step.", &self.iteration_tokens),
            ("request_max_num_generation_tokens", "Histogram of maximum number of requested generation tokens.", &self.request_max_generation_tokens),
            ("request_params_n", "Histogram of the n request parameter.", &self.request_n),
            ("request_params_max_tokens", "Histogram of the max_tokens request parameter.", &self.request_max_tokens),
            ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", &self.ttft),
            ("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &self.itl),
            ("request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", &self.tpot),
            ("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &self.e2e),
            ("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", &self.queue),
            ("request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", &self.inference),
            ("request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", &self.prefill),
            ("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", &self.decode),
            ("request_num_preemptions", "Histogram of the number of times a request was preempted.", &self.request_preemptions),
            ("request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill (excluding cached tokens).", &self.request_computed_tokens),
        ] {
            text.histogram(name, help, histogram);
        }
    }
}

/// Returns the bounds 1, 2, 5, 10, 20, 50 and so on, up to the maximum length.
fn length_buckets(max_model_len: u32) -> Vec<f64> {
    let powers = (0..10).map(|power| 10_u64.pow(power));
    let bounds = powers.flat_map(|power| [power, 2 * power, 5 * power]);
    bounds.take_while(|bound| *bound <= u64::from(max_model_len)).map(|bound| bound as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_buckets_end_at_the_context() {
        assert_eq!(length_buckets(100), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(length_buckets(2_048).last(), Some(&2_000.0));
    }

    #[test]
    fn a_name_is_escaped_and_the_cache_counts_without_its_reserved_block() {
        let model = "a\"b\\c".to_owned();
        let options = SimOptions { model, block_size: 10, num_gpu_blocks: 11, ..SimOptions::default() };
        let mut metrics = Metrics::new(&options);
        metrics.set_load(3, 2, 4);
        let text = metrics.render();
        let labels = r#"{engine="0",model_name="a\"b\\c"}"#;
        for line in ["kv_cache_usage_perc{} 0.4", "num_requests_running{} 3.0", "num_requests_waiting{} 2.0"] {
            let line = format!("vllm:{}", line.replace("{}", labels));
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        let start = format!("process_start_time_seconds {:?}", metrics.created);
        assert!(text.lines().any(|it| it == start), "{start}\n{text}");
    }
}
