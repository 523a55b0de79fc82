//! Writes the results of this bench: JSON for programs, Markdown for `docs/performance.md`. Pure.

use jiff::Timestamp;
use serde::Serialize;

use super::{
    figures::{Figure, Figures},
    machine::Machine,
    table,
};

/// The settings of a bench run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Settings {
    /// How many times all loads were measured.
    pub(super) runs: u32,
    /// How many times the engine and the bare client are measured in each run of a comparison, in turn.
    pub(super) repeats: u32,
    /// Whether the loads were small, so that the figures mean nothing.
    pub(super) quick: bool,
    /// The groups that were measured.
    pub(super) groups: Vec<String>,
    /// The groups that were not measured.
    pub(super) left_out: Vec<String>,
}

impl Settings {
    /// A command that repeats the measurement, without the options for output files.
    fn command(&self) -> String {
        let mut command = String::from("benchwright-bench");
        if !self.left_out.is_empty() {
            self.groups.iter().for_each(|it| command.push_str(&format!(" --only {it}")));
        }
        if self.quick {
            command.push_str(" --quick");
        }
        command + &format!(" --runs {} --repeats {}", self.runs, self.repeats)
    }
}

/// All measurements of one run of the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    pub(super) measured_at: Timestamp,
    pub(super) machine: &'a Machine,
    #[serde(flatten)]
    pub(super) settings: Settings,
    pub(super) figures: &'a [Figure],
    pub(super) notes: &'a [String],
}

impl<'a> Document<'a> {
    pub(super) fn new(
        figures: &'a Figures,
        machine: &'a Machine,
        measured_at: Timestamp,
        settings: Settings,
    ) -> Document<'a> {
        Document { measured_at, machine, settings, figures: &figures.all, notes: &figures.notes }
    }

    /// Returns the JSON, with a line break at its end.
    pub(super) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and texts have a form in JSON") + "\n"
    }

    /// Returns the Markdown.
    pub(super) fn markdown(&self) -> String {
        let Machine { cpu, cores, kernel, version, build } = self.machine;
        let day = self.measured_at.strftime("%Y-%m-%d");
        let mut text = format!(
            "# Performance\n\n\
             This page shows how much CPU time and memory the launcher itself needs, and how exact its times are. Use it to decide\n\
             whether the launcher can distort the figures of a run. Do not edit the page: `make performance` writes all of it with\n\
             `{}`.\n\n\
             Measured with benchwright {version} ({build}) on {day}: {cpu}, {cores} cores, Linux {kernel}.\n\
             Each figure is the median of {}; the spread is from the lowest to the highest run. For a comparison, each run\n\
             measures both sides in turn, {} each, and takes the mean of each side. It measures other loads once. It measures\n\
             starts and reports several times, and takes the median.\n",
            self.settings.command(),
            times(self.settings.runs, "run"),
            times(self.settings.repeats, "time"),
        );
        if !self.settings.left_out.is_empty() {
            text.push_str(&format!(
                "\n**Not measured, because `--only` selects other groups: {}.**\n",
                self.settings.left_out.join(", ")
            ));
        }
        if self.settings.quick {
            text.push_str("\n**The loads were too small for these figures to count (`--quick`).**\n");
        }
        text.push_str(HOW);
        text.push_str("\n## Figures with a floor or an aim\n\n");
        text.push_str(ASKED);
        self.table(&mut text, true);
        text.push_str("\n## Other figures\n\n");
        text.push_str(LIMITS);
        self.table(&mut text, false);
        if !self.notes.is_empty() {
            text.push_str("\n## Notes\n\n");
            self.notes.iter().for_each(|note| text.push_str(&format!("- {note}\n")));
        }
        text
    }

    fn table(&self, text: &mut String, asked: bool) {
        let header =
            if asked { "| figure | median | spread | floor | aim | |" } else { "| figure | median | spread |" };
        let columns = header.matches('|').count() - 1;
        text.push_str(&format!("{header}\n|{}\n", " --- |".repeat(columns)));
        for figure in self.figures.iter().filter(|it| it.mark.is_some() == asked) {
            let row = table::row(figure);
            text.push_str(&format!("| {} |\n", row[..columns].join(" | ")));
        }
    }
}

const HOW: &str = "
The launcher's engine is compared with a bare client (hyper and tokio), which only connects, sends requests, reads
frames and records their times. A server of this bench answers both, immediately or at an exact pace from one thread.
Client and server are two processes on one machine, each on its own core where that is possible. CPU time and memory are
only the client's. Both processes read one monotonic clock. An error is the client's time of an event minus the server's
time, for each request and token.
";

const ASKED: &str = "\
A value beyond its floor is a defect; an aim is only a goal. \"share of them held\" is the share of the requested tokens/s
that arrived. \"rate kept\" is the share of the requested rate that was sent. \"A, of that with B\" is A divided by the same
figure with B.

";

const LIMITS: &str = "\
The bare client's figures show which part of an error the machine causes, for example by waking up late. \"server behind
its pace\" shows how late the server sent its tokens.

";

fn times(count: u32, word: &str) -> String {
    if count == 1 { format!("one {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Budget;

    fn settings() -> Settings {
        let groups = vec!["streams".into(), "wave".into()];
        Settings { runs: 3, repeats: 2, quick: false, groups, left_out: Vec::new() }
    }

    fn with<T>(settings: Settings, check: impl FnOnce(&Document<'_>) -> T) -> T {
        let mut figures = Figures::default();
        for value in [1.3, 1.1, 1.2] {
            figures.add(
                "streams50.cpuRatio",
                "CPU per token, of a bare client's",
                "",
                value,
                Budget::at_most(2.0, 1.4),
            );
        }
        figures.add("streams50.cpuUs", "CPU per token", "us", 5.25, Budget::NONE);
        figures.note("this process may use a single core".into());
        let machine =
            Machine { cpu: "Fast 9000".into(), cores: 2, kernel: "6.1.0".into(), version: "1.2.3", build: "release" };
        let at = "2026-01-02T03:04:05Z".parse().unwrap();
        check(&Document::new(&figures, &machine, at, settings))
    }

    #[test]
    fn markdown_tells_machine_day_figures_and_budgets() {
        with(settings(), |document| insta::assert_snapshot!(document.markdown()));
    }

    #[test]
    fn markdown_tells_how_it_was_made_and_what_it_leaves_out() {
        let part = Settings {
            quick: true,
            runs: 1,
            repeats: 1,
            left_out: vec!["start".into(), "memory".into()],
            ..settings()
        };
        let text = with(part, |it| it.markdown());
        let command = "`benchwright-bench --only streams --only wave --quick --runs 1 --repeats 1`";
        assert!(text.contains(command) && text.contains("other groups: start, memory."), "{text}");
        assert!(!with(settings(), |it| it.markdown()).contains("--only"));
    }

    #[test]
    fn json_has_every_value_under_its_name() {
        let json: serde_json::Value = serde_json::from_str(&with(settings(), |it| it.json())).unwrap();
        let figure = &json["figures"][0];
        assert_eq!(figure["name"], "streams50.cpuRatio");
        assert_eq!(figure["values"], serde_json::json!([1.3, 1.1, 1.2]));
        assert_eq!((&figure["median"], &figure["mark"]), (&1.2.into(), &"aim".into()));
        assert_eq!(figure["floor"], serde_json::json!({"atMost": 2.0}));
        assert_eq!(json["figures"][1].get("mark"), None);
        assert_eq!((&json["repeats"], &json["leftOut"]), (&2.into(), &serde_json::json!([])));
        assert_eq!((&json["runs"], &json["machine"]["cores"]), (&3.into(), &2.into()));
    }
}
