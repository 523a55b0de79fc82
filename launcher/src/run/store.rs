//! [I/O] The results folder of a run. It is created before the load, so that storage problems are reported before anything is measured, and completed
//! after the load.

use std::{
    io,
    path::{Path, PathBuf},
};

use crds::{ResolvedRun, benchmark_run::PerRequestRecords, resolve::RunIdentity};
use jiff::{Timestamp, tz::TimeZone};
use tracing::warn;
use workload_profiles::Workload;

use super::{Failure, RunOptions, free_space, search};
use crate::input::Input;
use document::{Parts, ReportDocument};
use measurement::{
    kept_run::KeptRun,
    recorder::{Keep, Records},
};
use report::{
    Attachments, ChosenBy, Folder, Inputs, StorageError, Stored, earlier_attempt, index,
    partial::{self, Leftovers},
    repeats::SeriesFolder,
    space::Planned,
};

/// Maximum number of earlier attempts to look for. It is more than any retry policy allows, and limits the effect of a wrong number in a file.
const MAX_EARLIER: usize = 100;

/// The location of a results folder: its parent folder and its name.
#[derive(Clone, Debug)]
pub(super) struct Place {
    root: PathBuf,
    name: String,
    /// Whether to update `latest` and `index.md` in the parent folder.
    local: bool,
    chosen_by: ChosenBy,
}

impl Place {
    /// Returns the place for a run's results. In a pod, the folder has the name of the attempt's Job, which is unique. A load that a person sends has
    /// the time in its folder's name, too. Elsewhere the options name the folder, or its name is `<time>-<run>`. Deletes incomplete folders that killed
    /// launchers left in this place. `None` if no folder is wanted.
    pub(super) fn new(run: &ResolvedRun, options: &RunOptions, now: Timestamp) -> Option<Place> {
        if !run.store_results || options.no_results {
            return None;
        }
        let (root, run) = (options.results(), &run.run);
        let name = if options.now {
            let time = now.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ");
            format!("{}-{time}", run.attempt_name())
        } else if options.in_pod() {
            // Only folders of this run are deleted. The claim also contains folders of other runs, whose launchers might be running on other nodes.
            let names: Vec<String> = earlier_attempts(run).map(|it| it.attempt_name()).collect();
            partial::sweep(&root, Leftovers::Named(&names));
            run.attempt_name()
        } else {
            partial::sweep(&root, Leftovers::OfThisHost);
            let time = now.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ");
            options.folder.clone().unwrap_or_else(|| format!("{time}-{}", run.name))
        };
        Some(Place { root, name, local: !options.in_pod(), chosen_by: options.results_chosen_by() })
    }

    /// The path of the results folder.
    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    /// Creates the folder of a series in this location. Returns `Ok(None)` if this fails and results are optional.
    pub(super) fn make_series(&self, run: &ResolvedRun) -> Result<Option<SeriesFolder>, Failure> {
        optional(SeriesFolder::create(&self.root, &self.name), run, self.chosen_by)
            .map_err(|error| Failure::storage(error.to_string()))
    }

    /// Returns the location for one run of a series.
    pub(super) fn of_repeat(&self, series: &SeriesFolder, number: u32) -> Place {
        Place { name: series.name_of(number), ..self.clone() }
    }
}

/// Turns a storage error into a warning if the run's results are optional. An error names the setting that defines the location.
pub(super) fn optional<T>(
    stored: Result<T, StorageError>,
    run: &ResolvedRun,
    chosen_by: ChosenBy,
) -> Result<Option<T>, StorageError> {
    match stored.map_err(|it| StorageError { chosen_by, ..it }) {
        Ok(stored) => Ok(Some(stored)),
        Err(error) if run.storage_required => Err(error),
        Err(error) => {
            warn!(%error, "the results are not kept; the figures still count, because storage.required is false");
            Ok(None)
        }
    }
}

/// A results folder that is not complete yet, or no folder.
pub(super) enum Store {
    /// There is no folder, because none is wanted, or because it is optional and could not be created.
    Off,
    /// The folder exists.
    Open { folder: Box<Folder>, root: PathBuf, local: bool, chosen_by: ChosenBy },
}

impl Store {
    /// Creates the folder, if one is wanted. Fails if the file system has no room for the reports.
    pub(super) fn prepare(input: &Input, place: Option<Place>, now: Timestamp) -> Result<Store, Failure> {
        let Some(Place { root, name, local, chosen_by }) = place else { return Ok(Store::Off) };
        let begun = Folder::create(&root, &name).and_then(|mut folder| {
            folder.mark(now)?;
            report::write_inputs(&mut folder, &input.inputs())?;
            Ok(folder)
        });
        let begun = optional(begun, &input.run, chosen_by).map_err(|error| Failure::storage(error.to_string()))?;
        let store = begun.map_or(Store::Off, |folder| Store::Open { folder: Box::new(folder), root, local, chosen_by });
        match store.check_space(planned(input, &input.workload)) {
            Ok(()) => Ok(store),
            Err(error) => {
                store.discard();
                if input.run.storage_required {
                    return Err(Failure::storage(error.to_string()));
                }
                warn!(%error, "the results are not kept; the figures still count, because storage.required is false");
                Ok(Store::Off)
            }
        }
    }

    /// Compares the free space with the size of the rows in `requests.parquet` and `measurement.bin` for the planned requests. If results are
    /// optional, too little space causes only a warning.
    pub(super) fn check_rows(
        &self,
        input: &Input,
        workload: &Workload,
        requests: u64,
        undecided_stages: u64,
    ) -> Result<(), Failure> {
        let keep = self.keep(input);
        let with_rows = keep != Keep::Summary;
        let with_token_times = keep == Keep::RecordsAndGaps;
        let planned = Planned { requests, undecided_stages, with_rows, with_token_times, ..planned(input, workload) };
        match self.check_space(planned) {
            Err(error) if input.run.storage_required => Err(Failure::storage(error.to_string())),
            Err(error) => {
                warn!(%error, "the run goes on, because storage.required is false; without space, requests.parquet and measurement.bin are left out");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn check_space(&self, planned: Planned) -> Result<(), free_space::TooLittleSpace> {
        match self {
            Store::Off => Ok(()),
            Store::Open { root, chosen_by, .. } => free_space::check(root, planned, *chosen_by),
        }
    }

    /// Whether a folder exists.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Store::Open { .. })
    }

    /// The folder in which files are written until it is complete. `None` if no folder is stored.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Store::Off => None,
            Store::Open { folder, .. } => Some(folder.path()),
        }
    }

    /// Which data to keep of each request.
    pub(super) fn keep(&self, input: &Input) -> Keep {
        match (self, input.run.per_request_records) {
            (Store::Off, _) | (_, PerRequestRecords::None) => Keep::Summary,
            // LoadGen tests have no windows, so only their records are kept.
            _ if input.workload.loadgen.is_some() => Keep::RecordsAlone,
            (_, PerRequestRecords::Full) => Keep::Records,
            (_, PerRequestRecords::FullWithTokenTimes) => Keep::RecordsAndGaps,
        }
    }

    /// Deletes the folder, because nothing was measured.
    pub(super) fn discard(self) {
        if let Store::Open { folder, .. } = self
            && let Err(error) = folder.discard()
        {
            warn!(%error, "a folder without results could not be deleted");
        }
    }

    /// Writes the report, and completes the folder. `Ok(None)` if no folder is stored.
    pub(super) fn write(
        self,
        parts: &Parts<'_>,
        document: &ReportDocument,
        attachments: Attachments<'_>,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Stored>, StorageError> {
        let Store::Open { mut folder, root, local, chosen_by } = self else { return Ok(None) };
        // A search that was stopped may go on later.
        let has_answer = document.search.as_ref().is_none_or(|it| it.stopped.is_some());
        let trials = search::end_file(folder.path(), has_answer);
        let is_there = folder.is_there();
        if !is_there {
            let path = folder.path().display();
            warn!(folder = %path, "files of the results folder were moved or deleted while the run went on: they are written again");
        }
        let records = attachments.records.filter(|it| rows_fit(folder.path(), it, attachments.kept, parts.run));
        let kept = attachments.kept.filter(|_| records.is_some());
        let attachments = Attachments { records, kept, ..attachments };
        let inputs_written = if is_there { Ok(()) } else { report::write_inputs(&mut folder, inputs) };
        let written = inputs_written
            .and_then(|()| match &trials {
                Some(trials) => folder.write(search::TRIALS_FILE, |file| file.write_all(trials)),
                None => Ok(()),
            })
            .and_then(|()| report::write_report(&mut folder, parts, document, &attachments, Some(&page_of)))
            // In a cluster, a later attempt can have to report these figures again.
            .and_then(|()| match local {
                true => Ok(()),
                false => earlier_attempt::write_message(&mut folder, &parts.run.run, parts.analysis),
            })
            .and_then(|()| folder.finish());
        let stored = optional(written, parts.run, chosen_by)?;
        if let (true, Some(stored)) = (local, &stored)
            && let Err(error) = index::add(&root, document, stored)
        {
            warn!(%error, "`latest`, `index.md` and `index.html` were not all brought up to date; the folder itself is whole");
        }
        Ok(stored)
    }
}

/// The sizes of a run's files that are known before its requests are planned.
fn planned(input: &Input, workload: &Workload) -> Planned {
    let run = &input.run;
    let to_come = u64::from(run.repeat.saturating_sub(run.run.repeat_number.unwrap_or(1))) + 1;
    Planned::new(workload, to_come)
}

/// Whether the rows of a run (`requests.parquet` and `measurement.bin`) should be written. If results are optional, rows that do not fit are omitted,
/// because the reports are complete without them. If results are required, the rows are always written. If they then do not fit, the run fails.
fn rows_fit(folder: &Path, records: &Records, kept: Option<&KeptRun>, run: &ResolvedRun) -> bool {
    if run.storage_required {
        return true;
    }
    let with_token_times = kept.is_some_and(KeptRun::has_token_times);
    let requests = records.len() as u64;
    let needed = Planned { with_rows: true, with_token_times, requests, ..Planned::default() }.bytes();
    let fit = free_space::free(folder).is_none_or(|free| needed <= free);
    if !fit {
        warn!(folder = %folder.display(), "there is no room for requests.parquet and measurement.bin, which are left out");
    }
    fit
}

fn page_of(document: &ReportDocument) -> io::Result<String> {
    page::run::render(document).map_err(io::Error::other)
}

/// Returns the attempts before this one, the latest first. Attempts never overlap, so no earlier attempt still writes to its folder.
pub(super) fn earlier_attempts(run: &RunIdentity) -> impl Iterator<Item = RunIdentity> {
    (1..run.attempt).rev().take(MAX_EARLIER).map(|attempt| RunIdentity { attempt, ..run.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_attempts_are_those_of_the_run_alone() {
        let run = |attempt| RunIdentity { attempt, ..RunIdentity::first_attempt("chat", "bench", "u") };
        assert_eq!(earlier_attempts(&run(1)).count(), 0);
        assert_eq!(earlier_attempts(&run(3)).collect::<Vec<_>>(), [run(2), run(1)]);
        assert_eq!(earlier_attempts(&run(u32::MAX)).count(), MAX_EARLIER);
    }
}
