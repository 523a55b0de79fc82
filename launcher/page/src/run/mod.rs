//! Renders `report.html`: the page of one run.
//!
//! The answer comes first: a sentence, the verdicts, one chart and the matrix of stages and objectives. Then come the other figures, small charts,
//! how far the figures can be trusted, which data is missing, and how to repeat the run. Content that few readers need is folded.
//!
//! The page depends on `report.json` alone, and its size does not depend on the number of requests. It needs no network: it contains its styles and
//! its script, and its Content-Security-Policy blocks everything else.

mod again;
mod charts;
mod definitions;
mod fold;
mod head;
mod hero;
mod matrix;
mod places;
mod scale;
mod tables;
#[cfg(test)]
mod tests;
mod tiles;
mod trust;

use document::{Renderer, ReportDocument, Section};
use serde::Serialize;

use crate::{
    PageError,
    frame::{self, Frame},
    panels::{LoadNames, panels},
};
use charts::Charts;
use places::Places;

/// Maximum size of a page, in bytes. A test checks it with 100 stages, full panels and long hostile texts.
pub const MAX_BYTES: usize = 4 << 20;

/// The data for the template. The template escapes every text.
#[derive(Serialize)]
struct View {
    nav: Vec<Link>,
    head: head::Head,
    hero: Vec<hero::Pick>,
    matrix: matrix::Matrix,
    tiles: Vec<tiles::Tile>,
    places: Places,
    charts: Charts,
    trust: trust::Trust,
    again: again::Again,
    definitions: Vec<definitions::Definition>,
}

/// A link to a section in the navigation.
#[derive(Serialize)]
struct Link {
    id: &'static str,
    title: &'static str,
    /// The number of entries in the section, if that is useful.
    count: Option<usize>,
}

/// Renders the page.
///
/// # Errors
/// The template cannot be rendered, which is a defect of this program.
pub fn render(document: &ReportDocument) -> Result<String, PageError> {
    let loads = LoadNames::new(document);
    let panels = panels(document);
    let hero = hero::picks(document, &loads, &panels);
    let mut places = Places::default();
    Section::of(document, Renderer::Page).for_each(|it| places.add(it, document));
    let mut charts = Charts::new(document, panels, &hero);
    // Without charts over the load, the page has no section for the folded ones, so they move to the folded figures.
    if charts.by_load.is_empty() {
        places.more_figures.append(&mut charts.more_by_load);
    }
    let view = View {
        nav: links(&places, &charts),
        head: head::Head::new(document),
        hero,
        matrix: matrix::Matrix::new(document, &loads),
        tiles: tiles::tiles(document, &loads),
        charts,
        trust: trust::Trust::new(document),
        again: again::Again::new(document, &loads),
        definitions: definitions::definitions(),
        places,
    };
    let title = format!("{}: {}", document.run.title(), view.head.sentence);
    frame::render(&Frame { title: &title, template: include_str!("page.html"), view: &view })
}

fn links(places: &Places, charts: &Charts) -> Vec<Link> {
    let link = |id, title| Link { id, title, count: None };
    let some = |is_there: bool, id, title| is_there.then(|| link(id, title));
    let absent = Link { count: Some(charts.absent.len()), ..link("no-data", "No data") };
    let links = [
        Some(link("answer", "Answer")),
        some(!places.tests.is_empty(), "tests", "Tests"),
        some(!places.figures.is_empty() || !places.more_figures.is_empty(), "figures", "Figures"),
        some(!charts.by_load.is_empty(), "load", "By load"),
        some(!charts.over_time.is_empty() || !charts.more_over_time.is_empty(), "time", "Over time"),
        Some(link("trust", "Can I trust it?")),
        (!charts.absent.is_empty()).then_some(absent),
        Some(link("again", "Run it again")),
    ];
    links.into_iter().flatten().collect()
}
