//! Writes `report.md`: the report that a person reads, or puts into a pull request.

use std::fmt::{Display, Write as _};

use analysis::{LatencyOrigin, validity::max_error_ratio};
use crds::{
    Outcome,
    benchmark_run::{self, Enforcement, ServerEngine, Stat},
    resolve::Endpoint,
    wording::percent,
};
use document::{Renderer, ReportDocument, Section, Statistics, answer::Answer};
use figures::Figure;
use files::file_digest::FileDigest;
use workload_profiles::workload::PromptReuse;

use super::{
    accuracy, failures, loadgen, managed_server,
    markup::cell,
    objectives, profiling,
    provenance::{self, TableText},
    search,
    server::table as server_table,
    startup,
    text::{
        self, excluded, goals, has_marks, latencies, lengths, millis, number, optional, p50, p99, percentile, rates,
        trust,
    },
    uncertainty,
};

/// Alignment of columns with text: left.
const TEXT: &str = "---";
/// Alignment of columns with numbers: right.
const NUMBERS: &str = "---:";

/// Returns the text of `report.md`.
pub fn render(document: &ReportDocument) -> String {
    let mut page = Page::default();
    for section in Section::of(document, Renderer::Markdown) {
        if section != Section::Head {
            page.heading(heading(section, document));
        }
        content(section, document, &mut page);
    }
    page.0
}

fn heading(section: Section, document: &ReportDocument) -> &'static str {
    match section {
        Section::Figures if document.stages.len() > 1 => "All stages together",
        other => other.title(),
    }
}

/// The content below the heading of a section.
fn content(section: Section, document: &ReportDocument, page: &mut Page) {
    match section {
        Section::Head => head(document, page),
        Section::Objectives => objectives_met(document, page),
        Section::Search => trials(document, page),
        Section::LoadGen => loadgen_tests(document, page),
        Section::Accuracy => scores(document, page),
        Section::Profiling => profile(document, page),
        Section::Stages => stages(document, page),
        Section::Classes => classes(document, page),
        Section::Figures => figures(document, page),
        Section::Steps => steps(document, page),
        Section::Interactivity => interactivity(document, page),
        Section::Cost => cost(document, page),
        Section::Sureness => sureness(document, page),
        Section::Sessions => sessions(document, page),
        Section::ManagedServer => server_of_run(document, page),
        Section::Replicas => server_replicas(document, page),
        Section::Server => servers(document, page),
        Section::Startups => startups(document, page),
        Section::Failures => failures_by_kind(document, page),
        Section::Contamination => contamination(document, page),
        Section::Judgement => judgement(document, page),
        Section::Repeat => repeat(document, page),
        // These sections are shown within other sections.
        Section::Headline | Section::Identity => {}
    }
}

/// The path of a file as a table cell.
fn path(file: &FileDigest) -> String {
    cell(&file.path.display().to_string())
}

fn head(document: &ReportDocument, page: &mut Page) {
    let run = &document.resolved_run;
    let goals = goals(document);
    let met = goals.as_ref().map(|it| format!("; {}", it.text)).unwrap_or_default();
    page.line(format_args!("# {}: {}{met}", cell(&document.run.title()), document.outcome.name()));
    page.blank();
    page.line(format_args!("{}", cell(&Answer::new(document).sentence)));
    page.blank();
    for reason in &document.reasons {
        let colon = if reason.message.is_empty() { "" } else { ": " };
        page.line(format_args!("- **{}**{colon}{}", cell(&reason.reason), cell(&reason.message)));
    }
    if goals.is_some_and(|it| it.are_few) && document.outcome == Outcome::Passed {
        page.line("- Passed means that the measurement is valid. It does not mean that the goals were met.");
    }
    if document.partial {
        page.line(
            "- The run was stopped before all its requests had ended: the figures cover only a part of the load.",
        );
    }
    page.line("- [report.html](report.html) beside this file shows the figures as curves.");
    page.blank();
    let mut rows = vec![
        ("model", cell(&document.model)),
        ("target", cell(run.endpoint.name())),
        ("harness, profile", format!("{}, {}", run.harness.name(), cell(&text::profile(run)))),
        ("started", document.started.to_string()),
        ("duration", millis(document.figures.duration_ms)),
        ("attempt", document.run.attempt.to_string()),
        ("comparability", cell(&document.labels.pairs().join(" "))),
        ("benchwright", format!("{}, commit {}", cell(&document.tool_version), cell(&document.tool_commit))),
        ("SHA-256 of profile.yaml", cell(&document.inputs.profile_sha256)),
    ];
    let files = document.inputs.files.iter().map(|it| {
        ("SHA-256 of a file", format!("{} {}", cell(it.sha256.as_deref().unwrap_or("not known:")), path(it)))
    });
    rows.extend(files);
    rows.extend(provenance::server(document).map(|it| ("server, as it reports", cell(&it))));
    rows.extend(run.hardware.as_ref().map(|it| ("hardware", cell(&provenance::hardware(it)))));
    page.table(&["", ""], TEXT, rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
}

fn objectives_met(document: &ReportDocument, page: &mut Page) {
    let Some(counts) = objectives::counts(document) else { return };
    let found = objectives::rows(document);
    let reported = match found.first().map(|it| it.enforcement) {
        Some(Enforcement::Report) => " They are reported only: the outcome does not depend on them.",
        Some(Enforcement::Fail) | None => "",
    };
    page.line(format_args!("{counts}.{reported}\n"));
    let baseline = objectives::baseline(document);
    if let Some(baseline) = &baseline {
        page.line(format_args!("Baseline: {}. The stricter one of both limits decides.\n", cell(baseline)));
    }
    let mut header = vec!["objective", "met", "figure", "observed", "limit"];
    header.extend(baseline.iter().flat_map(|_| ["baseline", "its limit"]));
    header.push("why");
    let rows = found.iter().map(|it| {
        let mut row =
            vec![cell(&it.result.name), it.result.met.name().into(), cell(&it.figure()), it.observed(), it.limit()];
        row.extend(baseline.iter().flat_map(|_| it.baseline()));
        row.push(cell(&it.result.reason));
        row
    });
    page.table(&header, TEXT, rows);
}

fn trials(document: &ReportDocument, page: &mut Page) {
    let Some(found) = &document.search else { return };
    page.table(&search::columns(found), TEXT, search::rows(found).map(|row| row.iter().map(|it| cell(it)).collect()));
    page.blank();
    search::notes(found).iter().for_each(|it| page.line(format_args!("- {}", cell(it))));
}

fn loadgen_tests(document: &ReportDocument, page: &mut Page) {
    let Some(tests) = &document.loadgen else { return };
    page.line(format_args!(
        "Benchmark {}, round {}. LoadGen-compatible: for trial runs, tuning and pre-checks; official results need MLCommons' own build.",
        cell(&tests.benchmark),
        cell(&tests.round)
    ));
    page.blank();
    let header: Vec<&str> = std::iter::once("logs in").chain(loadgen::COLUMNS).collect();
    let rows = loadgen::rows(tests);
    page.table(&header, NUMBERS, rows.map(|it| std::iter::once(it.name).chain(it.cells).map(|it| cell(&it)).collect()));
    let notes = loadgen::notes(tests);
    if !notes.is_empty() {
        page.blank();
        notes.iter().for_each(|it| page.line(format_args!("- {}", cell(it))));
    }
    if !tests.trials.is_empty() {
        page.line("\nEarlier trials, which searched the rate:\n");
        let rows = tests.trials.iter().map(|it| {
            let length = if it.full { "full" } else { "short" };
            let met = if it.met { "met" } else { "not met" };
            vec![number(it.queries_per_second), length.into(), met.into()]
        });
        page.table(&["queries/s", "length", "limits"], TEXT, rows);
    }
}

fn scores(document: &ReportDocument, page: &mut Page) {
    let Some(found) = &document.accuracy else { return };
    page.line(format_args!("{}.\n", cell(&accuracy::headline(found))));
    let rows = accuracy::rows(found).map(|row| row.iter().map(|it| cell(it)).collect());
    page.table(&accuracy::COLUMNS, NUMBERS, rows);
    let notes = accuracy::notes(found);
    if !notes.is_empty() {
        page.blank();
        notes.iter().for_each(|it| page.line(format_args!("- {}", cell(it))));
    }
}

fn figures(document: &ReportDocument, page: &mut Page) {
    if document.stages.len() > 1 {
        page.line(
            "Pauses are included. Figures over stages with different loads describe none of these loads: compare the stages.\n",
        );
    }
    let header = ["", "mean", "p50", "p90", "p95", "p99", "p99.9", "max", "count"];
    let times = latencies(document).into_iter().map(|row| distribution(cell(&row.name), row.figures, millis));
    let tokens = lengths(document).into_iter().map(|row| distribution(row.name, row.figures, number));
    page.figures(&header, times.chain(tokens));
    page.blank();
    let all = &document.figures;
    let counts = [
        ("requests due", all.requests.to_string()),
        ("succeeded", all.succeeded.to_string()),
        ("failed", all.failed.to_string()),
        ("cancelled", all.cancelled.to_string()),
        ("retried", all.retried.to_string()),
    ];
    let further = [("abandoned", all.abandoned), ("incomplete", all.incomplete)].into_iter().filter(|it| it.1 > 0);
    let further = further.chain(excluded(document)).map(|(name, count)| (name, count.to_string()));
    let counts = counts.into_iter().chain(further).map(|(name, count)| (name.to_owned(), count));
    let rows = counts.chain(rates(document)).map(|(name, value)| vec![name, value]);
    page.table(&["", ""], NUMBERS, rows);
}

fn steps(document: &ReportDocument, page: &mut Page) {
    let Some(steps) = &document.figures.steps else { return };
    page.line(
        "Times of successful requests. Queue, send, first byte, first token and tokens are consecutive steps: their means add up to the mean latency from scheduled. Build and parse are the launcher's own work in parallel: it makes a request before it is due, unless it is late, and parses bytes while the next ones are on their way.\n",
    );
    let latency: f64 = steps.named().filter(|it| it.2).map(|(_, times, _)| times.mean).sum();
    let header = ["", "mean", "p50", "p90", "p95", "p99", "p99.9", "max", "count", "share of the latency"];
    let rows = steps.named().map(|(name, times, is_part)| {
        let mut row = distribution(name.into(), times, millis);
        let share = Some(times.mean / latency).filter(|it| is_part && it.is_finite());
        row.push(optional(share, percent));
        row
    });
    page.figures(&header, rows);
}

fn distribution(name: String, it: &Statistics, show: fn(f64) -> String) -> Vec<String> {
    let marked = |value, permille| percentile(show(value), permille, it.count);
    vec![
        name,
        show(it.mean),
        marked(it.p50, 500),
        marked(it.p90, 900),
        marked(it.p95, 950),
        marked(it.p99, 990),
        marked(it.p99p9, 999),
        show(it.max),
        it.count.to_string(),
    ]
}

fn profile(document: &ReportDocument, page: &mut Page) {
    let Some(found) = &document.profiling else { return };
    let rows = profiling::rows(found);
    page.table(&["", ""], TEXT, rows.into_iter().map(|[name, value]| vec![name, cell(&value)]));
    page.blank();
    profiling::notes(found).iter().for_each(|it| page.line(format_args!("- {}", cell(it))));
}

fn stages(document: &ReportDocument, page: &mut Page) {
    // Either all stages have goodput bounds, or none has.
    let goals = document.stages.iter().any(|it| it.figures.goodput.is_some());
    let mut header =
        ["stage", "clock", "requests", "failed", "cancelled", "asked/s", "sent/s"].map(str::to_owned).to_vec();
    header.extend([Figure::RequestsPerSecond, Figure::OutputTokensPerSecond].map(Figure::label));
    let of_goals = [Figure::GoodputRequestsPerSecond, Figure::GoodputShare].map(Figure::label);
    header.extend(goals.then_some(of_goals).into_iter().flatten());
    header.extend([Figure::Ttft, Figure::Itl].iter().flat_map(|of| [Stat::P50, Stat::P99].map(|it| of.titled(it))));
    header.extend([Figure::Latency, Figure::SendLag].map(|it| it.titled(Stat::P99)));
    // The column is left out if no usage reports cached tokens.
    let cached = document.figures.cached_share.is_some();
    header.extend(cached.then(|| Figure::CachedShare.label()));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = document.stages.iter().map(|stage| {
        let it = &stage.figures;
        let (rates, goodput) = (it.throughput.as_ref(), it.goodput.as_ref());
        let (ttft, itl) = (it.ttft_ms.as_ref(), it.itl_ms.as_ref());
        let mut row = vec![
            cell(&profiling::stage_name(stage)),
            cell(&stage.clock),
            it.requests.to_string(),
            it.failed.to_string(),
            it.cancelled.to_string(),
            optional(stage.asked_requests_per_second, number),
            optional(stage.achieved_requests_per_second, number),
            optional(rates, |it| number(it.requests_per_second)),
            optional(rates, |it| number(it.output_tokens_per_second)),
        ];
        if goals {
            row.push(optional(goodput.and_then(|it| it.goodput_requests_per_second), number));
            row.push(optional(goodput.and_then(|it| it.goodput_share), percent));
        }
        row.extend([p50(ttft), p99(ttft), p50(itl), p99(itl), p99(it.latency_ms.as_ref())]);
        row.push(p99(it.send_lag_ms.as_ref()));
        row.extend(cached.then(|| optional(it.cached_share, percent)));
        row
    });
    page.figures(&header, rows);
}

fn interactivity(document: &ReportDocument, page: &mut Page) {
    let words = "Output tokens per second and user, computed in three ways. Do not compare columns with each other.\n";
    page.line(words);
    page.text_table(provenance::interactivity(document));
}

fn cost(document: &ReportDocument, page: &mut Page) {
    let Some(found) = provenance::cost(document) else { return };
    page.line("Computed from the hardware and the price that the run sets.\n");
    page.text_table(found);
}

fn contamination(document: &ReportDocument, page: &mut Page) {
    provenance::contamination(&document.contamination).iter().for_each(|it| page.line(format_args!("- {}", cell(it))));
}

fn sureness(document: &ReportDocument, page: &mut Page) {
    let rows = uncertainty::rows(document);
    if !rows.is_empty() {
        page.line("Intervals come from the variation within this run: 95 of 100 such intervals should contain the true value. Near saturation fewer do; docs/statistics.md has the counts. Another run may differ by more. Requests depend on each other, so they count as fewer effective values (independent values). A mean, a rate and p50 with fewer than 30 effective values have a wide interval. If p90 or p99 has too few, there is no interval, and the cell says how many of the needed values there are: p90 needs 30 effective values of the mean and 36 of its own, p99 needs 200 of the mean and 368 of its own. The last column is empty if the stage was not steady; the reason is below the table.\n");
        page.table(&uncertainty::COLUMNS, NUMBERS, rows.iter().map(|row| row.iter().map(|it| cell(it)).collect()));
        page.blank();
    }
    uncertainty::sentences(document).iter().for_each(|it| page.line(format_args!("- {}", cell(it))));
    if document.time_series.is_some() {
        page.line("- figures over time: timeSeries in report.json; report.html, if this folder has it, draws them");
    }
}

/// The server that was started for the run, and how it ended.
fn server_of_run(document: &ReportDocument, page: &mut Page) {
    let Some(server) = &document.managed_server else { return };
    page.line(format_args!("{}\n", managed_server::headline(server)));
    let rows = managed_server::rows(server).zip(&server.replicas).map(|(row, it)| {
        let mut cells: Vec<String> = row.iter().map(|it| cell(it)).collect();
        if let Some(end) = cells.last_mut().filter(|_| it.died) {
            *end = end.replacen(managed_server::DIED, &format!("**{}**", managed_server::DIED), 1);
        }
        cells
    });
    if !server.replicas.is_empty() {
        page.table(&managed_server::COLUMNS, TEXT, rows);
        page.blank();
    }
    for (index, it) in server.replicas.iter().enumerate() {
        let log = it.log.as_ref().map_or_else(String::new, |it| format!("; log: [{it}]({it})"));
        let note = it.log_note.as_ref().map_or_else(String::new, |it| format!(" ({})", cell(it)));
        page.line(format_args!("- replica {index}: `{}`{log}{note}", cell(&it.command.join(" "))));
        if let Some(memory) = &it.out_of_memory {
            page.line(format_args!("- replica {index}: {}", cell(memory)));
        }
        it.last_words.iter().for_each(|word| page.line(format_args!("  - last words: `{}`", cell(word))));
    }
    managed_server::notes(server).iter().for_each(|it| page.line(format_args!("- {}", cell(it))));
}

/// How requests were distributed over the replicas of a server that the operator started.
fn server_replicas(document: &ReportDocument, page: &mut Page) {
    let Some(server) = &document.server_replicas else { return };
    if let Some(why) = &server.fallback {
        page.line(format_args!("{}", cell(why)));
        return;
    }
    let how = match server.distribution {
        benchmark_run::Distribution::RoundRobin => "each request went to the next replica in turn",
        benchmark_run::Distribution::LeastOutstanding => {
            "each request went to the replica with the fewest requests in flight"
        }
    };
    page.line(format_args!("Each replica was called at its own address; {how} ({:?}).\n", server.distribution));
    let rows = server.called.iter().enumerate();
    let rows = rows.map(|(index, it)| vec![index.to_string(), cell(&it.url), it.requests.to_string()]);
    page.table(&["replica", "URL", "requests"], TEXT, rows);
}

/// What the servers reported about themselves.
fn servers(document: &ReportDocument, page: &mut Page) {
    let Some(server) = &document.server_metrics else { return };
    server_table::identities(server).iter().for_each(|it| page.line(format_args!("- {it}")));
    page.line(
        "\nGauges: the mean, and the maximum in brackets. Counters: the increase from the scrape before the stage to the scrape after it. It includes up to one scrape interval outside the stage on each side, so the last digits are not exact.\n",
    );
    page.table(&server_table::COLUMNS, NUMBERS, server_table::rows(server));
    let gpus = server_table::gpu_rows(server);
    if !gpus.is_empty() {
        page.blank();
        page.table(&server_table::GPU_COLUMNS, NUMBERS, gpus);
    }
    if server_table::has_gaps(server) {
        page.line(format_args!("\n\\* {}.", server_table::GAP_MEANS));
    }
    page.blank();
    if !server.token_comparison.is_empty() {
        let words = cell(&server.token_comparison);
        page.line(format_args!("- tokens counted by the servers and by the usage of the answers: {words}"));
    }
    if !server.remarks.is_empty() {
        server.remarks.iter().for_each(|it| page.line(format_args!("- {}", cell(it))));
    }
}

/// How the servers that the run itself started became ready.
fn startups(document: &ReportDocument, page: &mut Page) {
    page.line(
        "From the logs of the servers; docs/startup.md of Benchwright explains the steps. Steps of different processes may overlap.\n",
    );
    page.line(startup::markdown(&startup::columns(&document.startups)).trim_end());
}

fn sessions(document: &ReportDocument, page: &mut Page) {
    let Some(all) = &document.sessions else { return };
    page.line(
        "Durations, turns and tokens are of complete sessions. A turn is due when the turn before it has ended and its think time is over: no latency includes this wait. In a load of users, each turn has its own scheduled time: if the turn before it ends later, the latency includes that wait.\n",
    );
    let counts = [
        ("sessions", all.sessions.to_string()),
        ("complete", all.complete.to_string()),
        ("failed", all.failed.to_string()),
        ("cut short", all.cut_short.to_string()),
        ("partial", all.partial.to_string()),
        ("complete sessions/s", optional(all.complete_per_second, number)),
        ("turns sent without the oldest turns", all.shortened_turns.to_string()),
    ];
    page.table(&["", ""], NUMBERS, counts.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    page.blank();
    let header = ["", "mean", "p50", "p90", "p95", "p99", "p99.9", "max", "count"];
    let times = [("duration", &all.duration_ms), ("wait for the turn before", &all.hold_ms)];
    let times = times.into_iter().filter_map(|(name, it)| Some(distribution(name.into(), it.as_ref()?, millis)));
    let lengths = [("turns", &all.turns), ("prompt tokens", &all.input_tokens), ("output tokens", &all.output_tokens)];
    let lengths = lengths.into_iter().filter_map(|(name, it)| Some(distribution(name.into(), it.as_ref()?, number)));
    page.figures(&header, times.chain(lengths));
    page.blank();
    let header = [
        "turn",
        "requests",
        "succeeded",
        "TTFT p50",
        "TTFT p99",
        "latency p50",
        "latency p99",
        "prompt tokens",
        "cached",
    ];
    let rows = all.by_turn.iter().map(|it| {
        let (ttft, latency) = (it.ttft_scheduled_ms.as_ref(), it.latency_scheduled_ms.as_ref());
        vec![
            if it.and_later { format!("{} and later", it.turn) } else { it.turn.to_string() },
            it.requests.to_string(),
            it.succeeded.to_string(),
            p50(ttft),
            p99(ttft),
            p50(latency),
            p99(latency),
            optional(it.mean_input_tokens, number),
            optional(it.cached_share, percent),
        ]
    });
    page.figures(&header, rows);
}

fn classes(document: &ReportDocument, page: &mut Page) {
    let mut header = ["class", "clock", "requests", "failed"].map(str::to_owned).to_vec();
    header.extend([Figure::RequestsPerSecond, Figure::OutputTokensPerSecond].map(Figure::label));
    header.extend([Stat::P50, Stat::P99].map(|it| Figure::Ttft.titled(it)));
    header.extend([Figure::Itl, Figure::Tpot].map(|it| it.titled(Stat::P50)));
    header.push(Figure::Latency.titled(Stat::P99));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = document.classes.iter().map(|class| {
        let it = &class.figures;
        let rates = it.throughput.as_ref();
        vec![
            cell(&class.name),
            cell(&class.clock),
            it.requests.to_string(),
            it.failed.to_string(),
            optional(rates, |it| number(it.requests_per_second)),
            optional(rates, |it| number(it.output_tokens_per_second)),
            p50(it.ttft_ms.as_ref()),
            p99(it.ttft_ms.as_ref()),
            p50(it.itl_ms.as_ref()),
            p50(it.tpot_ms.as_ref()),
            p99(it.latency_ms.as_ref()),
        ]
    });
    page.figures(&header, rows);
}

fn failures_by_kind(document: &ReportDocument, page: &mut Page) {
    let rows = failures::rows(&document.figures).into_iter().map(|it| {
        let kind = it.part.map_or_else(|| it.kind.clone(), |part| format!("{}: {part}", it.kind));
        vec![kind, it.count.to_string(), cell(it.sample)]
    });
    page.table(&["kind", "count", "first message"], TEXT, rows);
}

fn judgement(document: &ReportDocument, page: &mut Page) {
    let (judgement, run) = (&document.self_judgement, &document.resolved_run);
    let bounds = &run.validity;
    let counts = [
        (
            "failed share",
            optional(document.figures.failed_share(), percent),
            max_error_ratio(run)
                .map_or_else(|| "limited by an objective".to_owned(), |it| format!("at most {}", percent(it))),
        ),
        (
            "requests that succeeded",
            document.figures.succeeded.to_string(),
            format!("at least {}", bounds.min_successful_requests),
        ),
    ];
    let own = trust(judgement).into_iter().map(|it| {
        let bound = it.bound(bounds).map_or_else(String::new, |bound| format!("at most {bound}"));
        (it.name, optional(it.found(), |it| it), bound)
    });
    page.table(
        &["", "found", "bound"],
        NUMBERS,
        counts.into_iter().chain(own).map(|(name, found, bound)| vec![name.into(), found, bound]),
    );
    page.blank();
    if document.labels.clock.contains(LatencyOrigin::Scheduled.name()) {
        page.line("For open-loop load, TTFT and latency count from the scheduled time, so a stalled server cannot hide the delay of later requests. The same figures from the time of sending are in rows of their own; the difference is how long requests waited before they were sent.");
        page.blank();
    }
    for remark in &judgement.remarks {
        page.line(format_args!("- {}", cell(remark)));
    }
    for notice in &document.notices {
        page.line(format_args!("- profile, {}: {}", cell(&notice.path), cell(&notice.message)));
    }
    if !judgement.remarks.is_empty() || !document.notices.is_empty() {
        page.blank();
    }
    page.line("Each formula is in docs/metrics.md of Benchwright.");
    if document.stages.iter().any(|it| it.labels != document.labels) {
        page.line("The stages differ in how they were measured: compare stages, not the run as a whole.");
    }
}

fn repeat(document: &ReportDocument, page: &mut Page) {
    let run = &document.resolved_run;
    let in_a_cluster = match &run.endpoint {
        // The simulated server needs no image of its own, because it is part of our image.
        Endpoint::Server(it) if it.engine != ServerEngine::Simulator => " once spec.target.server has an image",
        _ => "",
    };
    page.line(format_args!(
        "benchmarkrun.yaml of this folder repeats the run, by `benchwright run -f` or by `kubectl apply -f`{in_a_cluster}, with the same workload and schedule."
    ));
    let salt = cell(&run.prompt_salt);
    match document.labels.prompts.as_str() {
        "fresh" | "shared" => page.line(format_args!(
            "It sends the prompts of this run, because it sets profile.promptSalt {salt}. For new prompts, remove promptSalt."
        )),
        "replayed" | "repeated" if !draws_fresh_prompts(document) => page.line(format_args!(
            "Like the original tool, it sends the same prompts in every run with seed {}: a server may have them in its cache. For new prompts, set another spec.seed.", run.seed.0
        )),
        "replayed" => page.line(format_args!(
            "This run had profile.promptSalt {salt}. Every run with this salt and seed sends the same prompts, so a server may have them in its cache. For new prompts, remove promptSalt."
        )),
        _ => {}
    }
    page.line("report.json has every figure of this page and more: distributions, figures over time, server metrics, a sample of requests, and the run and its load as they were resolved. requests.parquet, if it was requested, has one row per request; server_metrics.parquet, if servers were scraped, has one row per sample.");
}

/// Whether the profile requests new prompts for every run.
fn draws_fresh_prompts(document: &ReportDocument) -> bool {
    document.workload.get("prompts").is_none_or(|it| *it == serde_json::json!(PromptReuse::Fresh))
}

/// Builds a Markdown text line by line.
#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, text: impl Display) {
        writeln!(self.0, "{text}").expect("a String takes everything");
    }

    fn blank(&mut self) {
        self.0.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.line(format_args!("\n## {text}\n"));
    }

    /// Adds a table. The first column contains text; `alignment` applies to the other columns.
    fn table(&mut self, header: &[&str], alignment: &str, rows: impl IntoIterator<Item = Vec<String>>) {
        self.row(header.iter());
        self.row(header.iter().enumerate().map(|(column, _)| if column == 0 { TEXT } else { alignment }));
        for row in rows {
            self.row(row.iter());
        }
    }

    /// Adds a table of figures. If a percentile has a mark, a legend follows.
    fn figures(&mut self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        let begin = self.0.len();
        self.table(header, NUMBERS, rows);
        if has_marks(&self.0[begin..]) {
            self.line(format_args!("\n\\* {}.", text::LARGEST_MEANS));
        }
    }

    /// Adds a table of figures that can contain texts from outside.
    fn text_table(&mut self, (header, rows): TableText) {
        let header: Vec<String> = header.iter().map(|it| cell(it)).collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        self.figures(&header, rows.into_iter().map(|row| row.iter().map(|it| cell(it)).collect()));
    }

    fn row(&mut self, cells: impl Iterator<Item = impl Display>) {
        let cells: Vec<String> = cells.map(|it| it.to_string()).collect();
        self.line(format_args!("| {} |", cells.join(" | ")));
    }
}
