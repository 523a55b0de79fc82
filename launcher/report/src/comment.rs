//! Writes `comment.md`: a summary of the run, for a comment on a pull request on GitHub or GitLab.
//!
//! Text from outside is in `<code>`, so that it neither mentions a user (`@name`) nor links an issue (`#1`). Each character with a meaning in
//! Markdown or HTML is written as a numeric entity. All lists and the whole comment are limited in size, because GitHub rejects comments of more than
//! 65,536 characters.

use crds::{
    Outcome,
    benchmark_run::Stat,
    wording::{one_line, percent},
};
use document::{
    Renderer, ReportDocument, Section, StageDocument, Statistics,
    answer::{Answer, Tag, TagState},
};
use figures::Figure;

use super::{
    accuracy, loadgen,
    markup::cut_at_line,
    objectives, profiling,
    text::{self, has_marks, millis, number, optional, p50, p90, p99},
    uncertainty,
};

/// The name of the file in a results folder.
pub(super) const FILE_NAME: &str = "comment.md";

/// Maximum size of the comment in bytes, and therefore in characters. A user can add a line in front of it without exceeding GitHub's limit.
const MAX_COMMENT: usize = 60_000;
/// Maximum number of rows in a table.
const MAX_ROWS: usize = 30;
/// Maximum number of reasons of the verdict.
const MAX_REASONS: usize = 10;
/// Maximum length of a text from outside, in characters.
const MAX_TEXT: usize = 200;
/// Maximum length of a remark, in characters.
const MAX_REMARK: usize = 600;

/// Returns the text of `comment.md`.
pub fn render(document: &ReportDocument) -> String {
    let mut comment = String::new();
    Section::of(document, Renderer::Comment).for_each(|it| add(it, document, &mut comment));
    bounded(comment)
}

fn add(section: Section, document: &ReportDocument, to: &mut String) {
    match section {
        Section::Head => head(document, to),
        Section::Objectives => goals(document, to),
        Section::LoadGen => tests(document, to),
        Section::Accuracy => scores(document, to),
        // A table with one row per stage.
        Section::Figures => stages(document, to),
        Section::Sureness => sureness(document, to),
        Section::Judgement => doubts(document, to),
        Section::Identity => foot(document, to),
        // Shown within other sections, or only in `report.md`.
        Section::Headline
        | Section::Search
        | Section::Profiling
        | Section::Stages
        | Section::Classes
        | Section::Steps
        | Section::Interactivity
        | Section::Cost
        | Section::Sessions
        | Section::ManagedServer
        | Section::Replicas
        | Section::Server
        | Section::Startups
        | Section::Failures
        | Section::Contamination
        | Section::Repeat => {}
    }
}

fn head(document: &ReportDocument, to: &mut String) {
    let run = &document.resolved_run;
    let answer = Answer::new(document);
    line(to, &format!("### {}\n", shortened(&answer.sentence, MAX_REMARK)));
    let goals = text::goals(document).map(|it| Tag { state: TagState::Plain, text: it.text });
    let tags: Vec<String> = answer.tags.iter().chain(&goals).map(|it| plain(&it.signed())).collect();
    line(to, &format!("{}: {}. {}\n", code(&document.run.title()), document.outcome.name(), tags.join(" · ")));
    let (model, target, profile) = (code(&document.model), code(run.endpoint.name()), code(&text::profile(run)));
    let (started, duration) =
        (document.started.strftime("%Y-%m-%d %H:%M:%S UTC"), millis(document.figures.duration_ms));
    line(to, &format!("Model {model} at {target}, profile {profile}, from {started} for {duration}.\n"));
    if document.outcome != Outcome::Passed {
        for reason in document.reasons.iter().take(MAX_REASONS) {
            let message =
                if reason.message.is_empty() { String::new() } else { format!(": {}", code(&reason.message)) };
            line(to, &format!("- **{}**{message}", plain(&reason.reason)));
        }
        left_out(document.reasons.len(), MAX_REASONS, "reasons", to);
        to.push('\n');
    }
    if document.partial {
        line(to, "The run was stopped before all its requests had ended.\n");
    }
}

/// The launcher's doubts about its own figures or about the load.
fn doubts(document: &ReportDocument, to: &mut String) {
    let remarks = &document.self_judgement.remarks;
    if remarks.is_empty() {
        return;
    }
    line(to, "Caveats:\n");
    for remark in remarks.iter().take(MAX_REASONS) {
        line(to, &format!("- {}", shortened(remark, MAX_REMARK)));
    }
    left_out(remarks.len(), MAX_REASONS, "remarks", to);
    to.push('\n');
}

fn goals(document: &ReportDocument, to: &mut String) {
    let found = objectives::rows(document);
    let rows = found.iter().map(|it| {
        let [earlier, derived] = it.baseline();
        let baseline = if it.has_baseline() { format!("; baseline {earlier}, so {derived}") } else { String::new() };
        let limit = format!("{} {}", code(&it.figure()), plain(&(it.limit() + &baseline)));
        vec![code(&it.result.name), it.result.met.name().into(), plain(&it.observed()), limit]
    });
    table(&["objective", "met", "observed", "limit"], found.len(), rows, to);
}

fn tests(document: &ReportDocument, to: &mut String) {
    let Some(tests) = &document.loadgen else { return };
    let header: Vec<&str> = std::iter::once("LoadGen test").chain(loadgen::COLUMNS).collect();
    let rows = loadgen::rows(tests)
        .map(|it| std::iter::once(code(&it.name)).chain(it.cells.iter().map(|it| plain(it))).collect::<Vec<_>>());
    table(&header, tests.tests.len(), rows, to);
}

fn scores(document: &ReportDocument, to: &mut String) {
    let Some(found) = &document.accuracy else { return };
    line(to, &format!("{}.\n", plain(&accuracy::headline(found))));
    let rows: Vec<Vec<String>> = accuracy::rows(found).map(|row| row.iter().map(|it| plain(it)).collect()).collect();
    table(&accuracy::COLUMNS, rows.len(), rows.into_iter(), to);
}

fn stages(document: &ReportDocument, to: &mut String) {
    let begin = to.len();
    let of = |figure: Figure| [Stat::P50, Stat::P90, Stat::P99].map(|it| figure.titled(it));
    let mut header = ["stage", "requests", "not answered"].map(str::to_owned).to_vec();
    header.extend([Figure::RequestsPerSecond, Figure::OutputTokensPerSecond].map(Figure::label));
    header.push(Figure::GoodputShare.label());
    header.extend([of(Figure::Ttft), of(Figure::Tpot)].into_iter().flatten());
    header.push(Figure::Itl.titled(Stat::P99));
    header.extend(of(Figure::Latency));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    table(&header, document.stages.len(), document.stages.iter().map(stage), to);
    if has_marks(&to[begin..]) {
        line(to, &format!("`*`: {}.\n", text::LARGEST_MEANS));
    }
}

fn stage(stage: &StageDocument) -> Vec<String> {
    let it = &stage.figures;
    let three = |of: &Option<Statistics>| {
        let of = of.as_ref();
        [p50(of), p90(of), p99(of)].map(|it| it.replace('*', "\\*"))
    };
    let rates = it.throughput.as_ref();
    let mut row = vec![
        code(&profiling::stage_name(stage)),
        it.requests.to_string(),
        it.requests.saturating_sub(it.succeeded).to_string(),
        optional(rates, |it| number(it.requests_per_second)),
        optional(rates, |it| number(it.output_tokens_per_second)),
        optional(it.goodput.as_ref().and_then(|it| it.goodput_share), percent),
    ];
    let [_, _, itl] = three(&it.itl_ms);
    row.extend(three(&it.ttft_ms));
    row.extend(three(&it.tpot_ms));
    row.push(itl);
    row.extend(three(&it.latency_ms));
    row
}

fn sureness(document: &ReportDocument, to: &mut String) {
    let rows = uncertainty::rows(document);
    if rows.is_empty() {
        return;
    }
    line(to, "<details><summary>95 % intervals, within this run</summary>\n");
    let shown = rows.iter().map(|row| {
        let [figure, stage, rest @ ..] = &row[..] else { return Vec::new() };
        let rest = rest.iter().map(|it| plain(it));
        [plain(figure), code(stage)].into_iter().chain(rest).collect()
    });
    table(&uncertainty::COLUMNS, rows.len(), shown, to);
    line(to, "</details>\n");
}

fn foot(document: &ReportDocument, to: &mut String) {
    line(
        to,
        &format!(
            "benchwright {}, commit {}. In the results folder: `report.html` with curves, `report.md` with all tables, `stages.csv`, `report.json`.",
            plain(&document.tool_version),
            code(&document.tool_commit)
        ),
    );
}

/// A table with at most [`MAX_ROWS`] rows; nothing if there are no rows.
fn table(header: &[&str], count: usize, rows: impl Iterator<Item = Vec<String>>, to: &mut String) {
    if count == 0 {
        return;
    }
    line(to, &format!("| {} |", header.join(" | ")));
    let alignment = header.iter().enumerate().map(|(column, _)| if column == 0 { "---" } else { "---:" });
    line(to, &format!("| {} |", alignment.collect::<Vec<_>>().join(" | ")));
    rows.take(MAX_ROWS).for_each(|row| line(to, &format!("| {} |", row.join(" | "))));
    left_out(count, MAX_ROWS, "rows", to);
    to.push('\n');
}

fn left_out(count: usize, shown: usize, what: &str, to: &mut String) {
    if count > shown {
        line(to, &format!("\n{} more {what} in `report.md`.", count - shown));
    }
}

fn line(to: &mut String, text: &str) {
    to.push_str(text);
    to.push('\n');
}

fn bounded(comment: String) -> String {
    cut_at_line(comment, MAX_COMMENT, "\nThe rest is in `report.md`.\n")
}

/// Formats text from outside as code.
fn code(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}

/// A text on one line, with a maximum length, without characters that have a meaning in Markdown or HTML.
fn plain(text: &str) -> String {
    shortened(text, MAX_TEXT)
}

fn shortened(text: &str, most: usize) -> String {
    let line = one_line(text);
    let mut shown = String::new();
    for letter in line.chars().take(most) {
        match letter {
            // GitHub makes a link of text that begins with `www.`, so this dot is escaped.
            '.' if !shown.to_ascii_lowercase().ends_with("www") => shown.push('.'),
            ' ' | '-' | ',' | '/' | '%' => shown.push(letter),
            it if it.is_ascii_punctuation() => shown.push_str(&format!("&#{};", u32::from(it))),
            it => shown.push(it),
        }
    }
    if line.chars().nth(most).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_of_a_text_from_outside_has_a_meaning() {
        let hostile = "@org/team #1 | `a` <script>alert(1)</script> [x](http://a) ![y](z) *b* _c_ \\ ~~c~~ :+1: $x$ &lt;\n\u{202e}WWW.a.b";
        let shown = code(hostile);
        let inner = shown.strip_prefix("<code>").unwrap().strip_suffix("</code>").unwrap();
        let without_entities = inner.replace("&#", "");
        for letter in "@#|`<>[]()!*_\\~:$&\n\u{202e}".chars() {
            assert!(!without_entities.contains(letter), "{letter:?} stands in {shown}");
        }
        assert!(shown.contains("&#64;org/team &#35;1 &#124; &#96;a&#96; &#60;script&#62;"), "{shown}");
        assert!(shown.contains("WWW&#46;a.b"), "{shown}");
    }

    #[test]
    fn a_comment_that_is_too_long_ends_with_a_whole_line() {
        let long = "| \u{e4}\u{e4}\u{e4}\u{e4} | 1 |\n".repeat(5_000);
        let cut = bounded(long);
        assert!(cut.len() <= MAX_COMMENT, "{}", cut.len());
        assert!(cut.ends_with("| 1 |\n\nThe rest is in `report.md`.\n"), "{}", &cut[cut.len() - 80..]);
        assert_eq!(bounded("a\n".into()), "a\n");
    }
}
