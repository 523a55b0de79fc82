//! Draws a figure as SVG.

mod annotations;
mod axes;
mod canvas;
mod ends;
mod frame;
mod labels;
mod layout;
pub(crate) mod legend;
mod paint;
mod ranking;
mod shapes;
mod strip;
mod style;
pub(crate) mod text;

pub(crate) use axes::title as axis_title;
pub(crate) use canvas::Px;
pub(crate) use frame::Vertical;
pub(crate) use layout::Layout;
pub use ranking::{Ranked, Ranking, draw_ranking};
pub(crate) use style::element_id;
pub use style::{Size, Style};

use canvas::{Anchor, Canvas, Font};
use legend::Legend;
use paint::Paint;

use crate::{describe, figure::Figure};

/// Draws a figure as one `<svg>` element. With [`Style::Inline`], `size` is the size of the frame, and its width is a minimum. Each series is reduced
/// to about 1,500 points, and coordinates have one decimal.
pub fn draw(figure: &Figure, size: Size, style: Style) -> String {
    let legend = Legend::new(figure);
    drawn(figure, &legend, &Layout::new(figure, &legend, size, style))
}

pub(crate) fn drawn(figure: &Figure, legend: &Legend, layout: &Layout) -> String {
    let paint = Paint(layout.style);
    let mut canvas = match layout.style {
        Style::Standalone => Canvas::default(),
        Style::Inline => Canvas::in_page(layout.width, layout.height),
    };
    let id = element_id(&figure.id);
    open(&mut canvas, figure, layout, &id);
    if layout.style == Style::Standalone {
        heading(&mut canvas, paint, legend, layout);
    }
    shapes::patterns(&mut canvas, paint, figure, &id);
    annotations::shades(&mut canvas, paint, figure, layout);
    axes::grid(&mut canvas, paint, layout);
    let mut taken = annotations::rings(figure, layout);
    shapes::draw(&mut canvas, paint, figure, legend, layout, &id, &mut taken);
    axes::axes(&mut canvas, paint, figure, layout);
    annotations::marks(&mut canvas, paint, figure, layout, &mut taken);
    shapes::names(&mut canvas, paint, figure, legend, layout, &mut taken);
    if canvas.is_in_page() && legend.is_at_lines() {
        ends::names(&mut canvas, paint, figure, legend, layout);
    }
    if layout.has_no_data {
        let font = Font { size: 13.0, paint: paint.muted(), bold: false, halo: None };
        let (x, y) = ((layout.frame.left + layout.frame.right) / 2.0, (layout.frame.top + layout.frame.bottom) / 2.0);
        canvas.text(x, y, Anchor::Middle, &font, "no values");
    }
    canvas.put(format_args!("</svg>"));
    canvas.finish()
}

fn open(canvas: &mut Canvas, figure: &Figure, layout: &Layout, id: &str) {
    let description = text::escape(&describe::describe(figure));
    let height = Px(layout.height);
    match layout.style {
        Style::Standalone => {
            let width = Px(layout.width);
            canvas.put(format_args!(
                concat!(
                    r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img""#,
                    r#" aria-labelledby="{id}-title" aria-describedby="{id}-desc" font-family="Noto Sans, Helvetica, Arial, sans-serif">"#,
                    r#"<title id="{id}-title">{title}</title><desc id="{id}-desc">{description}</desc>"#
                ),
                width = width,
                height = height,
                id = id,
                title = text::escape(&figure.title),
                description = description
            ));
        }
        // The heading of the figure is its accessible name. The role is `group`, because its points can get the focus.
        Style::Inline => canvas.put(format_args!(
            concat!(
                r#"<svg width="100%" height="{height}" role="group" aria-labelledby="{id}-title" aria-describedby="{id}-desc">"#,
                r#"<desc id="{id}-desc">{description}</desc>"#
            ),
            height = height,
            id = id,
            description = description
        )),
    }
}

fn heading(canvas: &mut Canvas, paint: Paint, legend: &Legend, layout: &Layout) {
    canvas.put(format_args!(
        r#"<rect width="{}" height="{}" fill="{}"/>"#,
        Px(layout.width),
        Px(layout.height),
        paint.background()
    ));
    let font = Font { size: layout::TITLE, paint: paint.text(), bold: true, halo: None };
    for (line, y) in &layout.title {
        canvas.text(layout.pad, *y, Anchor::Start, &font, line);
    }
    if let Some((top, placed)) = &layout.legend {
        legend::draw(canvas, paint, (layout.pad, *top), legend, placed);
    }
    let font = Font { size: layout::SMALL, paint: paint.muted(), bold: false, halo: None };
    for (line, y) in &layout.caption {
        canvas.text(layout.pad, *y, Anchor::Start, &font, line);
    }
}
