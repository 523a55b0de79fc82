//! A figure in a page: its caption, a legend of buttons, the drawing, and the data for the script.

use crate::{
    figure::Figure,
    json,
    svg::{
        self, Layout, Size, Style, element_id,
        legend::{Legend, sample_svg},
        text::escape,
    },
};

/// A `<figure class="chart">` for a page with `assets::STYLE` and `assets::SCRIPT`. Without the script, the figure is complete, but does not react
/// to pointer and keyboard. It contains no style attribute and no event handler, so that the policy of a page may forbid both. The id of the figure
/// must be unique in the page.
pub fn figure(figure: &Figure, size: Size) -> String {
    let legend = Legend::new(figure);
    let layout = Layout::new(figure, &legend, size, Style::Inline);
    let id = element_id(&figure.id);
    let entries: String = legend
        .entries
        .iter()
        .enumerate()
        .map(|(key, entry)| {
            let (sample, name) = (sample_svg(entry), escape(&entry.name));
            format!(
                r#"<button type="button" aria-pressed="true" data-key="{key}">{sample}<span>{name}</span></button>"#
            )
        })
        .collect();
    let entries = if entries.is_empty() { entries } else { format!(r#"<div class="chart-legend">{entries}</div>"#) };
    let (title, caption) = (escape(&figure.title), escape(&figure.caption));
    let drawing = svg::drawn(figure, &legend, &layout);
    let data = json::write(figure, &legend, &layout);
    format!(
        concat!(
            r#"<figure class="chart" id="{id}"><figcaption><strong>{title}</strong> <span>{caption}</span></figcaption>"#,
            r#"{entries}<div class="chart-view">{drawing}</div>"#,
            r#"<div class="chart-tools"><button type="button" class="chart-copy" hidden>Copy data as CSV</button></div>"#,
            r#"<script type="application/json">{data}</script></figure>"#
        ),
        id = id,
        title = title,
        caption = caption,
        entries = entries,
        drawing = drawing,
        data = data
    )
}
