//! `report.html`: the page of one run.
//!
//! It is a function of `report.json` alone, and its size does not depend on the number of requests. It needs no network: it contains its styles and
//! its script, and its policy blocks everything else.

mod asides;
mod definitions;
mod head;
mod places;
mod tables;
#[cfg(test)]
mod tests;
mod tiles;

use document::{Renderer, ReportDocument, Section};
use serde::Serialize;

use crate::{
    PageError,
    frame::{self, Frame},
    panels::{Panel, panels},
    table::{Table, lines},
};
use asides::Aside;
use places::{Block, Places};

/// Maximum size of a page in bytes, for any run: 100 stages, all panels full, hostile texts. A test checks it.
pub const MAX_BYTES: usize = 4 << 20;

/// Everything that the template shows. The template escapes every text.
#[derive(Serialize)]
struct View {
    head: head::Head,
    summary: Vec<Block>,
    /// Side by side, below the summary.
    asides: Vec<Aside>,
    panels: Vec<PanelView>,
    tables: Vec<Table>,
    notices: Vec<String>,
    definitions: Vec<definitions::Definition>,
}

#[derive(Serialize)]
struct PanelView {
    id: &'static str,
    title: &'static str,
    question: &'static str,
    /// Markup of the figures; empty if there is a reason instead.
    figures: Vec<String>,
    absent: String,
}

/// The text of the page.
///
/// # Errors
/// The template cannot be rendered, which is a defect of this program.
pub fn render(document: &ReportDocument) -> Result<String, PageError> {
    let mut places = Places::default();
    Section::of(document, Renderer::Page).for_each(|it| places.add(it, document));
    let Places { summary, asides, tables } = places;
    let view = View {
        head: head::Head::new(document),
        summary,
        asides,
        panels: panels(document).into_iter().map(PanelView::new).collect(),
        tables,
        notices: lines(document.notices.iter().map(|it| format!("{}: {}", it.path, it.message))),
        definitions: definitions::definitions(),
    };
    let title = format!("{}: {}", document.run.title(), document.outcome.name());
    frame::render(&Frame { title: &title, template: include_str!("page.html"), view: &view })
}

impl PanelView {
    fn new(panel: Panel) -> PanelView {
        let (figures, absent) = match panel.content {
            Ok(figures) => (figures.iter().map(frame::figure).collect(), String::new()),
            Err(why) => (Vec::new(), why),
        };
        PanelView { id: panel.id, title: panel.title, question: panel.question, figures, absent }
    }
}
