//! Tests with texts that try to be markup, a script, a formula, or text in another direction.

use charts::{Figure, Mark, MarkAt, Shade, Shape, Size, Style, Tone, csv, html, svg};

const HOSTILE: &str = "</script><script>alert(1)</script><!-- \" ' & ]]> \u{0}\u{8}\u{1b}\u{202e}\u{fffe}\n=1+1";

/// The figure with hostile texts everywhere.
fn hostile(mut figure: Figure) -> Figure {
    let text = || HOSTILE.to_owned();
    (figure.id, figure.title, figure.caption) = (text(), text(), text());
    for axis in [&mut figure.x, &mut figure.y] {
        (axis.label, axis.unit) = (text(), text());
    }
    for series in &mut figure.series {
        series.name = text();
        match &mut series.shape {
            Shape::Points { points, .. } => points.iter_mut().for_each(|it| it.label = text()),
            Shape::Requests(all) => all.iter_mut().for_each(|it| it.label = text()),
            _ => {}
        }
    }
    figure.shades.push(Shade { from: 0.0, to: 100.0, label: text(), tone: Tone::Bad });
    for at in [MarkAt::X(10.0), MarkAt::Y(10.0), MarkAt::Y(1e12), MarkAt::Point(10.0, 10.0)] {
        figure.marks.push(Mark { at, label: text() });
    }
    figure
}

/// Characters that XML 1.0 forbids, and characters that change the direction of surrounding text.
fn forbidden(it: char) -> bool {
    (it.is_control() && it != '\n') || matches!(it, '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}')
}

#[test]
fn no_text_leaves_its_place_in_a_drawing() {
    for figure in crate::samples::all().into_iter().map(hostile) {
        for style in [Style::Standalone, Style::Inline] {
            let drawing = svg::draw(&figure, Size::default(), style);
            assert!(!drawing.contains("<script") && !drawing.contains("<!--"), "{drawing}");
            assert!(!drawing.contains(forbidden), "{drawing}");
            assert!(drawing.contains("&lt;/script&gt;"), "{drawing}");
        }
    }
}

#[test]
fn no_text_ends_the_data_of_a_page() {
    for figure in crate::samples::all().into_iter().map(hostile) {
        let page = html::figure(&figure, Size::default());
        let (_, data) = page.split_once(r#"<script type="application/json">"#).expect("a page has data");
        let (data, after) = data.split_once("</script>").expect("the data have an end");
        assert_eq!(after, "</figure>");
        assert!(!data.contains('<') && !data.contains(forbidden), "{data}");
        assert_eq!(page.matches("<script").count(), 1, "{page}");
    }
}

#[test]
fn a_spreadsheet_takes_no_text_for_a_formula_and_each_number_for_a_number() {
    let mut figure = crate::samples::points();
    figure.series.truncate(1);
    figure.series[0].name = "=HYPERLINK(\"x\")".into();
    let Shape::Points { points, .. } = &mut figure.series[0].shape else { panic!("the sample has points") };
    points.truncate(1);
    (points[0].x, points[0].y, points[0].range) = (-1.5, 2e-9, None);
    points[0].label = "@a,b".into();
    let text = csv::write(&figure);
    assert_eq!(text.lines().nth(1), Some(r#""'=HYPERLINK(""x"")",-1.5,2e-9,"'@a,b""#), "{text}");
}
