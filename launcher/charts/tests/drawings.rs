//! Tests drawings of the sample figures as standalone files.

use charts::{Figure, Scale, Series, Shape, Size, Style, Tone, csv, html, svg};

/// Puts each element on its own line, so that a diff of two drawings is readable.
fn readable(drawing: &str) -> String {
    drawing.replace("><", ">\n<")
}

fn check(name: &str, figure: &Figure) {
    let drawing = svg::draw(figure, Size { width: 640.0, height: 400.0 }, Style::Standalone);
    insta::assert_snapshot!(name, readable(&drawing));
}

#[test]
fn each_shape_is_drawn_as_before() {
    for figure in crate::samples::all() {
        check(&figure.id, &figure);
    }
}

#[test]
fn the_data_of_each_shape_are_written_as_before() {
    for figure in crate::samples::all() {
        let text = csv::write(&figure);
        let mut lines: Vec<&str> = text.lines().take(4).collect();
        let count = format!("... {} lines", text.lines().count());
        lines.push(&count);
        insta::assert_snapshot!(format!("{}.csv", figure.id), lines.join("\n"));
    }
}

#[test]
fn a_figure_in_a_page_is_written_as_before() {
    insta::assert_snapshot!("page", readable(&html::figure(&crate::samples::empty(), Size::default())));
}

#[test]
fn a_drawing_has_a_title_and_a_description_in_words() {
    let drawing = svg::draw(&crate::samples::lines(), Size::default(), Style::Standalone);
    assert!(drawing.contains(r#"role="img" aria-labelledby="ttft-over-time-title""#), "{drawing}");
    assert!(drawing.contains(r#"<title id="ttft-over-time-title">TTFT over time</title>"#), "{drawing}");
    assert!(drawing.contains("p50: 58 values from"), "{drawing}");
    assert!(drawing.contains("warm-up: from 0 s to 60 s."), "{drawing}");
}

#[test]
fn a_drawing_in_a_page_takes_every_colour_from_the_page() {
    for figure in crate::samples::all() {
        let drawing = svg::draw(&figure, Size::default(), Style::Inline);
        assert!(!drawing.contains("\"#"), "{}: {drawing}", figure.id);
        assert!(!drawing.contains("style="), "{}: {drawing}", figure.id);
    }
}

#[test]
fn failures_differ_by_more_than_colour() {
    let drawing = svg::draw(&crate::samples::bars(), Size::default(), Style::Standalone);
    assert!(drawing.contains(r#"fill="url(#outcomes-stripes)""#), "{drawing}");
    let drawing = svg::draw(&crate::samples::requests(), Size::default(), Style::Standalone);
    assert!(drawing.contains(r#"fill="url(#requests-stripes)""#), "{drawing}");
}

#[test]
fn series_with_one_name_have_one_entry_and_one_key() {
    let page = html::figure(&crate::samples::distribution(), Size::default());
    assert_eq!(page.matches("<button type=\"button\" aria-pressed").count(), 3, "{page}");
    assert_eq!(page.matches("<g data-key=\"0\">").count(), 2, "the band and the line of ITL: {page}");
}

#[test]
fn a_mark_far_beyond_the_data_does_not_flatten_them() {
    let mut figure = crate::samples::lines();
    figure.marks[0].at = charts::MarkAt::Y(60_000.0);
    let drawing = svg::draw(&figure, Size::default(), Style::Standalone);
    assert!(drawing.contains("objective p99 ≤ 800 ms: 60 s ↑"), "{drawing}");
    assert!(drawing.contains(">2,000</text>"), "the axis still fits the data: {drawing}");
}

#[test]
fn a_series_of_a_million_points_is_drawn_with_its_least_and_greatest_value() {
    let places = (0..1_000_000).map(|it| {
        let y = if it == 333_333 { 900.0 } else { 10.0 + f64::from(it % 7) };
        charts::Place { x: f64::from(it), y: Some(y) }
    });
    let mut figure = crate::samples::lines();
    figure.series = vec![Series { name: "p50".into(), tone: Tone::Median, shape: Shape::Line(places.collect()) }];
    figure.y.scale = Scale::Linear;
    (figure.shades, figure.marks) = (Vec::new(), Vec::new());
    let drawing = svg::draw(&figure, Size::default(), Style::Standalone);
    assert!(drawing.len() < 40_000, "{} bytes", drawing.len());
    assert!(drawing.contains("from 10 ms to 900 ms"), "{}", &drawing[..600]);
    let top = drawing.split("<g data-key").nth(1).into_iter().flat_map(|it| it.split(['L', 'M', '"']));
    let least_y = top.filter_map(|it| it.split(' ').nth(1)?.parse::<f64>().ok()).fold(f64::INFINITY, f64::min);
    assert!(
        least_y < 100.0,
        "the peak is near the upper end of the frame, which is 130 pixels high and ends at 222: {least_y}"
    );
}

#[test]
fn the_name_of_an_objective_comes_before_the_names_of_points() {
    let mut figure = crate::samples::points();
    // The limit crosses the points where their names take up most of the space.
    figure.marks.push(charts::Mark { at: charts::MarkAt::Y(680.0), label: "objective".into() });
    let drawing = svg::draw(&figure, Size { width: 240.0, height: 160.0 }, Style::Standalone);
    assert!(drawing.contains(">objective</text>"), "{drawing}");
}

#[test]
fn a_value_between_two_gaps_is_a_dot() {
    let mut figure = crate::samples::lines();
    let places = [Some(1.0), None, Some(300.0), None, Some(1.0)];
    let places = places.iter().enumerate().map(|(x, y)| charts::Place { x: x as f64, y: *y }).collect();
    figure.series = vec![Series { name: "p50".into(), tone: Tone::Median, shape: Shape::Line(places) }];
    let drawing = svg::draw(&figure, Size::default(), Style::Standalone);
    let dots =
        drawing.split(r#"stroke-width="5" stroke-linecap="round""#).next().and_then(|it| it.rsplit("d=\"").next());
    assert_eq!(dots.map(|it| it.matches('M').count()), Some(3), "{drawing}");
}

#[test]
fn a_drawing_in_a_page_is_as_wide_as_its_place_and_its_texts_keep_their_size() {
    for figure in crate::samples::all() {
        let drawing = svg::draw(&figure, Size { width: 300.0, height: 110.0 }, Style::Inline);
        assert!(drawing.starts_with(r#"<svg width="100%" height=""#), "{}: {drawing}", figure.id);
        for text in drawing.split("<text ").skip(1) {
            let x = text.split('"').nth(1).unwrap_or_default();
            assert!(x.ends_with('%'), "{}: {text}", figure.id);
        }
        // Only lines and areas may be stretched.
        for stretched in drawing.split(r#"preserveAspectRatio="none">"#).skip(1) {
            assert!(stretched.starts_with("<path "), "{}: {stretched}", figure.id);
        }
    }
}

#[test]
fn the_percentiles_of_one_measurement_have_one_colour_and_their_names_at_their_ends() {
    let page = html::figure(&crate::samples::lines(), Size { width: 300.0, height: 110.0 });
    assert!(!page.contains("chart-legend"), "{page}");
    for name in ["p50", "p90", "p99"] {
        assert!(page.contains(&format!(">{name}</text>")), "{name}: {page}");
    }
    let width = |line: &str| page.contains(&format!(r#"stroke="var(--chart-main)" stroke-width="{line}""#));
    assert!(width("1.25") && width("2") && width("1.5"), "{page}");
}

#[test]
fn a_point_with_a_note_takes_the_focus_and_says_it() {
    let mut figure = crate::samples::points();
    if let Shape::Points { points, .. } = &mut figure.series[0].shape {
        points[0].note = "1 user: 82 tok/s <met>".into();
    }
    let page = html::figure(&figure, Size::default());
    let point = r#"<g class="chart-point" tabindex="0" role="img" aria-label="1 user: 82 tok/s &lt;met&gt;">"#;
    assert_eq!(page.matches(point).count(), 1, "{page}");
    assert!(!svg::draw(&figure, Size::default(), Style::Standalone).contains("chart-point"));
}

#[test]
fn a_load_has_a_label_at_each_of_its_values() {
    let mut figure = crate::samples::points();
    figure.x = charts::Axis { scale: Scale::Log, includes: Vec::new(), labels: vec![1.0, 8.0, 64.0], ..figure.x };
    figure.series.truncate(1);
    if let Shape::Points { points, .. } = &mut figure.series[0].shape {
        points.truncate(3);
        points.iter_mut().zip([1.0, 8.0, 64.0]).for_each(|(point, x)| point.x = x);
    }
    figure.marks = vec![charts::Mark { at: charts::MarkAt::Below(8.0), label: "✓".into() }];
    let page = html::figure(&figure, Size::default());
    // On a logarithmic axis, equal ratios have equal distances.
    let at = |label: &str| -> f64 {
        let text =
            page.split("<text ").find(|it| it.contains(&format!(">{label}</text>"))).expect("the label is drawn");
        text.split('"').nth(1).and_then(|it| it.trim_end_matches('%').parse().ok()).expect("a share of the width")
    };
    assert!((at("8") - at("1") - (at("64") - at("8"))).abs() < 0.2, "{page}");
    assert!(page.contains(", log scale</p>") && page.contains(">✓</text>"), "{page}");
}

#[test]
fn provisional_points_are_hollow_and_have_the_colour_of_their_category() {
    let markers = |tone: Tone| {
        let mut figure = crate::samples::points();
        figure.series.truncate(1);
        figure.series[0].tone = tone;
        let drawing = svg::draw(&figure, Size::default(), Style::Standalone);
        let count = |colours: &str| drawing.matches(colours).count();
        (count(r##"fill="#a8480a" stroke="#ffffff""##), count(r##"fill="#ffffff" stroke="#a8480a""##))
    };
    // One path has all points, and one is the sample in the legend.
    assert_eq!((markers(Tone::Category(1)), markers(Tone::Provisional(1))), ((2, 0), (0, 2)));
}

#[test]
fn a_long_logarithmic_axis_has_powers_of_ten_in_a_low_drawing() {
    let mut figure = crate::samples::points();
    figure.y = charts::Axis { scale: Scale::Log, includes: vec![1.0, 1_000.0], ..figure.y };
    figure.series.truncate(1);
    if let Shape::Points { points, .. } = &mut figure.series[0].shape {
        points.iter_mut().for_each(|it| (it.y, it.range) = (30.0, None));
    }
    figure.marks.clear();
    let drawing = svg::draw(&figure, Size { width: 640.0, height: 220.0 }, Style::Standalone);
    assert!(drawing.contains(">1</text>") && drawing.contains(">100</text>"), "{drawing}");
    assert!(!drawing.contains(">500</text>"), "{drawing}");
}
