//! What a profiler recorded, as text and table cells for `report.md`, the page and the terminal.

use analysis::Profiling;
use document::StageDocument;

use crate::text::millis;

/// The name of a stage, with a mark if a profiler affects its figures, or if its figures are not valid.
pub fn stage_name(stage: &StageDocument) -> String {
    let name = &stage.name;
    match (stage.profiled, stage.invalid.is_empty()) {
        (true, _) => format!("{name} (profiled)"),
        (false, false) => format!("{name} (not valid)"),
        (false, true) => name.clone(),
    }
}

/// What the profiler recorded, as a sentence.
pub fn headline(it: &Profiling) -> String {
    match (&it.window, it.files.len()) {
        (None, _) => "Nothing was recorded.".to_owned(),
        (Some(_), 0) => "A trace was recorded; it is not in this folder.".to_owned(),
        (Some(_), 1) => "A trace was recorded.".to_owned(),
        (Some(_), files) => format!("A trace was recorded, in {files} files."),
    }
}

/// Pairs (name, value): profiler, stage, window, duration of the calls to the server, files.
pub fn rows(it: &Profiling) -> Vec<[String; 2]> {
    let row = |name: &str, value: String| [name.to_owned(), value];
    let window = match &it.window {
        Some(window) => {
            let [from, to] = [window.from_ms, window.to_ms].map(millis);
            format!("{from} to {to} from the start of the run")
        }
        None => "-".to_owned(),
    };
    let mut rows = vec![
        row("profiler", it.kind.name().to_owned()),
        row("stage", it.stage.clone()),
        row("window", window),
        row(
            "asked for",
            format!("{} from {} after the start of the stage", millis(it.duration_ms), millis(it.start_ms)),
        ),
    ];
    rows.extend(it.start_took_ms.map(|took| row("start took", millis(took))));
    rows.extend(it.stop_took_ms.map(|took| row("stopping and writing the trace took", millis(took))));
    rows.extend(it.files.iter().map(|file| row(&file.name, size(file.bytes))));
    rows
}

/// Notes on the profile.
pub fn notes(it: &Profiling) -> Vec<String> {
    let touched = match it.stages.as_slice() {
        [] => None,
        stages => Some(format!(
            "the profiler affects the figures of stage {} and of the whole run: they decide no objective and are left out of comparisons",
            stages.join(", ")
        )),
    };
    touched.into_iter().chain(it.remarks.iter().cloned()).collect()
}

/// The size in the largest unit that gives a number of at least one.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use analysis::{ProfiledWindow, TraceFile};
    use crds::benchmark_run::ProfilerKind;

    use super::*;

    #[test]
    fn a_trace_is_told_with_its_window_and_its_files() {
        let mut found = Profiling {
            kind: ProfilerKind::Torch,
            stage: "r10".into(),
            start_ms: 1_000.0,
            duration_ms: 5_000.0,
            window: Some(ProfiledWindow { from_ms: 1_010.0, to_ms: 6_010.0 }),
            start_took_ms: Some(10.0),
            stop_took_ms: Some(61_000.0),
            stages: vec!["r10".into()],
            files: vec![TraceFile { name: "profiling/a.json".into(), bytes: 3 << 20 }],
            remarks: vec!["a note".into()],
        };
        let text = |it: &Profiling| rows(it).iter().map(|it| it.join(": ")).collect::<Vec<_>>().join("\n");
        let told = text(&found);
        for part in ["profiler: Torch", "stage: r10", "1.01s to 6.01s", "profiling/a.json: 3.0 MiB"] {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(headline(&found), "A trace was recorded.");
        assert_eq!(notes(&found).len(), 2);
        found.window = None;
        found.stages.clear();
        assert!(text(&found).contains("window: -") && notes(&found) == ["a note"]);
        assert_eq!(headline(&found), "Nothing was recorded.");
        assert_eq!(millis(f64::NAN), "-");
    }
}
