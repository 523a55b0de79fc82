//! A figure as SVG.

mod annotations;
mod axes;
mod canvas;
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

/// The figure as one `<svg>` element. Each series is thinned to about 1,500 points, and each coordinate has one decimal.
pub fn draw(figure: &Figure, size: Size, style: Style) -> String {
    let legend = Legend::new(figure);
    drawn(figure, &legend, &Layout::new(figure, &legend, size, style))
}

pub(crate) fn drawn(figure: &Figure, legend: &Legend, layout: &Layout) -> String {
    let (mut canvas, paint) = (Canvas::default(), Paint(layout.style));
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
    if layout.has_no_data {
        let font = Font { size: 13.0, paint: paint.muted(), bold: false, halo: None };
        let (x, y) = ((layout.frame.left + layout.frame.right) / 2.0, (layout.frame.top + layout.frame.bottom) / 2.0);
        canvas.text(x, y, Anchor::Middle, &font, "no values");
    }
    canvas.put(format_args!("</svg>"));
    canvas.finish()
}

fn open(canvas: &mut Canvas, figure: &Figure, layout: &Layout, id: &str) {
    let (width, height) = (Px(layout.width), Px(layout.height));
    canvas.put(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img""#
    ));
    canvas.put(format_args!(r#" aria-labelledby="{id}-title" aria-describedby="{id}-desc""#));
    if layout.style == Style::Standalone {
        canvas.put(format_args!(r#" font-family="Noto Sans, Helvetica, Arial, sans-serif""#));
    }
    canvas.put(format_args!(
        r#"><title id="{id}-title">{}</title><desc id="{id}-desc">{}</desc>"#,
        text::escape(&figure.title),
        text::escape(&describe::describe(figure))
    ));
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
