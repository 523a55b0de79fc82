//! The table of the server that was started for the run, and how it ended.

use crds::benchmark_run::Harness;
use document::{ManagedServerDocument, ReplicaDocument, ReportDocument, Section};
use report::{
    managed_server::{COLUMNS, STARTED, headline, notes, rows},
    server_log,
};

use crate::{
    table::{Line, Table},
    text,
};

/// The places on a page where the section can be.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    /// Before all figures. Used if the server died, because that is then the main message of the page.
    First,
    /// Before the figures, next to how the server started. Used if the run measures starts.
    BesideStart,
    /// In the folded tables. Used for all other runs.
    Below,
}

/// The section; `None` if it belongs to a place other than `place`.
pub fn managed_server(document: &ReportDocument, place: Place) -> Option<Table> {
    let server = document.managed_server.as_ref()?;
    let died = server.replicas.iter().any(|it| it.died);
    let its_place = match document.resolved_run.harness {
        _ if died => Place::First,
        Harness::Nop => Place::BesideStart,
        _ => Place::Below,
    };
    // A table without rows is shown only if it has lines. So the notes are added as lines.
    let (lines, remarks) = match server.replicas.is_empty() {
        true => (notes(server).into_iter().map(|text| Line { text, ..Line::default() }).collect(), Vec::new()),
        false => (lines(server), notes(server)),
    };
    (place == its_place).then(|| {
        let rows = rows(server).zip(&server.replicas).map(|(mut row, it)| {
            row[STARTED] = text::second(it.started);
            row.to_vec()
        });
        Table::of(Section::ManagedServer, headline(server))
            .texts(COLUMNS.map(text::capitalized).iter().map(String::as_str))
            .rows(rows)
            .lines(lines)
            .remarks(remarks)
    })
}

/// The lines of all replicas. Replicas that died come first, because the number of lines is limited.
fn lines(server: &ManagedServerDocument) -> Vec<Line> {
    let mut replicas: Vec<(usize, &ReplicaDocument)> = server.replicas.iter().enumerate().collect();
    replicas.sort_by_key(|(_, it)| !it.died);
    replicas.into_iter().flat_map(|(index, it)| lines_of(index, it)).collect()
}

fn lines_of(index: usize, it: &ReplicaDocument) -> Vec<Line> {
    let words = Line { text: format!("replica {index}, last words:"), quote: it.last_words.clone(), ..Line::default() };
    let memory = it.out_of_memory.as_ref();
    let memory = memory.map(|it| Line { text: format!("replica {index}: {it}"), ..Line::default() });
    // If the path is not as expected, it is shown without a link.
    let (file, other) = match &it.log {
        Some(log) if *log == server_log(index) => (log.clone(), None),
        other => (String::new(), other.as_ref().map(|it| format!("log: {it}"))),
    };
    let after: Vec<String> = other.into_iter().chain(it.log_note.clone()).collect();
    let after = after.join("; ");
    let code = it.command.join(" ");
    let text = if code.is_empty() { format!("replica {index}") } else { format!("replica {index}, command:") };
    let is_known = !(code.is_empty() && file.is_empty() && after.is_empty());
    let command = is_known.then(|| Line { text, code, file, after, ..Line::default() });
    let words = (!it.last_words.is_empty()).then_some(words);
    words.into_iter().chain(memory).chain(command).collect()
}
