//! Random workloads.

use std::time::Duration;

use crds::{
    benchmark_run::Api,
    units::{RequestRate, Span},
};
use proptest::prelude::*;
use serde_json::Value;

use super::span;
use crate::workload::*;

fn some_span() -> impl Strategy<Value = Span> {
    (1_u64..80_000_000_000_000).prop_map(|nanos| Span(Duration::from_nanos(nanos)))
}

fn some_rate() -> impl Strategy<Value = RequestRate> {
    (0.02_f64..10.0).prop_map(|it| RequestRate::try_from(it).unwrap())
}

fn some_length() -> impl Strategy<Value = LengthDistribution> {
    let shape = prop::sample::select(vec![Shape::Normal, Shape::Lognormal, Shape::Uniform, Shape::Fixed]);
    (shape, 1_u32..500, 0_u32..500, 0.0_f64..1.0, 0.0_f64..300.0, prop::option::of(1_u32..99)).prop_map(
        |(shape, min, more, part, std_dev, total_count)| {
            // Of some shapes the mean may lie outside.
            let within = matches!(shape, Shape::Normal | Shape::Fixed);
            let mean = if within { f64::from(min) + part * f64::from(more) } else { 0.5 + 1_000.0 * part };
            LengthDistribution { shape, min, max: min + more, mean, std_dev, total_count }
        },
    )
}

fn some_requests() -> impl Strategy<Value = RequestSource> {
    let text = prop_oneof![
        Just(PromptText::Words),
        Just(PromptText::Prose),
        (0_u32..99, 0_u32..99)
            .prop_map(|(min, more)| PromptText::TokenIds(TokenIdRange::new(min, min + more).unwrap())),
    ];
    prop_oneof![
        Just(RequestSource::Mock),
        (some_length(), some_length(), text)
            .prop_map(|(input, output, text)| RequestSource::random(input, output, text)),
        (1_u32..99, 1_u32..99, some_length(), some_length(), some_length(), prop::option::of(any::<u64>())).prop_map(
            |(groups, prompts_per_group, system_prompt_len, question_len, output_len, seed)| {
                let seed = seed.map(crds::units::Seed);
                RequestSource::SharedPrefix {
                    groups,
                    prompts_per_group,
                    system_prompt_len,
                    question_len,
                    output_len,
                    seed,
                    multi_turn: false,
                }
            }
        ),
    ]
}

fn some_rate_shape() -> impl Strategy<Value = Rate> {
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
}

fn some_load() -> impl Strategy<Value = Load> {
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
    let file = ("/[a-z]{1,9}", format, time, columns, columns, columns).prop_map(
        |(path, format, time, at_column, input_column, output_column)| {
            Trace::File(TraceFile {
                file: path.as_str().into(),
                format,
                time,
                at_column,
                input_column,
                output_column,
                hashes_column: None,
            })
        },
    );
    let trace = prop_oneof![inline, file];
    prop_oneof![
        (arrivals, some_rate_shape(), 1_u64..1_000, any::<(bool, bool)>(), places()).prop_map(
            |(arrivals, rate, count, (by_count, by_time), max_concurrency)| {
                // At least one of them; and long enough for a request at the lowest rate.
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
        (trace, 0.01_f64..100.0, prop::option::of(1_u64..99), any::<bool>(), places()).prop_map(
            |(trace, speed, count, lengths, max_concurrency)| Load::Trace {
                trace,
                speed,
                count,
                lengths,
                max_concurrency
            }
        ),
        (1_u32..60_000, 1_u64..9_999).prop_map(|(concurrency, count)| Load::Closed {
            concurrency,
            count: Some(count),
            duration: None,
            ramp_up: span(2.0),
            start_rate: None
        }),
        (1_u32..60_000, some_span(), prop::option::of(1_u64..99)).prop_map(|(concurrency, duration, count)| {
            Load::Closed { concurrency, count, duration: Some(duration), ramp_up: Span::default(), start_rate: None }
        }),
    ]
}

/// Its margins are shares of it.
type DrawnStage = (Load, Span, Option<f64>, Option<f64>, Option<Span>);

fn some_stages() -> impl Strategy<Value = Vec<Stage>> {
    // As a share of the stage.
    let margin = || prop::option::of(0.0_f64..0.24);
    let stage = (some_load(), some_span(), margin(), margin(), prop::option::of(some_span()));
    prop::collection::vec(stage, 1..4).prop_map(|stages| {
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
            // A stage without an end of its own has none of what needs one.
            let warm_up = if ends { warm_up } else { Some(Margin::All) };
            let (cool_down, grace) = if ends { (cool_down, grace) } else { (Some(Margin::Count(1)), None) };
            Stage { name: format!("s{index}"), load, pause_after, warm_up, cool_down, grace }
        };
        stages.into_iter().enumerate().map(stage).collect()
    })
}

fn some_sampling() -> impl Strategy<Value = Sampling> {
    let extra = prop::collection::btree_map("x[a-z]{0,6}", (-9.0_f64..9.0).prop_map(Value::from), 0..3);
    (any::<bool>(), prop::option::of(1_u32..99), any::<bool>(), extra).prop_map(
        |(ignore_eos, min_tokens, later, extra)| Sampling {
            ignore_eos,
            min_tokens,
            length_field: if later { LengthField::MaxCompletionTokens } else { LengthField::MaxTokens },
            extra: Extra::try_from(extra).unwrap(),
        },
    )
}

/// Any workload that a profile can ask for.
pub(super) fn some_workload() -> impl Strategy<Value = Workload> {
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
    let head = (
        any::<(bool, bool, bool)>(),
        prop::option::of("[a-z]{1,9}"),
        prop::collection::btree_map("x-[a-z]{1,6}", "[ -~]{0,9}", 0..3),
    );
    let measured = (window, prop::option::of(abandonment), prop::option::of(probes));
    (head, some_requests(), some_stages(), measured, some_sampling(), timeouts, goodput).prop_map(
        |((flags, model, headers), requests, stages, (window, abandonment, probes), sampling, timeouts, goodput)| {
            // Without streaming there is nothing that these could bound.
            let (timeouts, goodput) = match flags.1 {
                true => (timeouts, goodput),
                false => (
                    Timeouts { first_token: None, token_gap: None, ..timeouts },
                    Goodput { ttft: None, tpot: None, itl: None, ..goodput },
                ),
            };
            let api = if flags.0 { Api::Chat } else { Api::Completions };
            Workload {
                streaming: flags.1,
                model,
                headers,
                prompts: if flags.2 { PromptReuse::Repeated } else { PromptReuse::Fresh },
                window,
                abandonment,
                probes,
                sampling,
                timeouts,
                goodput,
                ..Workload::new(api, requests, stages)
            }
        },
    )
}
