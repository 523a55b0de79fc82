//! Prints a page with a figure of each shape, in light and dark colours: `cargo run -p charts --example gallery > /tmp/gallery.html`.

use charts::{Size, assets, html};

#[path = "../tests/samples/mod.rs"]
mod samples;

fn main() {
    let figures: String = samples::all().iter().map(|it| html::figure(it, Size::default())).collect();
    let page = format!(
        concat!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Figures</title><style>{}",
            "body{{margin:0 auto;max-width:1200px;padding:16px;background:var(--chart-background);color:var(--chart-text);",
            "font:14px/1.5 system-ui,sans-serif}}main{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:32px}}",
            "</style></head><body><button type=\"button\" class=\"theme-switch\" hidden>Light or dark</button><main>{}</main>",
            "<script>{}</script></body></html>"
        ),
        assets::style(),
        figures,
        assets::SCRIPT
    );
    println!("{page}");
}
