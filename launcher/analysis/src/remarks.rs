//! Remarks: one sentence for each doubt that does not make a run invalid. A remark names a figure to read with care, and the reason. Doubts that the
//! verdict already gives as reasons are not repeated.

use std::time::Duration;

use crds::{LauncherReason, benchmark_run::Api, resolve::ResolvedRun, units::Span};
use workload_profiles::{
    Workload,
    loadgen::samples_of_benchmark,
    workload::{Load, PromptReuse, PromptText, RequestSource},
};

use super::{
    backlog::{Backlog, Queue},
    figures::{Figures, TokenCount},
    judgement::SelfJudgement,
    labels,
    stage::StageAnalysis,
    validity::{Findings, Judged, Reason, Verdict},
};
use measurement::{
    recorder::{Recorder, SetAside},
    resends::explained_resends,
};

/// Above this share of its threads' time, the launcher may limit the load.
pub const BUSY_SHARE: f64 = 0.8;
/// Above this share of reads, of time, or of CPU, the 99th percentiles no longer describe the server alone.
pub(super) const NOTED_SHARE: f64 = 0.01;
/// A stall gets a remark only if its effect exceeds this share of the percentile.
const MOVED_SHARE: f64 = 0.02;
/// Maximum number of percentiles that one remark names.
const MOST_MOVED: usize = 4;
/// Even a single stall of this length gets a remark.
const LONG_STALL: Duration = Duration::from_millis(100);
/// If the sending rate is below this share of the rate at which requests were due, the load differs from the requested one.
const RATE_SHARE: f64 = 0.95;
/// If the drain takes more than this share of a stage, it lowers the stage's rates noticeably.
const DRAIN_SHARE: f64 = 0.05;
/// Minimum number of requests in a stage for a remark on its rates.
const DRAIN_REQUESTS: u64 = 20;
/// If more than this share of the requests is in flight at the last send, the stage is too short compared with the latencies.
const UNDER_WAY_SHARE: f64 = 0.5;
/// The choice between scheduled and sent time matters if it changes a latency by more than this share.
const CLOCK_SHARE: f64 = 0.05;
/// Prompt tokens that a prefix cache can contain by chance, per prompt of the completions API: one block of vLLM's default size.
const BLOCK_TOKENS: u64 = 16;
/// Prompt tokens that a prefix cache can contain by chance, per prompt of the chat API: the text that the templates of well-known models put before
/// the first message.
const TEMPLATE_TOKENS: u64 = 128;
/// A delay of sending up to this length is normal for every launcher.
const CLOCK_FLOOR: Duration = Duration::from_millis(1);

pub(super) fn remarks(findings: &Findings<'_>, judged: &Judged) -> Vec<String> {
    let verdict = &judged.verdict;
    let Findings { all, stages, judgement, .. } = *findings;
    let unless = |reason: LauncherReason, remark: Option<String>| remark.filter(|_| !verdict.has(reason));
    [
        unless(LauncherReason::CpuSaturated, busy(judgement)),
        unless(LauncherReason::CpuThrottled, throttled(judgement)),
        unless(LauncherReason::CpuStolen, stolen(judgement)),
        unless(LauncherReason::SchedulerStalled, stalled(judgement)),
        unless(LauncherReason::SchedulerStalled, stalls_moved(judgement)),
        unless(LauncherReason::ClockStepped, stepped(judgement)),
        coarse(judgement),
        unless(LauncherReason::ReadsCoalesced, coalesced(judgement)),
        usage(all),
        set_aside(all),
        several_tokens(all, stages),
        in_one_piece(all),
        lengths(all, findings.workload, findings.run.api.unwrap_or(findings.workload.api)),
        cached(findings),
        few_samples(findings.workload),
    ]
    .into_iter()
    .flatten()
    .chain(stages.iter().zip(&judged.stages).flat_map(|(stage, reasons)| invalid(stage, reasons, verdict)))
    .chain(stages.iter().zip(&judged.stages).flat_map(|(stage, reasons)| {
        let is_told = reasons.iter().any(|it| it.name == LauncherReason::SendLagTooLarge);
        let lag = unless(LauncherReason::SendLagTooLarge, lag(stage, findings)).filter(|_| !is_told);
        let backlog = backlog(stage).or_else(|| too_short(stage));
        let drift = drift(stage).filter(|_| backlog.is_none());
        [rate(stage), drain(stage), backlog, drift, lag, permit_wait(stage, findings), clock(stage), resends(stage)]
            .into_iter()
            .flatten()
    }))
    .collect()
}

/// A remark if the tests use fewer samples than the benchmark has. LoadGen's own verdict does not check this.
fn few_samples(workload: &Workload) -> Option<String> {
    let loadgen = workload.loadgen.as_ref()?;
    let (used, benchmark) = (loadgen.qsl.total_sample_count, &loadgen.benchmark);
    let all = samples_of_benchmark(benchmark).filter(|all| used < *all)?;
    Some(format!(
        "the tests have {used} of the {all} samples of {benchmark}: this is a smoke test, which is no valid MLPerf result whatever LoadGen's verdict is"
    ))
}

/// A remark if records, or parts of records, did not fit into memory.
pub(super) fn records(recorder: &Recorder) -> Option<String> {
    let records = recorder.records.as_ref()?;
    let (kept, left_out) = (records.len() as u64, records.left_out());
    if left_out == 0 {
        let is_lost = recorder.tape.as_ref().is_some_and(|it| !it.is_whole());
        return is_lost.then(|| NO_TAPE.to_owned());
    }
    Some(format!(
        "requests.parquet holds only the first {kept} of {} requests to end, because the memory for records ran out; percentiles come from histograms, and measurement.bin is missing; give the launcher more memory, or set storage.perRequestRecords: None",
        kept.saturating_add(left_out)
    ))
}

const NO_TAPE: &str = "measurement.bin is missing, because the memory for records ran out: `benchwright analyse` cannot change the windows of \
                       this run; give the launcher more memory, or set storage.perRequestRecords: Full";

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Remarks that give the reasons of an invalid stage if the run is valid because of other stages.
fn invalid(stage: &StageAnalysis, reasons: &[Reason], verdict: &Verdict) -> Vec<String> {
    let told = reasons.iter().filter(|it| !verdict.has(it.name));
    told.map(|it| format!("stage {} is not valid: {it}; the other stages count", stage.stage.name)).collect()
}

/// A remark if rates are too low because they include fill and drain.
fn drain(stage: &StageAnalysis) -> Option<String> {
    let share = stage.drain_share.filter(|it| *it > DRAIN_SHARE && stage.figures.succeeded >= DRAIN_REQUESTS)?;
    Some(format!(
        "stage {}: its rates include the time after its last request was sent, {} of its duration, because too few requests were both sent and \
         answered before that; in a longer stage, rates cover only the time with full load",
        stage.stage.name,
        percent(share)
    ))
}

fn busy(judgement: &SelfJudgement) -> Option<String> {
    let mean = judgement.cpu_share.unwrap_or(0.0);
    let share = judgement.busiest.as_ref().map_or(mean, |it| it.share).max(mean);
    let threads = judgement.threads;
    (share > BUSY_SHARE).then(|| {
        format!(
            "the busiest of the launcher's {threads} threads was busy {:.0} % of the time: give the launcher more CPU, or expect it to limit the load",
            share * 100.0
        )
    })
}

fn throttled(judgement: &SelfJudgement) -> Option<String> {
    let share = judgement.throttled_share().filter(|share| *share > 0.0)?;
    let share = percent(share);
    Some(format!("the launcher reached its CPU limit in {share} of the periods, and was paused until the next period"))
}

fn stolen(judgement: &SelfJudgement) -> Option<String> {
    let share = judgement.steal_share.filter(|share| *share > NOTED_SHARE)?;
    Some(format!("the hypervisor gave {} of the machine's CPU time to others", percent(share)))
}

fn stalled(judgement: &SelfJudgement) -> Option<String> {
    let stalls = judgement.stalls?;
    let worth_a_word = stalls.share.is_some_and(|it| it > NOTED_SHARE) || stalls.longest > LONG_STALL;
    worth_a_word.then(|| {
        let (longest, at) = (Span(stalls.longest).rounded(), Span(stalls.longest_ended).rounded());
        let share = stalls.share.map(|it| format!(", {} of the time", percent(it))).unwrap_or_default();
        format!(
            "the launcher could not run {} times{share}, the longest for {longest}, {at} after the start",
            stalls.count
        )
    })
}

/// A remark on percentiles that stalls might have increased.
fn stalls_moved(judgement: &SelfJudgement) -> Option<String> {
    let moved: Vec<String> = judgement
        .stall_effects
        .iter()
        .filter(|it| it.added_share() > MOVED_SHARE)
        .map(|it| {
            let (added, measured) = (Span(it.added).rounded(), Span(it.measured).rounded());
            format!("{} p99 of stage {} ({measured}) by up to {added}", it.figure, it.stage)
        })
        .take(MOST_MOVED)
        .collect();
    (!moved.is_empty()).then(|| format!("stalls of the launcher made percentiles larger: {}", moved.join("; ")))
}

fn stepped(judgement: &SelfJudgement) -> Option<String> {
    let step = judgement.largest_step().filter(|it| !it.is_zero())?;
    Some(format!(
        "the clock stepped by {}, or the machine slept for that long: compare times with a server's log with care",
        Span(step).rounded()
    ))
}

fn coarse(judgement: &SelfJudgement) -> Option<String> {
    let text = "no high-resolution timer was available, so requests were sent at whole milliseconds; raise the limit of open files";
    judgement.coarse_timer.then(|| text.into())
}

fn coalesced(judgement: &SelfJudgement) -> Option<String> {
    let share = judgement.coalesced_share.filter(|share| *share > NOTED_SHARE)?;
    let late = judgement.late_share.unwrap_or(0.0);
    Some(format!(
        "{} of the reads held more than one token event, which then share one time: low percentiles of ITL are too small, high ones too large; {} of the reads were late because the launcher was busy; in the other reads, the events arrived together, or before the system woke the launcher",
        percent(share),
        percent(late)
    ))
}

fn usage(all: &Figures) -> Option<String> {
    let without = all.without_usage.saturating_sub(all.usage_set_aside);
    match all.token_count? {
        TokenCount::Server => None,
        _ if without == 0 => None,
        TokenCount::Client if without == all.succeeded => {
            Some("the server sent no usage: an event counts as one token, so OSL, TPOT, NTPOT and token rates are too small or too large where an event holds several tokens".into())
        }
        TokenCount::Client | TokenCount::Mixed => Some(format!(
            "{without} of {} answers had no usage: each of their events counts as one token",
            all.succeeded
        )),
    }
}

/// A remark if the server's usage contains impossible token counts. They are ignored.
fn set_aside(all: &Figures) -> Option<String> {
    let SetAside { told, requested: asked, events } = all.set_aside_sample?;
    let asked = asked.map(|it| format!(" where {it} were requested,")).unwrap_or_default();
    Some(format!(
        "{} of {} answers report an impossible number of output tokens, the first of them {told}{asked} in {events} events; such numbers are ignored, and each event counts as one token",
        all.usage_set_aside, all.succeeded
    ))
}

/// A remark if events contain several tokens, so that gaps between events are not gaps between tokens.
fn several_tokens(all: &Figures, stages: &[StageAnalysis]) -> Option<String> {
    let of_stages = stages.iter().filter(|it| it.figures.has_several_tokens_an_event() == Some(true));
    let most = of_stages.max_by(|a, b| {
        let tokens = |it: &StageAnalysis| it.figures.tokens_per_event.unwrap_or_default();
        tokens(a).total_cmp(&tokens(b))
    });
    let stage = most.filter(|_| stages.len() > 1);
    let stage = stage.and_then(|it| Some(format!(", {:.2} in stage {}", it.figures.tokens_per_event?, it.stage.name)));
    let (mean, _) = all.tokens_per_event.zip(most)?;
    Some(format!(
        "an event held {mean:.2} tokens on average{}: each gap between two events is divided by the tokens per gap of its request, so percentiles of ITL describe averages; TTFT is the time to the first event",
        stage.unwrap_or_default()
    ))
}

/// A remark if streaming requests got non-streamed answers, which have no first token.
fn in_one_piece(all: &Figures) -> Option<String> {
    (all.in_one_piece > 0).then(|| {
        format!(
            "{} of {} answers came in one piece although a stream was asked for: they do not count in TTFT, ITL and TPOT; check that the server, and every proxy in front of it, streams",
            all.in_one_piece, all.succeeded
        )
    })
}

fn lengths(all: &Figures, workload: &Workload, api: Api) -> Option<String> {
    let misses = [
        (all.input_length_misses, all.input_length_ratio, "a prompt length other than requested"),
        (all.output_length_misses, all.output_length_ratio, "an output length other than requested"),
    ];
    let told: Vec<String> = misses
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, ratio, what)| {
            let by =
                ratio.map(|it| format!(" ({it:.2} times the requested length, over all requests)")).unwrap_or_default();
            format!("{count} of {} requests had {what}{by}", all.succeeded)
        })
        .collect();
    let is_of_words = workload.tokenizer.is_none()
        && all.input_length_misses > 0
        && matches!(
            workload.requests,
            RequestSource::Random { text: PromptText::Words | PromptText::Prose, .. }
                | RequestSource::SharedPrefix { .. }
                | RequestSource::Conversations(_)
        );
    let has_template = api != Api::Completions && all.input_length_misses > 0;
    let of_words =
        if is_of_words { "; prompt lengths are in words: set tokenizer in the profile for exact ones" } else { "" };
    let of_template = if has_template { "; the server counts the tokens of its chat template too" } else { "" };
    (!told.is_empty()).then(|| told.join("; ") + of_words + of_template)
}

/// Share of prompt tokens that came from a prefix cache although every prompt is drawn independently. `None` if chance and the chat template explain
/// these tokens, with a tolerance of 1 % of all prompt tokens.
pub(super) fn unexplained_cached_share(all: &Figures, workload: &Workload, run: &ResolvedRun) -> Option<f64> {
    let explained = explained_tokens(all, workload, run)?;
    let found = all.cached?;
    let unexplained = found.tokens.saturating_sub(explained.saturating_mul(found.requests));
    let share = found.share * unexplained as f64 / found.tokens as f64;
    (share > NOTED_SHARE).then_some(found.share)
}

/// Number of tokens per prompt that a prefix cache can contain although every prompt is drawn independently: the chat template or one block, plus a
/// prefix that is equal by chance. `None` if requests of the load may share text.
pub(super) fn explained_tokens(all: &Figures, workload: &Workload, run: &ResolvedRun) -> Option<u64> {
    let RequestSource::Random { text, prefixes, .. } = &workload.requests else { return None };
    // Request i of each stage has the same text. Within one stage, no two requests have the same text.
    if workload.prompts == PromptReuse::Repeated && workload.stages.len() > 1 {
        return None;
    }
    let explained = match run.api.unwrap_or(workload.api) {
        Api::Completions => BLOCK_TOKENS,
        Api::Chat | Api::Responses | Api::Messages => TEMPLATE_TOKENS,
    };
    prefixes.is_empty().then(|| explained.saturating_add(alike_by_chance(text, all.requests)))
}

/// A remark if more tokens came from a prefix cache than the load explains.
fn cached(findings: &Findings<'_>) -> Option<String> {
    let share = unexplained_cached_share(findings.all, findings.workload, findings.run)?;
    let remedy = match (findings.workload.prompts, labels::has_given_salt(findings.run)) {
        (PromptReuse::Repeated, _) => {
            "an earlier run with this seed has probably sent them; set another spec.seed, or restart the server before the run"
        }
        (_, false) => {
            "another load may have sent the same prompts, or a proxy in front of the server adds the same text to the start of each"
        }
        (_, true) => "profile.promptSalt repeats the prompts of an earlier run; leave it out to send new prompts",
    };
    Some(format!(
        "{} of the prompt tokens came from the server's prefix cache, although the prompts of this load are drawn at random: TTFT and throughput describe a warm cache; {remedy}",
        percent(share)
    ))
}

/// Length in tokens of the common prefix that two of `requests` random prompts have by chance: log(requests) / log(number of ids), rounded up. For
/// prompts of words it is shorter than one block of the cache.
fn alike_by_chance(text: &PromptText, requests: u64) -> u64 {
    let PromptText::TokenIds(ids) = text else { return 0 };
    let ids = f64::from(ids.max()) - f64::from(ids.min()) + 1.0;
    // With only one id, all prompts are equal: ln(1) is 0, the quotient is infinite, and the cast converts it to the largest number.
    ((requests.max(2) as f64).ln() / ids.ln()).ceil() as u64
}

/// A remark if a load was sent more slowly than it was due. The sending rate is compared with the drawn schedule, because a random schedule differs
/// from its mean rate.
fn rate(stage: &StageAnalysis) -> Option<String> {
    let (asked, pace) = (stage.asked_rate?, stage.pace?);
    (pace < RATE_SHARE).then(|| {
        let sent = asked * pace;
        format!("stage {}: requests were sent at {sent:.4} per second; {asked} were requested", stage.stage.name)
    })
}

/// A remark if an open load arrives faster than the server can serve it.
fn backlog(stage: &StageAnalysis) -> Option<String> {
    let Queue::Grew(Backlog { sent, ended, under_way, by_littles_law }) = stage.queue? else { return None };
    Some(format!(
        "stage {}: the server did not keep up: while the second half of the load was sent, {sent} requests were sent and {ended} ended, and {under_way} were in flight when the last was sent (the latency of the first half explains {by_littles_law:.0}); TTFT and latency grow with the length of such a stage: request a lower rate to measure what the server can serve",
        stage.stage.name
    ))
}

/// A remark if most requests of an open-loop stage were in flight at its end, and the stage was too short to detect the cause.
fn too_short(stage: &StageAnalysis) -> Option<String> {
    let Queue::Unknown { sent, under_way } = stage.queue? else { return None };
    let is_most = sent >= DRAIN_REQUESTS && under_way as f64 > sent as f64 * UNDER_WAY_SHARE;
    is_most.then(|| {
        format!(
            "stage {}: too short to tell whether the server kept up: {under_way} of {sent} requests were in flight at the last send; make the stage several times longer than the latency, or lower the rate",
            stage.stage.name
        )
    })
}

/// A remark if a latency or rate of the server kept rising or falling.
fn drift(stage: &StageAnalysis) -> Option<String> {
    let drift = stage.uncertainty.as_ref().ok()?.steady_state.drift()?;
    Some(format!(
        "stage {}: no steady state, but {drift}; a longer or later stage would have other figures: warm the server up, or run longer",
        stage.stage.name
    ))
}

/// A remark if the send lag exceeds the bound in a stage with too few requests for the rule that makes runs invalid.
fn lag(stage: &StageAnalysis, findings: &Findings<'_>) -> Option<String> {
    let bound = findings.run.validity.max_send_lag_p99;
    let found = stage.figures.send_lag.map(|it| it.p99).filter(|found| *found > bound.0)?;
    let found = Span(found).rounded();
    Some(format!(
        "stage {}: the 99th percentile of the send lag is {found}, above the bound of {bound}",
        stage.stage.name
    ))
}

/// A remark if requests waited because the maximum number was in flight. Either the launcher or the server can be the cause.
fn permit_wait(stage: &StageAnalysis, findings: &Findings<'_>) -> Option<String> {
    let bound = findings.run.validity.max_send_lag_p99.0;
    let found = stage.figures.permit_wait.map(|it| it.p99).filter(|found| *found > bound)?;
    let (name, permits) = (&stage.stage.name, stage.stage.load.max_concurrency()?);
    let found = Span(found).rounded();
    Some(format!(
        "stage {name}: requests waited for a free slot (p99 {found}), because at most {permits} may be in flight; latencies from the schedule include this wait"
    ))
}

/// A remark if requests were sent again because the server closed their reused connection before it answered. A few are normal with keep-alive.
fn resends(stage: &StageAnalysis) -> Option<String> {
    let it = &stage.figures;
    let (resent, failed) = (it.retried, it.not_resent());
    if it.own_connections > 0 {
        return Some(format!(
            "stage {}: connections were not used again, because the server closes them although it announces keep-alive: {resent} of {} requests were sent again, and {} opened a new connection each; the time to connect counts in their queue time and in latencies from the schedule",
            stage.stage.name, it.requests, it.own_connections
        ));
    }
    (resent + failed > explained_resends(it.requests)).then(|| {
        let failed = if failed > 0 { format!(", and {failed} more failed,") } else { String::new() };
        format!(
            "stage {}: {resent} of {} requests were sent again{failed} because the server closed the reused connection before it answered; keep-alive explains a few of these: check the server's log and its keep-alive timeout",
            stage.stage.name, it.requests
        )
    })
}

/// A remark if latencies would be noticeably shorter when counted from sending (coordinated omission). If the load limits the requests in flight,
/// [`permit_wait`] reports this instead.
fn clock(stage: &StageAnalysis) -> Option<String> {
    let it = &stage.figures;
    let pairs = [("TTFT", it.ttft_scheduled, it.ttft_sent), ("latency", it.latency_scheduled, it.latency_sent)];
    let (name, scheduled, sent) = pairs.into_iter().find_map(|(name, scheduled, sent)| {
        let (scheduled, sent) = (scheduled?.p99, sent?.p99);
        (scheduled > sent.mul_f64(1.0 + CLOCK_SHARE) + CLOCK_FLOOR).then_some((name, scheduled, sent))
    })?;
    let open = !matches!(stage.stage.load, Load::Closed { .. });
    (open && it.permit_wait.is_none()).then(|| {
        format!(
            "stage {}: p99 of {name} is {} from the schedule and {} from sending: requests were sent late, and only the first figure includes that delay",
            stage.stage.name,
            Span(scheduled).rounded(),
            Span(sent).rounded()
        )
    })
}
