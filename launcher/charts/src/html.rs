//! Renders a figure for a page: its heading, a legend of buttons, the drawing, and the data for the script.

use crate::{
    figure::{Figure, Scale},
    json,
    svg::{
        self, Layout, Size, Style, axis_title, element_id,
        legend::{Legend, sample_svg},
        text::escape,
    },
};

/// Returns a `<figure class="chart">` for a page that includes `assets::style` and `assets::SCRIPT`. `size` is the size of the frame. The figure
/// takes the full width of its container, and its texts keep their size. Without the script, the figure is complete but does not react to the
/// pointer. It has no style attributes and no event handlers, so the page's policy may forbid both. The id of the figure must be unique within the
/// page.
pub fn figure(figure: &Figure, size: Size) -> String {
    let legend = Legend::new(figure);
    let layout = Layout::new(figure, &legend, size, Style::Inline);
    let class = if legend.is_at_lines() { "chart chart-named" } else { "chart" };
    let title = titled(figure, &layout.y_ticks.unit);
    let finding = match figure.finding.as_str() {
        "" => String::new(),
        finding => format!(r#"<p class="chart-finding">{}</p>"#, escape(finding)),
    };
    format!(
        concat!(
            r#"<figure class="{class}" id="{id}"><figcaption><strong id="{id}-title">{title}</strong>"#,
            r#"<details class="info"><summary aria-label="About {title}">i</summary>"#,
            r#"<div>{caption} <button type="button" class="chart-copy" hidden>Copy data as CSV</button></div></details></figcaption>"#,
            r#"{finding}{entries}<div class="chart-view">{drawing}</div><p class="chart-x">{x}</p>"#,
            r#"<script type="application/json">{data}</script></figure>"#
        ),
        class = class,
        id = element_id(&figure.id),
        title = escape(&title),
        caption = escape(&figure.caption),
        finding = finding,
        entries = entries(&legend),
        drawing = svg::drawn(figure, &legend, &layout),
        x = escape(&x_title(figure, &layout.x_ticks.unit)),
        data = json::write(figure, &legend, &layout)
    )
}

/// The title with the unit of the values, such as `TTFT (ms)`. No unit is added if the title contains it, as in `Requests per second`.
fn titled(figure: &Figure, unit: &str) -> String {
    let title = &figure.title;
    if unit.is_empty() || title.contains(" per ") { title.clone() } else { format!("{title} ({unit})") }
}

fn x_title(figure: &Figure, unit: &str) -> String {
    let scale = if figure.x.scale == Scale::Log { ", log scale" } else { "" };
    format!("{}{scale}", axis_title(&figure.x, unit))
}

/// A legend with a button for each name. Empty if there is only one name, or if the names are next to the lines.
fn entries(legend: &Legend) -> String {
    if legend.entries.len() < 2 || legend.is_at_lines() {
        return String::new();
    }
    let entries = legend.entries.iter().enumerate().map(|(key, entry)| {
        let (sample, name) = (sample_svg(entry), escape(&entry.name));
        format!(r#"<button type="button" aria-pressed="true" data-key="{key}">{sample}<span>{name}</span></button>"#)
    });
    format!(r#"<div class="chart-legend">{}</div>"#, entries.collect::<String>())
}
