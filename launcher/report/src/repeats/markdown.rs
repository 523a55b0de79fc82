//! Writes `repeats.md`: the runs of a series and the spread between them, for people.

use crds::{objective::ObjectiveStatus, resolve::repeat_name};

use super::{
    Repeat, Series,
    rows::{self, FigureRow},
};
use crate::{
    markup::cell,
    text::{self, number, optional},
};

/// Explains the columns and the assumptions.
const FOOT: &str = "\
Each run has its own report, in the folder with its name. The interval belongs to the mean of the runs, and assumes that runs are independent
and normally distributed. The standard error within a run predicts the standard deviation between runs from the requests of single runs; it
allows for requests that depend on each other. If the deviation between runs is much larger, something differs from run to run that no
single run shows. It can also be much smaller: with the same seed, all runs send the same lengths at the same times, so only the standard
error includes what other lengths and times would change. Each formula is in docs/metrics.md of Benchwright, under Repeats.
";

/// Explains the rows about server starts.
const STARTS: &str = "\
Each run started the server again. Launch to ready is the time from the launch of the server's process until it answered. Start to ready is
the duration of the start according to the server's own log. With several replicas, both are the longest time.

";

/// Returns the text of the file.
pub fn render(series: &Series<'_>) -> String {
    let verdict = series.verdict();
    let mut page = format!("# {}, {} runs: {}\n", cell(&series.run.name), series.asked, verdict.outcome.name());
    let notes = notes(series);
    if !notes.is_empty() {
        page.push_str(&format!("\n{}\n", notes.join("\n")));
    }
    let model = series.repeats.first().map(|it| it.analysis.model.as_str()).unwrap_or_default();
    page.push_str(&format!(
        "\nModel {}. Each run has its own prompts, because its prompt salt differs.\n\n",
        cell(model)
    ));
    let headline = if series.measures_start { "launch to ready" } else { "output tokens/s" };
    page.push_str(&format!("| run | outcome | requests | failed or cancelled | {headline} | prompt salt |\n"));
    page.push_str("| --- | --- | ---: | ---: | ---: | --- |\n");
    series.repeats.iter().for_each(|it| page.push_str(&run(it, series.measures_start)));
    if let Some((counts, rows)) = series.objectives() {
        page.push_str(&format!("\n## Objectives\n\nObjectives by their worst result in any run: {counts}.\n\n"));
        page.push_str("| objective | met | observed | limit | run |\n| --- | --- | ---: | ---: | --- |\n");
        rows.iter().for_each(|it| page.push_str(&objective(it)));
    }
    let mut has_marks = false;
    for stage in rows::shown(series) {
        page.push_str(&format!("\n## Stage {}\n\n", cell(&stage.name)));
        page.push_str(
            "| figure | mean of the runs | 95 % interval | stddev between runs | standard error within a run | smallest | largest |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for it in &stage.rows {
            has_marks |= text::has_marks(&it.label());
            page.push_str(&figure(it));
        }
    }
    let marks = if has_marks { format!("`*`: {}.\n\n", text::LARGEST_MEANS) } else { String::new() };
    let starts = if series.measures_start { STARTS } else { "" };
    page + "\n" + &marks + starts + FOOT
}

/// Notes on the series, one per line.
fn notes(series: &Series<'_>) -> Vec<String> {
    let verdict = series.verdict();
    let (asked, measured) = (series.asked, series.repeats.len());
    let why = (!verdict.message.is_empty()).then(|| format!("- **{}**: {}", verdict.reason, cell(&verdict.message)));
    let partial = series.is_partial().then(|| format!("- Runs requested: {asked}; runs measured: {measured}."));
    let counting = series.repeats.iter().filter(|it| analysis::repeats::counts(&it.analysis)).count();
    let left_out = match counting {
        0 if measured > 0 => {
            Some("- **No run counts.** The means cover all measured runs, and do not count either.".to_owned())
        }
        _ if counting < measured => {
            Some("- Means and intervals leave out the runs whose figures do not count.".to_owned())
        }
        _ => None,
    };
    [why, partial, left_out].into_iter().flatten().collect()
}

fn run(it: &Repeat, measures_start: bool) -> String {
    let name = repeat_name(it.number);
    let link = if it.stored.is_some() { format!("[{name}]({name}/report.md)") } else { name };
    let all = &it.analysis.all;
    let headline = match measures_start {
        true => rows::launch_to_ready(it),
        false => optional(all.throughput, |it| number(it.output_tokens)),
    };
    let outcome = it.analysis.verdict.outcome.name();
    let failed = all.failed + all.cancelled;
    format!("| {link} | {outcome} | {} | {failed} | {headline} | {} |\n", all.requests, cell(&it.prompt_salt))
}

fn objective(it: &ObjectiveStatus) -> String {
    let observed = if it.observed.is_empty() { text::NOTHING } else { &it.observed };
    format!("| {} | {} | {observed} | {} | {} |\n", cell(&it.name), it.met.name(), it.limit, it.run)
}

fn figure(it: &FigureRow) -> String {
    let cells = [
        it.label(),
        it.text(it.mean),
        it.interval(),
        it.optional(it.spread.map(|it| it.stddev)),
        it.optional(it.standard_error),
        it.text(it.min),
        it.text(it.max),
    ];
    format!("| {} |\n", cells.join(" | "))
}
