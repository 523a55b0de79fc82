//! [I/O] The trials of a search on disk, from which a later search goes on. The file is replaced when a trial begins, when it is evaluated and when it
//! ends, so that it is complete even if the launcher is killed.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use analysis::search::{SearchTrial, TrialResult};
use crds::{hex, resolve::ResolvedRun};
use report::{earlier_attempt, partial};
use search::{Counts, Plan, Role, Trial, Verdict};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tracing::{info, warn};
use workload_profiles::Workload;

use super::{Failure, objectives::SearchObjective};
use crate::run::{RunOptions, store};

/// The name of the file in the results folder. It exists until the search has an answer.
pub(in crate::run) const FILE: &str = "search-trials.json";
/// The format of the file. A search does not go on from a file with another format.
const FORMAT: u32 = 1;
/// Maximum size of the file, in bytes. A trial takes less than 10 kB.
const MOST_BYTES: u64 = 4 << 20;
/// The condition that a cluster does not compare: the operator may start a new server for each attempt, at another address.
const TARGET: &str = "target";

/// What must be the same in all parts of a search, by the field that a user knows.
pub(super) type Conditions = BTreeMap<String, String>;

/// A finished trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedTrial {
    pub(super) trial: Trial,
    /// The trial as the report shows it.
    pub(super) shown: SearchTrial,
}

/// The trial in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrialInProgress {
    pub(super) stage: String,
    pub(super) plan: Plan,
    /// The time since its start, at its last evaluation.
    pub(super) seconds: f64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    format: u32,
    run_uid: String,
    conditions: Conditions,
    trials: Vec<SavedTrial>,
    in_progress: Option<TrialInProgress>,
}

/// The trials of an earlier search, with which this search goes on.
#[derive(Debug, Default)]
pub(in crate::run) struct Earlier {
    pub(super) trials: Vec<SavedTrial>,
    /// The folder that contains them. Empty if there are no trials.
    pub(super) folder: String,
}

/// Writes the trials of a search.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    run_uid: String,
    conditions: Conditions,
    has_failed: AtomicBool,
}

impl Ledger {
    pub(super) fn new(folder: &Path, run: &ResolvedRun, conditions: Conditions) -> Ledger {
        let (path, run_uid) = (folder.join(FILE), run.run.uid.clone());
        Ledger { path, run_uid, conditions, has_failed: AtomicBool::new(false) }
    }

    /// Replaces the file. If this fails, the search goes on, because only a later search needs the file.
    pub(super) fn write(&self, trials: Vec<SavedTrial>, in_progress: Option<TrialInProgress>) {
        let (run_uid, conditions) = (self.run_uid.clone(), self.conditions.clone());
        let saved = Saved { format: FORMAT, run_uid, conditions, trials, in_progress };
        let written = serde_json::to_vec(&saved)
            .map_err(io::Error::other)
            .and_then(|bytes| files::write_whole(&self.path, |file| file.write_all(&bytes)));
        if let Err(error) = written
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            warn!(path = %self.path.display(), %error, "the trials are not saved, so no later search can go on from them");
        }
    }
}

/// Returns the conditions of a search.
pub(super) fn conditions(run: &ResolvedRun, workload: &Workload, objectives: &[SearchObjective]) -> Conditions {
    let digest = |value: serde_json::Result<Vec<u8>>| {
        // Only two digests of the same kind are compared, so a value that cannot be encoded equals itself.
        hex(&Sha256::digest(value.unwrap_or_default())[..8])
    };
    let search = run.search.as_ref().map(serde_json::to_value).and_then(Result::ok).unwrap_or_default();
    let settings = search.as_object().into_iter().flatten();
    // The least answer that passes does not change the search.
    let settings =
        settings.filter(|it| it.0 != "atLeast").map(|(key, value)| (format!("search.{key}"), value.to_string()));
    let objectives = objectives.iter().map(|it| (format!("objective {}", it.name), format!("{it:?}")));
    let digests = [
        (TARGET.to_owned(), digest(serde_json::to_vec(&run.endpoint))),
        ("profile".to_owned(), digest(serde_json::to_vec(workload))),
    ];
    settings.chain(objectives).chain(digests).collect()
}

/// Finds the trials of an earlier search: those in the folder that the command line names, or in a pod those of an earlier attempt of the run.
///
/// # Errors
/// The command line names a folder from which this search cannot go on.
pub(super) fn find(
    run: &ResolvedRun,
    options: &RunOptions,
    wanted: &Conditions,
    objectives: usize,
) -> Result<Earlier, Failure> {
    if let Some(folder) = options.local.search.as_ref().and_then(|it| it.resume.as_ref()) {
        let refused = |why: String| Failure::configuration(format!("--resume: {}: {why}", folder.display()));
        let (folder, saved) = read_local(folder).map_err(|error| refused(error.to_string()))?;
        if let Some(differs) = difference(&saved.conditions, wanted, |_| true) {
            return Err(refused(format!("{differs}; take the settings of the earlier search, or start a new one")));
        }
        if saved.trials.is_empty() {
            return Err(refused("no trial had ended; start a new search".to_owned()));
        }
        return Ok(Earlier { trials: saved.finished(objectives), folder: folder.display().to_string() });
    }
    if !options.in_pod() || options.now || !run.store_results || options.no_results {
        return Ok(Earlier::default());
    }
    let folders = store::earlier_attempts(&run.run).flat_map(|it| {
        let name = it.attempt_name();
        [format!("{name}{}", partial::SUFFIX), name]
    });
    let found =
        folders.filter_map(|folder| Some((read_attempt(&options.results(), &folder, run, wanted)?, folder))).next();
    Ok(found.map_or_else(Earlier::default, |(saved, folder)| {
        info!(folder, trials = saved.trials.len(), "the search goes on from the trials of an earlier attempt");
        Earlier { trials: saved.finished(objectives), folder }
    }))
}

/// Reads the file in a folder. The folder of a search that was killed has a suffix, which a user may leave out.
fn read_local(folder: &Path) -> io::Result<(PathBuf, Saved)> {
    let mut partial = folder.as_os_str().to_owned();
    partial.push(partial::SUFFIX);
    let folders = [folder.to_owned(), partial.into()];
    let there = folders.into_iter().find(|it| it.join(FILE).is_file());
    let there = there.ok_or_else(|| {
        let why = format!("it has no {FILE}: it is no folder of a search, or the search has an answer");
        io::Error::new(io::ErrorKind::NotFound, why)
    })?;
    let bytes = files::user_file::read_regular(&there.join(FILE), MOST_BYTES)?;
    Ok((there, parse(&bytes)?))
}

fn read_attempt(root: &Path, folder: &str, run: &ResolvedRun, wanted: &Conditions) -> Option<Saved> {
    let read = earlier_attempt::file_of(root, folder, FILE, MOST_BYTES).and_then(|bytes| {
        let saved = parse(&bytes)?;
        let differs = difference(&saved.conditions, wanted, |it| it != TARGET);
        match differs {
            _ if saved.run_uid != run.run.uid => Err(io::Error::other("it belongs to another run")),
            Some(differs) => Err(io::Error::other(differs)),
            None => Ok(saved),
        }
    });
    match read {
        Ok(saved) => Some(saved).filter(|it| !it.trials.is_empty()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            warn!(folder, %error, "the trials of an earlier attempt cannot be used");
            None
        }
    }
}

fn parse(bytes: &[u8]) -> io::Result<Saved> {
    let saved: Saved = serde_json::from_slice(bytes).map_err(io::Error::other)?;
    let is_sound =
        |it: &Trial| [it.load, it.seconds, it.belief].iter().all(|it| it.is_finite() && *it >= 0.0) && it.load > 0.0;
    let is_sound_plan = |it: &Saved| {
        let plan = it.in_progress.as_ref().map(|it| &it.plan);
        plan.is_none_or(|it| it.load.is_finite() && it.load > 0.0 && it.seconds.is_finite() && it.seconds >= 0.0)
    };
    match saved.format {
        FORMAT if saved.trials.iter().all(|it| is_sound(&it.trial)) && is_sound_plan(&saved) => Ok(saved),
        FORMAT => Err(io::Error::other(format!("{FILE} is damaged"))),
        other => Err(io::Error::other(format!("{FILE} has format {other}, and this release reads format {FORMAT}"))),
    }
}

/// The first difference between the conditions of two searches, among those that `counts`.
fn difference(earlier: &Conditions, now: &Conditions, counts: impl Fn(&str) -> bool) -> Option<String> {
    let keys = earlier.keys().chain(now.keys()).filter(|it| counts(it));
    let differs = keys.into_iter().find(|it| earlier.get(*it) != now.get(*it))?;
    let text = |it: &Conditions| it.get(differs).cloned().unwrap_or_else(|| "absent".to_owned());
    Some(match differs.strip_prefix("search.") {
        Some(field) => format!("the setting {field} of the search was {}, and is {}", text(earlier), text(now)),
        None => format!("the {differs} is not the same"),
    })
}

impl Saved {
    /// Returns the finished trials. A confirmation that was cut off counts as undecided, because its share of the risk is spent. Another trial that was
    /// cut off is left out, because it spends no risk.
    fn finished(self, objectives: usize) -> Vec<SavedTrial> {
        let Saved { mut trials, in_progress, .. } = self;
        trials.iter_mut().for_each(|it| it.shown.resumed = true);
        let cut = in_progress.filter(|it| it.plan.role == Role::Confirm);
        trials.extend(cut.map(|TrialInProgress { stage, plan, seconds }| {
            let (role, load, belief) = (plan.role, plan.load, 0.5);
            let counts = vec![Counts::default(); objectives];
            SavedTrial {
                trial: Trial { role, load, seconds, verdict: Verdict::Undecided, belief, counts },
                shown: SearchTrial {
                    stage,
                    role,
                    load,
                    seconds,
                    requests: 0,
                    verdict: TrialResult::Undecided,
                    belief,
                    resumed: true,
                    objectives: Vec::new(),
                },
            }
        }));
        trials
    }
}

/// Deletes the file in a results folder, because the search has an answer. Returns its content if the search has none.
pub(in crate::run) fn end(folder: &Path, has_answer: bool) -> Option<Vec<u8>> {
    let path = folder.join(FILE);
    if !has_answer {
        return fs::read(path).ok();
    }
    if let Err(error) = fs::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        warn!(path = %path.display(), %error, "the trials of a finished search were not deleted");
    }
    None
}

#[cfg(test)]
mod tests {
    use crds::resolve::{RunIdentity, Settings, resolve};
    use serde_json::json;

    use super::*;
    use crate::input::{LocalOptions, SearchOptions};

    fn run(uid: &str, attempt: u32) -> ResolvedRun {
        let spec = "{target: {url: 'http://h:1'}, search: {}, slo: {objectives: [{name: l, metric: latency, stat: p90, max: 2s}]}}";
        let spec = serde_saphyr::from_str(spec).unwrap();
        let identity = RunIdentity { attempt, ..RunIdentity::first_attempt("chat", "bench", uid) };
        resolve(identity, &spec, &Settings::default()).unwrap()
    }

    fn conditions(risk: &str, target: &str) -> Conditions {
        let all = [("search.risk", risk), ("target", target), ("objective l", "p90")];
        all.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    fn trial(role: Role, verdict: Verdict) -> SavedTrial {
        let trial = Trial { role, load: 4.0, seconds: 50.0, verdict, belief: 0.9, counts: Vec::new() };
        let shown = json!({
            "stage": "02-grow-r4", "role": role, "load": 4.0, "seconds": 50.0, "requests": 9, "verdict": verdict, "belief": 0.9,
            "objectives": [],
        });
        SavedTrial { trial, shown: serde_json::from_value(shown).unwrap() }
    }

    fn in_progress(role: Role) -> Option<TrialInProgress> {
        let plan = Plan { role, load: 8.0, seconds: 900.0, risk: 0.035, climbing: false, carried: Vec::new() };
        Some(TrialInProgress { stage: "05-x-r8".to_owned(), plan, seconds: 150.0 })
    }

    /// Writes a file with a grown trial and this trial in progress.
    fn write(folder: &Path, run: &ResolvedRun, conditions: Conditions, in_progress: Option<TrialInProgress>) {
        fs::create_dir_all(folder).unwrap();
        Ledger::new(folder, run, conditions).write(vec![trial(Role::Grow, Verdict::Passed)], in_progress);
    }

    fn resume(folder: &Path, conditions: &Conditions) -> Result<Earlier, String> {
        let search = SearchOptions { resume: Some(folder.to_owned()), ..SearchOptions::default() };
        let local = LocalOptions { search: Some(search), ..LocalOptions::default() };
        let options = RunOptions { local, ..RunOptions::default() };
        find(&run("u", 1), &options, conditions, 2).map_err(|it| it.message)
    }

    #[test]
    fn a_confirmation_that_was_cut_off_spends_its_share_of_the_risk() {
        let root = tempfile::tempdir().unwrap();
        let wanted = conditions("0.05", "a");
        for (role, count) in [(Role::Confirm, 2), (Role::Grow, 1), (Role::FromAbove, 1)] {
            let folder = root.path().join(format!("{role:?}"));
            write(&folder, &run("u", 1), wanted.clone(), in_progress(role));
            let trials = resume(&folder, &wanted).unwrap().trials;
            assert_eq!(trials.len(), count, "{role:?}");
            assert!(trials.iter().all(|it| it.shown.resumed));
            if let Some(cut) = trials.get(1) {
                let expected = (Role::Confirm, 8.0, 150.0, Verdict::Undecided, vec![Counts::default(); 2]);
                let Trial { role, load, seconds, verdict, ref counts, .. } = cut.trial;
                assert_eq!((role, load, seconds, verdict, counts.clone()), expected);
            }
        }
    }

    #[test]
    fn a_search_with_other_settings_is_refused_with_the_difference() {
        let root = tempfile::tempdir().unwrap();
        let (folder, earlier) = (root.path().join("chat"), conditions("0.05", "a"));
        // The folder of a killed search has a suffix.
        write(&root.path().join("chat.partial"), &run("u", 1), earlier.clone(), None);
        assert_eq!(resume(&folder, &earlier).unwrap().trials.len(), 1);
        let refused = |now: &Conditions| resume(&folder, now).unwrap_err();
        let text = refused(&conditions("0.01", "a"));
        assert!(
            text.starts_with("--resume: ") && text.contains("the setting risk of the search was 0.05, and is 0.01"),
            "{text}"
        );
        assert!(refused(&conditions("0.05", "b")).contains("the target is not the same"));
        let text = resume(&root.path().join("other"), &earlier).unwrap_err();
        assert!(text.contains("it has no search-trials.json"), "{text}");
        fs::write(root.path().join("chat.partial").join(FILE), "{").unwrap();
        assert!(refused(&earlier).starts_with("--resume: "));
    }

    #[test]
    fn a_retry_goes_on_from_the_latest_attempt_of_its_run_only() {
        let root = tempfile::tempdir().unwrap();
        let wanted = conditions("0.05", "a");
        let folder = |attempt: u32, suffix: &str| root.path().join(run("u", attempt).run.attempt_name() + suffix);
        let find = |attempt: u32| {
            let options = RunOptions { results: Some(root.path().to_owned()), ..RunOptions::default() };
            // Each attempt may have a server of its own, at another address.
            let found = find(&run("u", attempt), &options, &conditions("0.05", "b"), 2);
            found.map(|it| (it.trials.len(), it.folder)).unwrap_or_else(|it| panic!("{}", it.message))
        };
        assert_eq!(find(2), (0, String::new()));
        write(&folder(1, ".partial"), &run("u", 1), wanted.clone(), None);
        let name = run("u", 1).run.attempt_name();
        assert_eq!(find(2), (1, format!("{name}.partial")));
        assert_eq!(find(1), (0, String::new()), "the first attempt begins anew");
        // A file of another run in the folder of an attempt is not used.
        write(&folder(2, ""), &run("other", 2), wanted.clone(), None);
        assert_eq!(find(3), (1, format!("{name}.partial")));
        write(&folder(2, ""), &run("u", 2), wanted, in_progress(Role::Confirm));
        assert_eq!(find(3), (2, run("u", 2).run.attempt_name()));
    }

    #[test]
    fn the_file_is_gone_when_the_search_has_an_answer() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &run("u", 1), conditions("0.05", "a"), None);
        assert!(end(root.path(), false).is_some_and(|it| it.starts_with(b"{")));
        assert_eq!(end(root.path(), true), None);
        assert!(!root.path().join(FILE).exists());
        assert_eq!(end(root.path(), true), None, "a run without a search has no such file");
    }
}
