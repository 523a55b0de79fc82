//! [I/O] The folder of a sweep: its file, its state, its result, and one folder per cell with the results folders of the cell's runs.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use crds::{
    Outcome,
    benchmark_sweep::{Cell, ResolvedSweep},
    resolve::repeat_name,
};
use files::{user_file, write_whole};
use jiff::tz::TimeZone;
use report::{
    REPORT_FILE_NAME,
    partial::{self, Leftovers, SUFFIX},
    report_file,
};
use sweep::{Run, SweepDocument};

use super::{
    options::SweepOptions,
    state::{Lost, State},
};
use crate::input::SweepFile;

/// The file of the sweep as the user wrote it.
const FILE: &str = "sweep.yaml";
const STATE: &str = "state.json";
/// The lock of the process that runs the sweep.
const LOCK: &str = ".lock";
/// Maximum size of the state in bytes.
const MAX_STATE_BYTES: u64 = 64 * 1024;
/// Maximum number of attempts whose folders are read. More than a spec allows, because interrupted runs leave folders, too.
const MAX_ATTEMPTS: u32 = 100;

pub(super) struct SweepFolder {
    pub(super) path: PathBuf,
    root: PathBuf,
    name: String,
    pub(super) state: State,
    #[expect(dead_code, reason = "the lock ends when the file is closed")]
    lock: File,
}

impl SweepFolder {
    /// Creates the folder of a new sweep in `root`.
    pub(super) fn create(
        root: &Path,
        file: &SweepFile,
        uid: &str,
        options: &SweepOptions,
    ) -> anyhow::Result<SweepFolder> {
        let started = clock::now();
        let time = started.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ");
        let name = report::claim_folder(root, &format!("{time}-{}", file.name))?;
        let path = root.join(&name);
        let lock = lock(&path)?;
        let state = State::new(uid, started, file.folder.clone(), &file.spec, options);
        let folder = SweepFolder { path, root: root.to_owned(), name, state, lock };
        folder.write_file(FILE, file.text.as_bytes())?;
        folder.write_state()?;
        Ok(folder)
    }

    /// Opens the folder of a sweep that was interrupted, and reads its file.
    pub(super) fn open(path: &Path) -> anyhow::Result<(SweepFolder, SweepFile)> {
        let shown = path.display();
        let not_a_sweep = || format!("{shown} is not the folder of a sweep; write the folder that contains {STATE}");
        let path = fs::canonicalize(path).with_context(not_a_sweep)?;
        let text = user_file::read_regular_text(&path.join(STATE), MAX_STATE_BYTES).with_context(not_a_sweep)?;
        let state: State = serde_json::from_str(&text)
            .with_context(|| format!("{shown}/{STATE} cannot be read; start a new sweep with -f {shown}/{FILE}"))?;
        let lock = lock(&path)?;
        let mut file = SweepFile::read(&path.join(FILE))?;
        anyhow::ensure!(
            state.has_cells_of(&file.spec),
            "{shown}/{FILE} has other cells, repeats or another order than when the sweep began; undo the change, or start a new sweep with -f: \
             only cooldownSeconds, attempts, onFailure and budgetSeconds may change"
        );
        file.folder.clone_from(&state.paths_from);
        let root = path.parent().unwrap_or(Path::new("")).to_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((SweepFolder { path, root, name, state, lock }, file))
    }

    pub(super) fn file(&self) -> PathBuf {
        self.path.join(FILE)
    }

    /// The folder that contains this folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The runs that have results. Deletes what killed runs left.
    pub(super) fn finished(&self, sweep: &ResolvedSweep) -> anyhow::Result<Vec<Run>> {
        for cell in &sweep.cells {
            let folder = self.path.join(&cell.name);
            if folder.is_dir() {
                partial::sweep(&folder, Leftovers::OfThisHost);
                self.refuse_running(&folder)?;
            }
        }
        let of_run = |number: usize, cell: &Cell, repeat: u32| {
            let lost = self.state.lost.iter().find(|it| (it.cell, it.repeat) == (number, repeat));
            match (self.read(&cell.name, repeat), lost) {
                (Some(run), lost) => {
                    let attempts = run.attempts + lost.map_or(0, |it| it.attempts);
                    Some(Run { cell: number, attempts, ..run })
                }
                (None, Some(Lost { attempts, message, .. })) => Some(Run {
                    cell: number,
                    repeat,
                    attempts: *attempts,
                    folder: None,
                    outcome: Outcome::Error,
                    message: message.clone(),
                    report: None,
                }),
                (None, None) => None,
            }
        };
        let of_cell = |(number, cell): (usize, &Cell)| {
            (1..=sweep.repeats).filter_map(|repeat| of_run(number, cell, repeat)).collect::<Vec<_>>()
        };
        Ok(sweep.cells.iter().enumerate().flat_map(of_cell).collect())
    }

    /// An orphaned run may still send its load. The sweep must not send another load beside it.
    fn refuse_running(&self, folder: &Path) -> anyhow::Result<()> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let running = entries.map(|it| it.path()).find(|it| it.to_string_lossy().ends_with(SUFFIX));
        match running {
            Some(path) => anyhow::bail!(
                "{} belongs to a run that has not ended; wait for its end, or delete the folder if no such process runs",
                path.display()
            ),
            None => Ok(()),
        }
    }

    /// Returns the name of the folder for the next attempt of a run, and creates the folder of its cell.
    pub(super) fn place(&self, cell: &str, repeat: u32) -> anyhow::Result<String> {
        let folder = self.path.join(cell);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}; free space there", folder.display()))?;
        Ok(format!("{cell}/{}", repeat_name(repeat)))
    }

    /// Reads the newest attempt of a run with valid figures. Without one, the newest attempt that was not cancelled, or else the newest. `None` if no
    /// attempt has a report.
    pub(super) fn read(&self, cell: &str, repeat: u32) -> Option<Run> {
        let name = |attempt: u32| match attempt {
            1 => format!("{cell}/{}", repeat_name(repeat)),
            _ => format!("{cell}/{}-{attempt}", repeat_name(repeat)),
        };
        let read = |folder: String| {
            let file = self.path.join(&folder).join(REPORT_FILE_NAME);
            let report = report_file::read(&file).ok()?.1;
            Some((folder, report))
        };
        // A user may have deleted some of the folders.
        let mut reports: Vec<_> = (1..=MAX_ATTEMPTS).map(name).filter_map(read).collect();
        let attempts = reports.iter().filter(|it| it.1.outcome != Outcome::Cancelled).count();
        let rank = |outcome: Outcome| (outcome.has_valid_figures(), outcome != Outcome::Cancelled);
        reports.sort_by_key(|(_, report)| (rank(report.outcome), report.started));
        let (folder, report) = reports.pop()?;
        let message = report.reasons.first().map(|it| it.message.clone()).unwrap_or_default();
        Some(Run {
            cell: 0,
            repeat,
            attempts: u32::try_from(attempts.max(1)).unwrap_or(u32::MAX),
            folder: Some(folder),
            outcome: report.outcome,
            message,
            report: Some(report),
        })
    }

    /// Writes the result, and the state.
    pub(super) fn write(&self, document: &SweepDocument) -> anyhow::Result<()> {
        let json = serde_json::to_string_pretty(document)? + "\n";
        self.write_file("sweep.json", json.as_bytes())?;
        self.write_file("sweep.md", sweep::markdown(document).as_bytes())?;
        self.write_file("sweep.html", page::sweep::render(document)?.as_bytes())?;
        self.write_state()
    }

    pub(super) fn write_state(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(&self.state)? + "\n";
        self.write_file(STATE, text.as_bytes())
    }

    fn write_file(&self, name: &str, content: &[u8]) -> anyhow::Result<()> {
        let path = self.path.join(name);
        write_whole(&path, |file| file.write_all(content))
            .map(drop)
            .with_context(|| format!("cannot write {}; free space there", path.display()))
    }
}

/// Locks the folder, so that two processes never run one sweep.
fn lock(path: &Path) -> anyhow::Result<File> {
    let name = path.join(LOCK);
    let cannot = |error: io::Error| anyhow::anyhow!("cannot write {}: {error}; allow writing there", name.display());
    let mut file = File::options().create(true).append(true).open(&name).map_err(cannot)?;
    if matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
        anyhow::bail!("another process runs the sweep in {}; wait for its end", path.display());
    }
    file.flush().map_err(cannot)?;
    Ok(file)
}
