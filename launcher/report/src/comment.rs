//! `comment.md`: the run in short, for the comment of a pull request on GitHub or GitLab.
//!
//! Texts from outside stand in `<code>`, where neither names somebody (`@name`) nor refers to something (`#1`), and each letter that
//! Markdown or HTML gives a meaning is a numeric entity. All lists are bounded, and so is the whole: GitHub refuses a comment
//! of more than 65,536 characters.

use crds::{
    Outcome,
    wording::{one_line, percent},
};

use super::{
    Report, TOOL_VERSION, accuracy, loadgen,
    markdown::cut_at_line,
    text::{
        self, has_marks, number, objective_baseline, objective_figure, objective_limit, objective_observed, optional,
        percentile, time,
    },
    uncertainty,
};
use analysis::{Analysis, Distribution, StageAnalysis};

/// The name of the file in a results folder.
pub(super) const FILE_NAME: &str = "comment.md";

/// The longest comment in bytes, and so in characters: below GitHub's limit, with room for a line before it.
const MAX_COMMENT: usize = 60_000;
/// The most rows of a table.
const MAX_ROWS: usize = 30;
/// The most reasons of the verdict.
const MAX_REASONS: usize = 10;
/// The longest text from outside, in letters.
const MAX_TEXT: usize = 200;
/// The longest remark, in letters.
const MAX_REMARK: usize = 600;

/// The text of `comment.md`.
pub fn render(report: &Report<'_>) -> String {
    let mut comment = String::new();
    head(report, &mut comment);
    objectives(report.analysis, &mut comment);
    tests(report, &mut comment);
    scores(report.analysis, &mut comment);
    stages(report.analysis, &mut comment);
    sureness(report.analysis, &mut comment);
    doubts(report.analysis, &mut comment);
    foot(report, &mut comment);
    bounded(comment)
}

fn head(report: &Report<'_>, to: &mut String) {
    let (analysis, run) = (report.analysis, report.run);
    let objectives = analysis.objectives.as_ref().map(|it| format!("; {}", it.counts())).unwrap_or_default();
    let goals = text::goals(analysis).map(|it| format!("; {}", it.text)).unwrap_or_default();
    line(to, &format!("### {}: {}{objectives}{goals}\n", code(&run.run.title()), analysis.verdict.outcome.name()));
    let (model, target, profile) = (code(&analysis.model), code(run.endpoint.name()), code(&text::profile(run)));
    let (started, duration) = (analysis.started.strftime("%Y-%m-%d %H:%M:%S UTC"), time(analysis.all.duration));
    line(to, &format!("Model {model} at {target}, profile {profile}, from {started} for {duration}.\n"));
    if analysis.verdict.outcome != Outcome::Passed {
        for reason in analysis.verdict.reasons.iter().take(MAX_REASONS) {
            let message =
                if reason.message.is_empty() { String::new() } else { format!(": {}", code(&reason.message)) };
            line(to, &format!("- **{}**{message}", reason.name));
        }
        left_out(analysis.verdict.reasons.len(), MAX_REASONS, "reasons", to);
        to.push('\n');
    }
    if analysis.partial {
        line(to, "The run was stopped before all its requests had ended.\n");
    }
}

/// What the launcher doubts of its own figures, or of the load.
fn doubts(analysis: &Analysis, to: &mut String) {
    let remarks = &analysis.judgement.remarks;
    if remarks.is_empty() {
        return;
    }
    line(to, "What is in doubt:\n");
    for remark in remarks.iter().take(MAX_REASONS) {
        line(to, &format!("- {}", shortened(remark, MAX_REMARK)));
    }
    left_out(remarks.len(), MAX_REASONS, "remarks", to);
    to.push('\n');
}

fn objectives(analysis: &Analysis, to: &mut String) {
    let Some(objectives) = &analysis.objectives else { return };
    let rows = objectives.results.iter().map(|it| {
        let [earlier, derived] = objective_baseline(it);
        let baseline = it.baseline.map(|_| format!("; baseline {earlier}, so {derived}")).unwrap_or_default();
        let limit = format!("{} {}", code(&objective_figure(it)), plain(&(objective_limit(it) + &baseline)));
        vec![code(&it.objective.name), it.met.name().into(), plain(&objective_observed(it)), limit]
    });
    table(&["objective", "met", "observed", "limit"], objectives.results.len(), rows, to);
}

fn tests(report: &Report<'_>, to: &mut String) {
    let Some(tests) = report.loadgen else { return };
    let header: Vec<&str> = std::iter::once("LoadGen test").chain(loadgen::COLUMNS).collect();
    let rows = loadgen::rows(tests)
        .map(|it| std::iter::once(code(&it.name)).chain(it.cells.iter().map(|it| plain(it))).collect::<Vec<_>>());
    table(&header, tests.tests.len(), rows, to);
}

fn scores(analysis: &Analysis, to: &mut String) {
    let Some(found) = &analysis.accuracy else { return };
    line(to, &format!("{}.\n", plain(&accuracy::headline(found))));
    let rows: Vec<Vec<String>> = accuracy::rows(found).map(|row| row.iter().map(|it| plain(it)).collect()).collect();
    table(&accuracy::COLUMNS, rows.len(), rows.into_iter(), to);
}

fn stages(analysis: &Analysis, to: &mut String) {
    let begin = to.len();
    let header = [
        "stage",
        "requests",
        "not answered",
        "requests/s",
        "output tokens/s",
        "good",
        "TTFT p50",
        "TTFT p90",
        "TTFT p99",
        "TPOT p50",
        "TPOT p90",
        "TPOT p99",
        "ITL p99",
        "latency p50",
        "latency p90",
        "latency p99",
    ];
    table(&header, analysis.stages.len(), analysis.stages.iter().map(|it| stage(it, analysis)), to);
    if has_marks(&to[begin..]) {
        line(to, &format!("`*`: {}.\n", text::LARGEST_MEANS));
    }
}

fn stage(stage: &StageAnalysis, analysis: &Analysis) -> Vec<String> {
    let it = &stage.figures;
    let of = |times: Option<Distribution<_>>| {
        let shown = |permille, pick: fn(&Distribution<_>) -> _| {
            optional(times, |it| percentile(time(pick(&it)), permille, it.count)).replace('*', "\\*")
        };
        [shown(500, |it| it.p50), shown(900, |it| it.p90), shown(990, |it| it.p99)]
    };
    let mut row = vec![
        code(&crate::profiling::stage_name(stage, analysis.profiling.as_ref())),
        it.requests.to_string(),
        (it.requests - it.succeeded.min(it.requests)).to_string(),
        optional(it.throughput, |it| number(it.requests)),
        optional(it.throughput, |it| number(it.output_tokens)),
        optional(it.goodput.and_then(|it| it.share), percent),
    ];
    let [_, _, itl] = of(it.itl);
    row.extend(of(it.ttft));
    row.extend(of(it.tpot));
    row.push(itl);
    row.extend(of(it.latency));
    row
}

fn sureness(analysis: &Analysis, to: &mut String) {
    let rows = uncertainty::rows(analysis);
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

fn foot(report: &Report<'_>, to: &mut String) {
    line(
        to,
        &format!(
            "benchwright {TOOL_VERSION}, commit {}. In the results folder: `report.html` with curves, `report.md` with all tables, `stages.csv`, `report.json`.",
            code(report.commit)
        ),
    );
}

/// A table of at most [`MAX_ROWS`] rows; none without rows.
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

/// A text from outside.
fn code(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}

/// A text on one line, not too long, of which no letter has a meaning in Markdown or HTML.
fn plain(text: &str) -> String {
    shortened(text, MAX_TEXT)
}

fn shortened(text: &str, most: usize) -> String {
    let line = one_line(text);
    let mut shown = String::new();
    for letter in line.chars().take(most) {
        match letter {
            // GitHub makes a link of what begins with www and a point.
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
