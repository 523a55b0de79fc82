//! [I/O] `index.html`: a page of all runs below a root, in a single file that needs neither a server nor a network.
//!
//! The rows are JSON data, one line per row, which the page's script displays. An update first reads the existing rows. Then it lists all folders,
//! but reads only reports that are new or have changed. So an update is fast, and the page is also correct after others have added or deleted
//! folders.

use std::{
    collections::HashMap,
    io::{self, BufRead as _, BufReader, Read as _, Write},
    path::Path,
};

use jiff::Timestamp;

use super::{
    entry::{Entry, Run},
    folders::{Folders, Kind},
};
use document::TOOL_VERSION;
use files::{user_file, write_whole};

/// The file name of the index as a page.
const FILE_NAME: &str = "index.html";
/// Maximum number of rows on a page; the oldest runs are left out.
const MAX_ROWS: usize = 10_000;
/// Maximum size of an existing page in bytes; the rows of a larger page are not reused.
const MAX_PAGE: u64 = 128 << 20;
/// Maximum length of a line in bytes. A typical row has about 700 bytes. It can have at most about 20,000, if all texts have the maximum length and
/// consist of escaped characters.
const MAX_LINE: u64 = 64 << 10;

/// The line before the rows. A release that changes the rows also changes this format version, so that all reports are read again.
const BEGIN: &str = r#"<script type="application/json" id="runs" data-format="benchwright.dev/index/v1">"#;
const END: &str = "</script>";

/// The page without its rows. Placeholders between `%` are replaced.
const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Number of rows on the page.
    pub rows: usize,
    /// Number of reports that were read.
    pub read: usize,
    /// Number of new folders whose reports have not been read yet.
    pub unread: usize,
    /// Number of old runs that have no row.
    pub left_out: usize,
}

/// Updates the page. Reads at most `max_read` reports, the newest first. The caller must prevent concurrent updates.
pub(super) fn update(root: &Path, max_read: usize) -> io::Result<Rebuilt> {
    let Folders { mut found, others, more } = Folders::below(root)?;
    // Sorts the newest first, so that the limits leave out the oldest folders.
    found.sort_by(|one, other| (other.stamp.modified_ms, &other.folder).cmp(&(one.stamp.modified_ms, &one.folder)));
    let left_out = found.len().saturating_sub(MAX_ROWS);
    found.truncate(MAX_ROWS);
    let mut known = entries(&root.join(FILE_NAME));
    let (mut read, mut unread) = (0, 0);
    let mut rows = Vec::with_capacity(found.len());
    for it in &found {
        match known.remove(&it.folder).filter(|entry| entry.is_of(it)) {
            // The page of the run might have been added since, so the link target is updated.
            Some(entry) => rows.push(Entry { page: it.page.clone(), ..entry }),
            None if read < max_read || it.kind == Kind::Unfinished => {
                read += usize::from(it.kind != Kind::Unfinished);
                rows.push(Entry::read(root, it));
            }
            None => unread += 1,
        }
    }
    rows.sort_by(|one, other| (begun_ms(other), &other.folder).cmp(&(begun_ms(one), &one.folder)));
    let rebuilt = Rebuilt { rows: rows.len(), read, unread, left_out };
    let notes = notes(rebuilt, others, more);
    write_whole(&root.join(FILE_NAME), |file| write(&rows, &notes, file))?;
    Ok(rebuilt)
}

/// The start of a run in milliseconds since 1970. If the report does not contain it, the time at which its file was written.
fn begun_ms(entry: &Entry) -> i64 {
    let started = entry.run.as_ref().and_then(|Run { started, .. }| started.parse::<Timestamp>().ok());
    started.map_or_else(|| i64::try_from(entry.stamp.modified_ms).unwrap_or(i64::MAX), Timestamp::as_millisecond)
}

/// The notes on the page, besides its rows.
fn notes(rebuilt: Rebuilt, others: u64, more: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match others {
        0 => {}
        1 => notes.push("One folder has no row, because benchwright did not write it.".to_owned()),
        _ => notes.push(format!("{others} folders have no row, because benchwright did not write them.")),
    }
    if rebuilt.unread > 0 {
        notes.push(format!("{} folders have not been read yet; run benchwright index to read them.", rebuilt.unread));
    }
    if rebuilt.left_out > 0 {
        notes.push(format!(
            "The {} oldest folders have no row, because a page has at most {MAX_ROWS} rows.",
            rebuilt.left_out
        ));
    }
    if more {
        notes.push("There are too many folders; some were not examined.".to_owned());
    }
    notes
}

/// The rows of an existing page, by folder. Empty if there is no page, or if its format differs.
fn entries(page: &Path) -> HashMap<String, Entry> {
    let read = || -> io::Result<HashMap<String, Entry>> {
        let mut lines = BufReader::new(user_file::open_regular(page)?.take(MAX_PAGE));
        let (mut entries, mut begun) = (HashMap::new(), false);
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                return Ok(entries);
            }
            let text = line.trim_ascii_end();
            if !begun {
                begun = text == BEGIN.as_bytes();
            } else if text == END.as_bytes() {
                return Ok(entries);
            } else {
                // Every row except the last ends with a comma. Lines that are not rows are skipped: brackets and damaged lines.
                let row = text.strip_suffix(b",").unwrap_or(text);
                if let Ok(entry) = serde_json::from_slice::<Entry>(row) {
                    entries.insert(entry.folder.clone(), entry);
                }
            }
        }
    };
    // If the page cannot be read, all reports are read again.
    read().unwrap_or_default()
}

fn write(rows: &[Entry], notes: &[String], to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let style = format!("{}{STYLE}", charts::palette::style());
    let policy = crate::policy(&style, SCRIPT);
    let notes: String = notes.iter().map(|it| format!("<p>{it}</p>\n")).collect();
    let (head, tail) = FRAME.split_once("%rows%").unwrap_or((FRAME, ""));
    let head = head.replace("%policy%", &policy).replace("%notes%", &notes).replace("%release%", TOOL_VERSION);
    to.write_all(head.replace("%style%", &style).as_bytes())?;
    writeln!(to, "{BEGIN}\n[")?;
    for (index, row) in rows.iter().enumerate() {
        let comma = if index + 1 < rows.len() { "," } else { "" };
        writeln!(to, "{}{comma}", embedded(&serde_json::to_string(row)?))?;
    }
    writeln!(to, "]\n{END}")?;
    to.write_all(tail.replace("%script%", SCRIPT).as_bytes())
}

/// Escapes JSON for use within HTML, so that it can neither end the element nor break a line of JavaScript. JSON contains the escaped characters only
/// within strings.
fn embedded(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", u32::from(letter))),
            it => safe.push(it),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element_of_the_rows() {
        let hostile = r#"{"folder":"</script><script>alert(1)</script><!--&\u2028"}"#;
        let safe = embedded(hostile);
        assert!(!safe.contains(['<', '>', '&']), "{safe}");
        let (before, after): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(hostile).unwrap(), serde_json::from_str(&safe).unwrap());
        assert_eq!(before, after);
    }

    #[test]
    fn style_and_script_do_not_end_their_elements() {
        assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
        let places = ["policy", "style", "notes", "release", "rows", "script"];
        assert!(places.iter().all(|it| FRAME.matches(&format!("%{it}%")).count() == 1), "{FRAME}");
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("eval("));
    }
}
