//! One figure of each shape, as in the panels of a report. The values come from formulas and are always the same.

use charts::{
    Axis, Bar, Figure, Heat, Interval, Mark, MarkAt, Place, Point, Request, Scale, Series, Shade, Shape, Tone,
};

pub fn all() -> Vec<Figure> {
    vec![lines(), distribution(), points(), bars(), heat(), requests(), steps(), stages(), empty()]
}

/// A deterministic number between 0 and 1 that looks random.
fn noise(index: usize) -> f64 {
    let it = (index as f64 * 12.9898).sin() * 43_758.545_3;
    it - it.floor()
}

fn axis(label: &str, unit: &str, scale: Scale, includes: &[f64]) -> Axis {
    Axis { label: label.into(), unit: unit.into(), scale, includes: includes.to_vec(), labels: Vec::new() }
}

fn line(name: &str, tone: Tone, values: impl Iterator<Item = (f64, f64)>) -> Series {
    let places = values.map(|(x, y)| Place { x, y: Some(y) }).collect();
    Series { name: name.into(), tone, shape: Shape::Line(places) }
}

/// TTFT over time.
pub fn lines() -> Figure {
    let at = |index: usize| 10.0 * index as f64;
    let warm = |index: usize| 400.0 * (-(index as f64) / 4.0).exp();
    let p50 = |index: usize| 180.0 + warm(index) + 30.0 * noise(index);
    let mut p50_line = line("p50", Tone::Median, (0..60).map(|it| (at(it), p50(it))));
    if let Shape::Line(places) = &mut p50_line.shape {
        places[30].y = None;
        places[31].y = None;
    }
    Figure {
        id: "ttft-over-time".into(),
        title: "TTFT over time".into(),
        caption: "Quantiles of TTFT in windows of 10 s, by the time at which a request was sent. In two windows no request was sent."
            .into(),
        finding: String::new(),
        x: axis("Time since start", "s", Scale::Linear, &[0.0]),
        y: axis("TTFT", "ms", Scale::Linear, &[0.0]),
        series: vec![
            p50_line,
            line("p90", Tone::High, (0..60).map(|it| (at(it), 1.6 * p50(it) + 40.0 * noise(it + 100)))),
            line("p99", Tone::Highest, (0..60).map(|it| (at(it), 2.4 * p50(it) + 250.0 * noise(it + 200)))),
        ],
        shades: vec![
            Shade { from: 0.0, to: 60.0, label: "warm-up".into(), tone: Tone::Quiet },
            Shade { from: 150.0, to: 520.0, label: "steady".into(), tone: Tone::Good },
        ],
        marks: vec![
            Mark { at: MarkAt::Y(800.0), label: "objective p99 ≤ 800 ms".into() },
            Mark { at: MarkAt::X(300.0), label: "stage 2".into() },
        ],
    }
}

/// Distribution functions with confidence bands.
pub fn distribution() -> Figure {
    let share = |it: usize| it as f64 / 100.0;
    let ms = |it: usize, middle: f64| {
        middle * ((share(it).clamp(0.005, 0.995) / (1.0 - share(it).clamp(0.005, 0.995))).ln() * 0.35).exp()
    };
    let of = |name: &str, tone: Tone, middle: f64| {
        let band = (0..=100).map(|it| {
            let wide = 1.8 * (share(it) * (1.0 - share(it)) / 60.0).sqrt();
            Interval { x: ms(it, middle), low: (share(it) - wide).max(0.0), high: (share(it) + wide).min(1.0) }
        });
        let band = Series { name: name.into(), tone, shape: Shape::Band(band.collect()) };
        [band, line(name, tone, (0..=100).map(|it| (ms(it, middle), share(it))))]
    };
    let series = [
        of("ITL", Tone::Category(0), 18.0),
        of("TTFT", Tone::Category(1), 210.0),
        of("E2E", Tone::Category(2), 2600.0),
    ];
    Figure {
        id: "distributions".into(),
        title: "Distribution of latencies".into(),
        caption: "The share of values at or below each latency, with a confidence band of 95 %.".into(),
        finding: String::new(),
        x: axis("Latency", "ms", Scale::Log, &[]),
        y: axis("Share of values", "share", Scale::Linear, &[0.0, 1.0]),
        series: series.into_iter().flatten().collect(),
        shades: Vec::new(),
        marks: vec![Mark { at: MarkAt::Y(0.99), label: "p99".into() }],
    }
}

/// Throughput against interactivity.
pub fn points() -> Figure {
    let of = |name: &str, tone: Tone, speed: f64| {
        let points = (0..7).map(|it| {
            let users = 2f64.powi(it);
            let each = speed / (1.0 + users / 14.0);
            let y = each * users;
            Point {
                x: each,
                y,
                range: Some((y * 0.93, y * 1.06)),
                label: format!("{users} users"),
                note: String::new(),
            }
        });
        Series { name: name.into(), tone, shape: Shape::Points { points: points.collect(), joined: true } }
    };
    Figure {
        id: "interactivity".into(),
        title: "Throughput against interactivity".into(),
        caption: "Output tokens per second of all users over those of one user, a point for each stage, with intervals of 95 %.".into(),
        finding: String::new(),
        x: axis("Tokens per second and user", "tok/s", Scale::Linear, &[0.0]),
        y: axis("Output tokens per second", "tok/s", Scale::Linear, &[0.0]),
        series: vec![of("this run", Tone::Category(0), 92.0), of("baseline", Tone::Category(1), 70.0)],
        shades: Vec::new(),
        marks: vec![Mark { at: MarkAt::Point(29.6, 29.6 * 30.0), label: "knee".into() }],
    }
}

/// Outcomes over time.
pub fn bars() -> Figure {
    let of = |name: &str, tone: Tone, value: &dyn Fn(usize) -> f64| {
        let bar = |it: usize| Bar { from: 5.0 * it as f64, to: 5.0 * (it + 1) as f64, value: value(it).round() };
        Series { name: name.into(), tone, shape: Shape::Bars((0..48).map(bar).collect()) }
    };
    Figure {
        id: "outcomes".into(),
        title: "Outcomes over time".into(),
        caption: "Requests that ended in each window of 5 s, by outcome.".into(),
        finding: String::new(),
        x: axis("Time since start", "s", Scale::Linear, &[0.0]),
        y: axis("Requests", "", Scale::Linear, &[0.0]),
        series: vec![
            of("completed", Tone::Good, &|it| 40.0 + 10.0 * noise(it)),
            of("cancelled", Tone::Quiet, &|it| 5.0 * noise(it + 50)),
            of("timeout", Tone::Bad, &|it| if (20..28).contains(&it) { 14.0 * noise(it + 90) } else { 0.0 }),
        ],
        shades: Vec::new(),
        marks: vec![Mark { at: MarkAt::X(120.0), label: "stage 2".into() }],
    }
}

/// ITL over time.
pub fn heat() -> Figure {
    let (columns, rows) = (80, 30);
    let y_edges: Vec<f64> = (0..=rows).map(|it| 2.0 * 10f64.powf(it as f64 / 10.0)).collect();
    let counts = (0..columns).map(|x| {
        let middle = 10.0 + 3.0 * (x as f64 / 9.0).sin();
        let count = |y: usize| {
            let distance = (y as f64 - middle) / 2.2;
            let main = 900.0 * (-distance * distance).exp();
            let tail = if noise(x * 31 + y) > 0.93 && y > 10 { 6.0 * noise(x + y) } else { 0.0 };
            (main + tail) as u64
        };
        (0..rows).map(count).collect()
    });
    let heat = Heat { x_edges: (0..=columns).map(|it| it as f64 * 5.0).collect(), y_edges, counts: counts.collect() };
    Figure {
        id: "itl-heat".into(),
        title: "ITL over time".into(),
        caption:
            "Gaps between tokens in windows of 5 s: the stronger the colour of a cell, the more gaps have this length."
                .into(),
        finding: String::new(),
        x: axis("Time since start", "s", Scale::Linear, &[0.0]),
        y: axis("ITL", "ms", Scale::Log, &[]),
        series: vec![Series { name: "gaps".into(), tone: Tone::Category(0), shape: Shape::Heat(heat) }],
        shades: Vec::new(),
        marks: vec![Mark { at: MarkAt::Y(100.0), label: "objective".into() }],
    }
}

/// Requests as a time line.
pub fn requests() -> Figure {
    let request = |it: usize| {
        let due = it as f64 * 0.25 + noise(it) * 0.2;
        let sent = due + if it > 40 { 0.15 * (it - 40) as f64 * noise(it) } else { 0.0 };
        let first = sent + 0.3 + noise(it + 7) * 0.5;
        let (failed, refused) = (it % 17 == 5, it % 29 == 20);
        let ended = if failed { first + 0.7 } else { first + 2.0 + 3.0 * noise(it + 3) };
        Request {
            due,
            sent: (!refused).then_some(sent),
            first_token: (!failed && !refused).then_some(first),
            ended: if refused { sent + 1.0 } else { ended },
            succeeded: !(failed || refused),
            label: format!("stage {}, request {it}", it / 40),
        }
    };
    Figure {
        id: "requests".into(),
        title: "Requests".into(),
        caption: "A fair sample of 80 of 1,200 requests, in the order in which they were due.".into(),
        finding: String::new(),
        x: axis("Time since start", "s", Scale::Linear, &[0.0]),
        y: axis("Requests", "", Scale::Linear, &[]),
        series: vec![Series {
            name: "requests".into(),
            tone: Tone::Median,
            shape: Shape::Requests((0..80).map(request).collect()),
        }],
        shades: Vec::new(),
        marks: Vec::new(),
    }
}

/// Planned against delivered load.
pub fn steps() -> Figure {
    let planned = [(0.0, 10.0), (300.0, 20.0), (600.0, 40.0), (900.0, 40.0)];
    let planned = planned.iter().map(|(x, y)| Place { x: *x, y: Some(*y) }).collect();
    let delivered = |it: usize| {
        let x = it as f64 * 10.0;
        (x, [10.0, 20.0, 33.0][(it / 30).min(2)] + 2.0 * (noise(it) - 0.5))
    };
    Figure {
        id: "load".into(),
        title: "Planned and delivered load".into(),
        caption: "Requests per second by the schedule, and as sent.".into(),
        finding: String::new(),
        x: axis("Time since start", "s", Scale::Linear, &[0.0]),
        y: axis("Requests per second", "req/s", Scale::Linear, &[0.0]),
        series: vec![
            line("sent", Tone::Median, (0..90).map(delivered)),
            Series { name: "planned".into(), tone: Tone::Plan, shape: Shape::Steps(planned) },
        ],
        shades: Vec::new(),
        marks: [(0.0, "stage 1"), (300.0, "stage 2"), (600.0, "stage 3")]
            .iter()
            .map(|(x, label)| Mark { at: MarkAt::X(*x), label: (*label).into() })
            .collect(),
    }
}

/// Eight stages, to show all category colours.
pub fn stages() -> Figure {
    let of = |stage: usize| {
        let values = (0..40)
            .map(move |it| (it as f64, 1500.0 * (stage + 1) as f64 + 400.0 * (it as f64 / 6.0 + stage as f64).sin()));
        line(&format!("stage {}", stage + 1), Tone::Category(stage), values)
    };
    Figure {
        id: "stages".into(),
        title: "Tokens per second by stage".into(),
        caption: "Eight categories, each with a colour and dashes of its own.".into(),
        finding: String::new(),
        x: axis("Time in the stage", "s", Scale::Linear, &[0.0]),
        y: axis("Output tokens per second", "tok/s", Scale::Linear, &[0.0]),
        series: (0..8).map(of).collect(),
        shades: Vec::new(),
        marks: Vec::new(),
    }
}

/// A figure with a series without values.
pub fn empty() -> Figure {
    Figure {
        id: "empty".into(),
        title: "Nothing measured".into(),
        caption: "A series without values.".into(),
        finding: String::new(),
        x: axis("Time since start", "s", Scale::Linear, &[0.0]),
        y: axis("TTFT", "ms", Scale::Log, &[]),
        series: vec![line("p50", Tone::Median, std::iter::empty())],
        shades: Vec::new(),
        marks: Vec::new(),
    }
}
