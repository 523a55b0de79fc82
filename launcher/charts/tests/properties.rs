//! Tests that figures with any values can be drawn, and that everything lies within the drawing.

use charts::{
    Axis, Bar, Figure, Heat, Interval, Mark, MarkAt, Place, Point, Request, Scale, Series, Shade, Shape, Size, Style,
    Tone, csv, html, svg,
};
use proptest::{collection::vec, prelude::*};

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -1e3..1e3,
        2 => (-9.0..12.0f64).prop_map(|it| 10f64.powf(it)),
        1 => Just(0.0),
        1 => Just(7.25),
        1 => any::<f64>(),
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(f64::MAX), Just(5e-324)],
    ]
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let place = || (any_value(), proptest::option::of(any_value())).prop_map(|(x, y)| Place { x, y });
    let interval = (any_value(), any_value(), any_value()).prop_map(|(x, low, high)| Interval { x, low, high });
    let point = (any_value(), any_value(), proptest::option::of((any_value(), any_value())))
        .prop_map(|(x, y, range)| Point { x, y, range, label: "a point".into(), note: String::new() });
    let bar = (any_value(), any_value(), any_value()).prop_map(|(from, to, value)| Bar { from, to, value });
    let heat = (vec(any_value(), 0..6), vec(any_value(), 0..6), vec(vec(any::<u64>(), 0..6), 0..6))
        .prop_map(|(x_edges, y_edges, counts)| Heat { x_edges, y_edges, counts });
    let request =
        (any_value(), proptest::option::of(any_value()), proptest::option::of(any_value()), any_value(), any::<bool>())
            .prop_map(|(due, sent, first_token, ended, succeeded)| Request {
                due,
                sent,
                first_token,
                ended,
                succeeded,
                label: "a request".into(),
            });
    prop_oneof![
        vec(place(), 0..9).prop_map(Shape::Line),
        vec(place(), 0..9).prop_map(Shape::Steps),
        vec(interval, 0..9).prop_map(Shape::Band),
        (vec(point, 0..9), any::<bool>()).prop_map(|(points, joined)| Shape::Points { points, joined }),
        vec(bar, 0..9).prop_map(Shape::Bars),
        heat.prop_map(Shape::Heat),
        vec(request, 0..9).prop_map(Shape::Requests),
    ]
}

fn any_axis() -> impl Strategy<Value = Axis> {
    let unit = prop_oneof![Just(""), Just("ms"), Just("s"), Just("share"), Just("tok/s")];
    let scale = prop_oneof![Just(Scale::Linear), Just(Scale::Log)];
    (unit, scale, vec(any_value(), 0..3)).prop_map(|(unit, scale, includes)| Axis {
        label: "axis".into(),
        unit: unit.into(),
        scale,
        includes,
        labels: Vec::new(),
    })
}

fn any_figure() -> impl Strategy<Value = Figure> {
    let mark = prop_oneof![
        any_value().prop_map(MarkAt::X),
        any_value().prop_map(MarkAt::Y),
        (any_value(), any_value()).prop_map(|(x, y)| MarkAt::Point(x, y))
    ];
    let shade = (any_value(), any_value()).prop_map(|(from, to)| Shade {
        from,
        to,
        label: "a shade".into(),
        tone: Tone::Quiet,
    });
    let series = vec((any_shape(), 0..20usize), 0..4).prop_map(|all| {
        let named =
            |(index, (shape, tone))| Series { name: format!("series {index}"), tone: Tone::Category(tone), shape };
        all.into_iter().enumerate().map(named).collect()
    });
    (any_axis(), any_axis(), series, vec(shade, 0..3), vec(mark, 0..4)).prop_map(|(x, y, series, shades, marks)| {
        Figure {
            id: "figure".into(),
            title: "A figure".into(),
            caption: "Of any values.".into(),
            finding: String::new(),
            x,
            y,
            series,
            shades,
            marks: marks.into_iter().map(|at| Mark { at, label: "a mark".into() }).collect(),
        }
    })
}

/// All numbers in attributes with positions. Ignores texts.
fn coordinates(drawing: &str) -> Vec<f64> {
    let attributes = [" d=\"", " x=\"", " y=\"", " cx=\"", " cy=\""];
    let values = attributes.iter().flat_map(|name| drawing.split(name).skip(1)).filter_map(|it| it.split('"').next());
    let numbers = values.flat_map(|it| it.split(|it: char| !(it.is_ascii_digit() || "-.".contains(it))));
    numbers.filter(|it| !it.is_empty()).map(|it| it.parse().unwrap_or(f64::NAN)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_figure_is_drawn_within_its_bounds(
        figure in any_figure(),
        size in (prop_oneof![any_value(), 300.0..900.0], prop_oneof![any_value(), 200.0..600.0]),
        style in prop_oneof![Just(Style::Standalone), Just(Style::Inline)],
    ) {
        let size = Size { width: size.0, height: size.1 };
        let drawing = svg::draw(&figure, size, style);
        for found in coordinates(&drawing) {
            prop_assert!(found.is_finite() && (-120.0..=4120.0).contains(&found), "{found} in {drawing}");
        }
        prop_assert!(!drawing.contains("NaN") && !drawing.contains("inf"), "{drawing}");
        prop_assert_eq!(&drawing, &svg::draw(&figure, size, style));
    }

    #[test]
    fn any_figure_has_data_that_a_script_reads_and_a_csv_with_equal_lines(figure in any_figure()) {
        let page = html::figure(&figure, Size::default());
        let data = page.split(r#"<script type="application/json">"#).nth(1).and_then(|it| it.split("</script>").next());
        let data = data.expect("a page has data");
        prop_assert!(!data.contains("NaN") && !data.contains("inf"), "{data}");
        prop_assert_eq!(data.matches(['{', '[']).count(), data.matches(['}', ']']).count(), "{}", data);
        let text = csv::write(&figure);
        let commas: Vec<usize> = text.lines().map(|it| it.matches(',').count()).collect();
        prop_assert!(commas.iter().all(|it| *it == commas[0]), "{text}");
    }
}
