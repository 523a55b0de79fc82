//! Whether the launcher stayed within its bounds, and the most important caveats.

use crds::{LauncherReason, Word as _, wording::one_line};
use document::ReportDocument;

use super::lines::{indented, sentence};
use crate::{
    paint::{Paint, Style},
    text::{self, BUSIEST_THREAD, SEND_LAG, shortened},
};

/// Maximum number of caveats that are shown; `report.md` has all.
const MOST_NOTES: usize = 5;
/// Maximum number of lines in a caveat.
const NOTE_LINES: usize = 2;
/// The measurements that are shown if the launcher stayed within all bounds, with the names to show.
const BRIEF: [(&str, &str); 2] = [(SEND_LAG, SEND_LAG), (BUSIEST_THREAD, "CPU")];
/// Reasons that concern the launcher instead of the server.
const OWN_REASONS: [LauncherReason; 9] = [
    LauncherReason::SendLagTooLarge,
    LauncherReason::ReceiveDelayTooLarge,
    LauncherReason::ReadsCoalesced,
    LauncherReason::CpuSaturated,
    LauncherReason::CpuThrottled,
    LauncherReason::CpuStolen,
    LauncherReason::SchedulerStalled,
    LauncherReason::ClockStepped,
    LauncherReason::EventsDropped,
];

pub(super) fn lines(document: &ReportDocument, paint: Paint) -> String {
    std::iter::once(health(document, paint)).chain(notes(document, paint)).collect::<Vec<_>>().join("\n")
}

fn health(document: &ReportDocument, paint: Paint) -> String {
    let bounds = &document.resolved_run.validity;
    let measured = text::trust(&document.self_judgement);
    let exceeded = measured.iter().filter(|it| it.is_exceeded(bounds));
    let exceeded = exceeded.filter_map(|it| Some(format!("{} {}, above {}", it.name, it.found()?, it.bound(bounds)?)));
    let faults: Vec<String> = exceeded.chain(faults_of_stages(document)).collect();
    if !faults.is_empty() {
        return sentence("launcher not healthy", Style::Red, &format!(": {}", faults.join("; ")), paint);
    }
    let brief = |(name, shown): (&str, &str)| {
        let it = measured.iter().find(|it| it.name == name)?;
        Some(format!("{shown} {} of {}", it.found()?, it.bound(bounds)?))
    };
    let shown: Vec<String> = BRIEF.into_iter().filter_map(brief).collect();
    if shown.is_empty() {
        return "launcher not measured".to_owned();
    }
    sentence("launcher healthy", Style::Green, &format!(": {}", shown.join(", ")), paint)
}

/// Stages that are invalid because of the launcher, each with its reason.
fn faults_of_stages(document: &ReportDocument) -> impl Iterator<Item = String> {
    document.stages.iter().flat_map(|stage| {
        let names = stage.invalid.iter().filter_map(|it| LauncherReason::named(it.split(':').next()?));
        let own = names.filter(|it| OWN_REASONS.contains(it));
        own.map(|it| format!("{it} in stage {}", shortened(&stage.name)))
    })
}

/// The first caveats, and the number of caveats that are left out.
fn notes(document: &ReportDocument, paint: Paint) -> Vec<String> {
    let servers = document.server_metrics.iter().flat_map(|it| &it.remarks);
    let remarks: Vec<&String> = document.self_judgement.remarks.iter().chain(servers).collect();
    let shown = remarks.iter().take(MOST_NOTES).map(|it| {
        let text = indented(&format!("note: {}", one_line(it)), NOTE_LINES);
        paint.apply(Style::Yellow, "note:") + text.trim_start_matches("note:")
    });
    let more = remarks.len().saturating_sub(MOST_NOTES);
    shown.chain((more > 0).then(|| format!("and {more} more in report.md"))).collect()
}
