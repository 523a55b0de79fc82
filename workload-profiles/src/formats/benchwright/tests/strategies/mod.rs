//! Proptest strategies for workloads.

mod requests;
mod rules;

use std::{collections::BTreeMap, time::Duration};

use crds::{
    benchmark_run::Api,
    units::{RequestRate, Span},
};
use proptest::prelude::*;
use serde_json::Value;

use self::{
    requests::{some_file, some_images, some_requests},
    rules::{some_classes, some_sessions, some_stop_rules},
};
use super::span;
use crate::workload::*;

fn some_span() -> BoxedStrategy<Span> {
    (1_u64..80_000_000_000_000).prop_map(|nanos| Span(Duration::from_nanos(nanos))).boxed()
}

fn some_rate() -> BoxedStrategy<RequestRate> {
    (0.02_f64..10.0).prop_map(|it| RequestRate::try_from(it).unwrap()).boxed()
}

fn some_rate_shape() -> BoxedStrategy<Rate> {
    let points = prop::collection::vec((0_u64..1_000_000_000_000, 1.0_f64..9.0), 1..5).prop_map(|mut points| {
        points.sort_by_key(|it| it.0);
        let point = |(at, rate)| RatePoint { at: Span(Duration::from_nanos(at)), rate };
        Rate::Varying(RateShape::Points(points.into_iter().map(point).collect()))
    });
    prop_oneof![
        some_rate().prop_map(Rate::Steady),
        points,
        (some_rate(), 0.0_f64..1.0, some_span(), some_span()).prop_map(|(mean, amplitude, period, phase)| {
            Rate::Varying(RateShape::Sinusoid { mean, amplitude, period, phase })
        }),
    ]
    .boxed()
}

fn some_load() -> BoxedStrategy<Load> {
    let arrivals = prop_oneof![
        Just(Arrivals::Constant),
        Just(Arrivals::ConstantAfterGap),
        Just(Arrivals::Poisson),
        Just(Arrivals::ConditionedPoisson),
        (0.01_f64..100.0).prop_map(|burstiness| Arrivals::Gamma { burstiness }),
        (0.01_f64..100.0).prop_map(|burstiness| Arrivals::ConditionedGamma { burstiness }),
    ];
    let places = || prop::option::of(1_u32..60_000);
    let columns = "[a-z]{1,9}";
    let entry = (some_span(), prop::option::of(1_u32..9_999), prop::option::of(1_u32..9_999));
    let inline = prop::collection::vec(entry, 1..9).prop_map(|mut entries| {
        entries.sort_by_key(|it| it.0);
        Trace::Inline(entries.into_iter().map(|(at, input, output)| TraceEntry { at, input, output }).collect())
    });
    let format = prop::sample::select(vec![TraceFormat::Csv, TraceFormat::Jsonl]);
    let time = prop::sample::select(vec![
        TraceTime::Seconds,
        TraceTime::Milliseconds,
        TraceTime::Microseconds,
        TraceTime::DateTime,
    ]);
    let file = (some_file(), format, time, columns, columns, columns, prop::option::of(columns)).prop_map(
        |(file, format, time, at_column, input_column, output_column, hashes_column)| {
            Trace::File(TraceFile { file, format, time, at_column, input_column, output_column, hashes_column })
        },
    );
    let trace = prop_oneof![inline, file];
    prop_oneof![
        (arrivals, some_rate_shape(), 1_u64..1_000, any::<(bool, bool)>(), places()).prop_map(
            |(arrivals, rate, count, (by_count, by_time), max_concurrency)| {
                // Sets a duration, a number of requests, or both. The duration is long enough for one request at the lowest rate.
                let duration = (by_time || !by_count).then_some(span(100_000.0));
                Load::Open { arrivals, rate, duration, count: by_count.then_some(count), max_concurrency }
            }
        ),
        (some_rate(), some_rate(), any::<bool>(), 1_u64..9_999, places()).prop_map(
            |(from, to, linear, count, max_concurrency)| {
                let strategy = if linear { RampUpStrategy::Linear } else { RampUpStrategy::Exponential };
                let rate = Rate::Varying(RateShape::RampUp { strategy, from, to });
                Load::Open { arrivals: Arrivals::Poisson, rate, duration: None, count: Some(count), max_concurrency }
            }
        ),
        (1_u64..9_999, places()).prop_map(|(count, max_concurrency)| Load::Burst { count, max_concurrency }),
        // Even the lowest speed replays one day of requests within the maximum stage length.
        (trace, 0.2_f64..100.0, prop::option::of(1_u64..99), any::<bool>(), places()).prop_map(
            |(trace, speed, count, lengths, max_concurrency)| Load::Trace {
                trace,
                speed,
                count,
                lengths,
                max_concurrency
            }
        ),
        (1_u32..60_000, 1_u64..9_999, prop::option::of(some_rate())).prop_map(|(concurrency, count, start_rate)| {
            Load::Closed { concurrency, count: Some(count), duration: None, ramp_up: span(2.0), start_rate }
        }),
        (1_u32..60_000, some_rate(), 1_u32..99, any::<bool>(), 1_u64..999).prop_map(
            |(users, rate, turns, by_time, count)| {
                let duration = by_time.then_some(span(100_000.0));
                Load::Users { users, rate, turns, duration, count: (!by_time).then_some(count) }
            }
        ),
        (1_u32..60_000, some_span(), prop::option::of(1_u64..99)).prop_map(|(concurrency, duration, count)| {
            Load::Closed { concurrency, count, duration: Some(duration), ramp_up: Span::default(), start_rate: None }
        }),
    ]
    .boxed()
}

/// A stage that was drawn: its load, its pause, its warm-up and cool-down as shares of the stage, and its grace.
type DrawnStage = (Load, Span, Option<f64>, Option<f64>, Option<Span>);

fn some_stages() -> BoxedStrategy<Vec<Stage>> {
    // A margin, as a share of the stage.
    let margin = || prop::option::of(0.0_f64..0.24);
    let stage = (some_load(), some_span(), margin(), margin(), prop::option::of(some_span()));
    prop::collection::vec(stage, 1..4)
        .prop_map(|stages| {
            let stage = |(index, (load, pause_after, warm_up, cool_down, grace)): (usize, DrawnStage)| {
                let of_stage = |share| {
                    let whole = match &load {
                        Load::Open { duration, .. } | Load::Closed { duration, .. } => duration.unwrap_or(span(9.0)),
                        _ => span(9.0),
                    };
                    Margin::Duration(Span(whole.0.mul_f64(share)))
                };
                let (warm_up, cool_down) = (warm_up.map(of_stage), cool_down.map(of_stage));
                let ends = !matches!(load, Load::Closed { duration: None, .. } | Load::Burst { .. });
                // A stage without an end time gets no setting that needs one.
                let warm_up = if ends { warm_up } else { Some(Margin::All) };
                let (cool_down, grace) = if ends { (cool_down, grace) } else { (Some(Margin::Count(1)), None) };
                Stage { name: format!("s{index}"), load, pause_after, warm_up, cool_down, grace }
            };
            stages.into_iter().enumerate().map(stage).collect()
        })
        .boxed()
}

/// Two stages: the first measures the rate of the second.
fn some_sweep() -> BoxedStrategy<[Stage; 2]> {
    let bound = || {
        prop_oneof![
            some_rate().prop_map(RateBound::Rate),
            Just(RateBound::Throughput(0)),
            (0.0_f64..100.0).prop_map(|percentile| RateBound::Drain { stage: 0, percentile }),
        ]
    };
    let spacing = prop::sample::select(vec![Spacing::Linear, Spacing::TowardsEnd]);
    (bound(), bound(), 0.0_f64..1.0, spacing)
        .prop_map(|(from, to, position, spacing)| {
            let rate = Rate::Varying(RateShape::Measured(MeasuredRate { from, to, position, spacing }));
            let (arrivals, duration) = (Arrivals::PoissonPerSecond, Some(span(9.0)));
            let load = Load::Open { arrivals, rate, duration, count: None, max_concurrency: None };
            let first =
                Load::Closed { concurrency: 8, count: None, duration, ramp_up: Span::default(), start_rate: None };
            [Stage::new("first", first), Stage::new("measured", load)]
        })
        .boxed()
}

fn some_extra() -> BoxedStrategy<Extra> {
    let fields = prop::collection::btree_map("x[a-z]{0,6}", (-9.0_f64..9.0).prop_map(Value::from), 0..3);
    fields.prop_map(|it| Extra::try_from(it).unwrap()).boxed()
}

fn some_headers() -> BoxedStrategy<BTreeMap<String, String>> {
    prop::collection::btree_map("x-[a-z]{1,6}", "[ -~]{0,9}", 0..3).boxed()
}

fn some_sampling() -> BoxedStrategy<Sampling> {
    let fields = [LengthField::MaxTokens, LengthField::MaxCompletionTokens, LengthField::NotSent];
    (any::<bool>(), prop::option::of(1_u32..99), prop::sample::select(fields.to_vec()), some_extra())
        .prop_map(|(ignore_eos, min_tokens, length_field, extra)| Sampling {
            ignore_eos,
            min_tokens,
            length_field,
            extra,
        })
        .boxed()
}

/// Prompts of blocks, with traces that contain the block hashes.
fn some_blocks() -> BoxedStrategy<Workload> {
    (some_file(), 1_u32..9_999, 1_usize..4)
        .prop_map(|(file, block_size, stages)| {
            let trace = Trace::File(TraceFile {
                file,
                format: TraceFormat::Jsonl,
                time: TraceTime::Milliseconds,
                at_column: "timestamp".into(),
                input_column: "input_length".into(),
                output_column: "output_length".into(),
                hashes_column: Some("hash_ids".into()),
            });
            let load = Load::Trace { trace, speed: 1.0, count: None, lengths: true, max_concurrency: None };
            let stages = (0..stages).map(|index| Stage::new(format!("s{index}"), load.clone())).collect();
            Workload::new(Api::Completions, RequestSource::TraceBlocks { block_size }, stages)
        })
        .boxed()
}

/// The requests, their images, the tokenizer, and the corpus that texts are taken from.
type Content = (RequestSource, Option<Images>, Option<FileSource>, Option<FileSource>);

fn some_content() -> BoxedStrategy<Content> {
    let with_images = |requests: RequestSource| {
        let grouped = matches!(requests, RequestSource::SharedPrefix { .. });
        (Just(requests), prop::option::of(some_images(grouped)))
    };
    (some_requests().prop_flat_map(with_images), prop::option::of(some_file()), prop::option::of(some_file()))
        .prop_map(|((requests, images), tokenizer, corpus)| (requests, images, tokenizer, corpus))
        .boxed()
}

/// Any workload that a profile can describe.
pub(super) fn some_workload() -> BoxedStrategy<Workload> {
    prop_oneof![9 => some_plain_workload(), 1 => some_blocks()].boxed()
}

fn some_plain_workload() -> BoxedStrategy<Workload> {
    let window = prop::sample::select(vec![Window::All, Window::Trimmed, Window::Cut]);
    let limit = || prop::option::of(some_span());
    let after = prop_oneof![
        (1_u32..99).prop_map(Departure::Tokens),
        some_span().prop_map(|mean| Departure::Exponential { mean }),
        some_span().prop_map(|max| Departure::Uniform { min: Span::default(), max }),
    ];
    let abandonment = (0.0_f64..1.0, after).prop_map(|(share, after)| Abandonment { share, after });
    let probes = (some_rate(), 1_u32..99, 1_u32..99).prop_map(|(rate, input, output)| Probes { rate, input, output });
    let timeouts = (some_span(), limit(), limit(), limit())
        .prop_map(|(connect, first_token, token_gap, request)| Timeouts { connect, first_token, token_gap, request });
    let goodput = (limit(), limit(), limit(), limit(), limit()).prop_map(|(ttft, tpot, itl, ntpot, latency)| Goodput {
        ttft,
        tpot,
        itl,
        ntpot,
        latency,
    });
    let apis = prop::sample::select(vec![Api::Completions, Api::Chat, Api::Responses, Api::Messages]);
    let reuse = prop::sample::select(vec![PromptReuse::Fresh, PromptReuse::Repeated, PromptReuse::PerStage]);
    let head = (apis, (any::<bool>(), reuse), prop::option::of("[a-z]{1,9}"), some_headers());
    let measured = (window, prop::option::of(abandonment), prop::option::of(probes));
    let stages = (prop::option::of(some_sweep()), some_stages())
        .prop_map(|(sweep, stages)| sweep.into_iter().flatten().chain(stages).collect::<Vec<_>>());
    let rules = (some_classes(), some_sessions(), some_stop_rules());
    let content = (some_content(), rules);
    (head, content, stages, measured, some_sampling(), timeouts, goodput)
        .prop_map(|(head, (content, rules), stages, (window, abandonment, probes), sampling, timeouts, goodput)| {
            let (api, (streaming, prompts), model, headers) = head;
            let ((requests, images, tokenizer, corpus), (classes, sessions, stop_rules)) = (content, rules);
            // Without streaming, limits for the first token and for the time between tokens have no effect.
            let (timeouts, goodput) = match streaming {
                true => (timeouts, goodput),
                false => (
                    Timeouts { first_token: None, token_gap: None, ..timeouts },
                    Goodput { ttft: None, tpot: None, itl: None, ..goodput },
                ),
            };
            Workload {
                streaming,
                model,
                headers,
                prompts,
                tokenizer,
                corpus,
                images,
                classes,
                sessions,
                window,
                abandonment,
                probes,
                stop_rules,
                sampling,
                timeouts,
                goodput,
                ..Workload::new(api, requests, stages)
            }
        })
        .boxed()
}
