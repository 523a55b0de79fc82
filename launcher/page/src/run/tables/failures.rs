//! The tables of request outcomes and of failure messages.

use document::ReportDocument;

use crate::{table::Table, text};

pub(crate) fn table(document: &ReportDocument) -> Table {
    let it = &document.figures;
    let caption = "Requests by outcome, all stages together, with the first message of each kind.";
    let table = Table::new("errors", "Outcomes and errors", caption)
        .texts(["Outcome"])
        .numbers(["Requests"])
        .texts(["First message"]);
    let outcomes = it.outcomes.iter().map(|(name, count)| {
        vec![name.clone(), text::count(*count), it.error_samples.get(name).cloned().unwrap_or_default()]
    });
    let timeouts =
        it.timeouts.iter().map(|(limit, count)| vec![format!("timeout: {limit}"), text::count(*count), String::new()]);
    let causes =
        it.causes.iter().map(|(cause, it)| vec![format!("cause: {cause}"), text::count(it.count), it.sample.clone()]);
    let aside = it.aside.iter().map(|(part, outcomes)| {
        let part = match part.as_str() {
            "warmUp" => "in the warm-up, not counted in figures",
            "coolDown" => "in the cool-down, not counted in figures",
            "late" => "ended after the window, not counted in figures",
            other => other,
        };
        vec![part.to_owned(), text::count(outcomes.values().sum()), String::new()]
    });
    table.rows(outcomes.chain(timeouts).chain(causes).chain(aside))
}
