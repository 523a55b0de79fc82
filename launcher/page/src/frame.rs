//! Renders the frame of a page around its content: policy, styles and script.
//!
//! A page is a single file that works without a network. Its Content-Security-Policy allows only one style element and one script, both by their
//! digest. So text from outside would not run as code even if it were not escaped.

use charts::{Figure, Size};
use serde::Serialize;
use tera::{Context, Tera};

use crate::PageError;

/// The input for a page. Its template extends `frame.html` and reads `view`.
pub(crate) struct Frame<'a, V> {
    pub(crate) title: &'a str,
    pub(crate) template: &'a str,
    pub(crate) view: &'a V,
}

const FRAME: &str = include_str!("frame.html");
const TABLE: &str = include_str!("table.html");
const FOLD: &str = include_str!("fold.html");
const FOLDS: &str = include_str!("folds.html");
const GRID: &str = include_str!("grid.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Renders a page. Escapes every value except style, script and figures.
pub(crate) fn render<V: Serialize>(frame: &Frame<'_, V>) -> Result<String, PageError> {
    let mut tera = Tera::default();
    tera.autoescape_on(vec![".html"]);
    tera.add_raw_templates([
        ("frame.html", FRAME),
        ("table.html", TABLE),
        ("fold.html", FOLD),
        ("folds.html", FOLDS),
        ("grid.html", GRID),
        ("page.html", frame.template),
    ])?;
    let style = format!("{}{STYLE}", charts::assets::style());
    let script = format!("{}{SCRIPT}", charts::assets::SCRIPT);
    let policy = report::policy(&style, &script);
    let mut context = Context::new();
    context.insert("title", frame.title);
    context.insert("policy", &policy);
    context.insert("style", &style);
    context.insert("script", &script);
    context.insert("view", frame.view);
    Ok(tera.render("page.html", &context)?)
}

/// A figure as markup. `size` is the size of its frame. Its texts are already escaped.
pub(crate) fn figure(figure: &Figure, size: Size) -> String {
    charts::html::figure(figure, size)
}
