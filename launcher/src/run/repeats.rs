//! [I/O] Runs the same load several times, one run after the other, and computes the spread between the runs.

use crds::{
    ExitCode, Outcome,
    resolve::{RunIdentity, repeat_name},
};
use tracing::{info, warn};
use workload_profiles::workload::Work;

use super::{
    Failure,
    measured::{Measurement, print_table},
    order::Order,
    outcome,
    process::Process,
    retention,
    store::{self, Place},
    termination_message::leave_message,
    upload::{self, Destination},
};
use crate::{bucket::Bucket, console, input::Input};
use engine::stop::{StopReason, StopState};
use report::{
    Stored, index, junit,
    repeats::{self, Ending, Repeat, Series, SeriesFolder},
};

/// The file of a series that is uploaded last. A folder without it is incomplete.
const SERIES_FILE: &str = "repeats.json";

/// The finished runs of a series.
#[derive(Default)]
struct Done {
    repeats: Vec<Repeat>,
    /// The reason why the series ended early. A failure also has an exit code.
    ended_by: Option<(Ending, Option<ExitCode>)>,
}

/// Runs the load as often as the input requests, and returns the exit code. A failed or stopped run is the last one.
pub(super) fn run(order: &Order<'_>) -> u8 {
    let Order { input, options, .. } = *order;
    let begun = Process::start(input, options).and_then(|process| {
        let destination = Destination::prepare(&input.run, options, &process.resolver, &process.stop)?;
        let place = Place::new(&input.run, options, clock::now()).filter(|_| destination.keeps_results());
        let folder = match &place {
            Some(place) => place.make_series(&input.run)?,
            None => None,
        };
        Ok((process, destination, place.zip(folder)))
    });
    let (mut done, destination, folder) = match begun {
        Ok((process, destination, folder)) => {
            (all(order, &process, folder.as_ref()), destination, folder.map(|it| it.1))
        }
        Err(failure) => {
            let mut done = Done::default();
            done.fail(1, failure);
            (done, Destination::Here, None)
        }
    };
    let mut stored = folder.and_then(|it| keep(it, &mut done, order));
    if let Some(stored) = stored.as_ref().filter(|_| !order.options.in_pod())
        && let Some(root) = stored.path.parent()
        && let Err(error) = index::link_latest(root, &stored.name)
    {
        warn!(%error, "`latest` was not updated: it still points to the last run of the series");
    }
    let mut place = stored.as_ref().map(|it| it.path.display().to_string());
    if let (Some(bucket), Some(folder)) = (destination.bucket(), &stored) {
        place = done.upload(bucket, folder, order);
        stored = stored.filter(|_| place.is_some());
    }
    let deleted = retention::apply(&input.run, options, stored.as_ref());
    let series = done.series(order);
    leave_message(options, || {
        let mut envelope = repeats::envelope(&series, stored.as_ref());
        envelope.core.deleted_folders = deleted.len().try_into().unwrap_or(u32::MAX);
        envelope
    });
    print_spread(&series, place.as_deref(), &retention::line(&deleted));
    print_missing(&series);
    let failed = done.ended_by.as_ref().and_then(|it| it.1);
    outcome::exit_status_of(series.verdict().outcome, failed, options.gate)
}

/// Starts runs until one of them ends the series.
fn all(order: &Order<'_>, process: &Process, folder: Option<&(Place, SeriesFolder)>) -> Done {
    let mut done = Done::default();
    let asked = order.input.run.repeat;
    for number in 1..=asked {
        if let Some(failure) = stopped_between(process) {
            done.fail(number, failure);
            break;
        }
        if order.input.workload.work == Work::Startup {
            process.servers.renew();
        }
        info!(run = repeat_name(number), of = asked, "a run of the series begins");
        let input = repeated(order.input, number);
        let place = folder.map(|(place, series)| place.of_repeat(series, number));
        let measured = Order { input: &input, ..*order }.measure(process, place, clock::now());
        match measured {
            Ok(measurement) => done.add(number, &input, measurement),
            Err(mut failure) => {
                if let Some(measurement) = failure.take_measured() {
                    done.add(number, &input, measurement);
                }
                done.fail(number, failure);
            }
        }
        // The run was complete before the stop, but the stop prevents the next run.
        if process.stop.state() != StopState::Run {
            done.end_with_stopped();
        }
        if done.ended_by.is_some() {
            break;
        }
    }
    done
}

/// Returns why no further run can start. `None` if nothing has stopped the series.
fn stopped_between(process: &Process) -> Option<Failure> {
    match process.stop.state() {
        StopState::Run => None,
        StopState::Drain(StopReason::Signal) | StopState::Abort(StopReason::Signal) => Some(Failure::cancelled()),
        StopState::Drain(StopReason::TargetLost) | StopState::Abort(StopReason::TargetLost) => {
            let before = process.servers.death().map_or("the target stopped answering".to_owned(), |it| it.headline());
            Some(Failure::target(format!("not started: in the run before it, {before}")))
        }
        StopState::Drain(_) | StopState::Abort(_) => Some(Failure::deadline_before()),
    }
}

/// Returns the input of the next run: the same load with new prompts. The seed is also new, unless the user chose one.
fn repeated(input: &Input, number: u32) -> Input {
    let mut input = input.clone();
    if !input.run.fixed_seed {
        input.run.seed = input.run.seed.of_repeat(number);
    }
    input.run.run = RunIdentity { repeat_number: Some(number), ..input.run.run };
    input.run.prompt_salt = input.run.run.prompt_salt();
    input
}

impl Done {
    fn add(&mut self, number: u32, input: &Input, measurement: Measurement) {
        print_table(&measurement, &format!("run {} of {}\n", repeat_name(number), input.run.repeat));
        let Measurement { analysis, document, stored, start, .. } = measurement;
        let (prompt_salt, cases) = (input.run.prompt_salt.clone(), junit::suite(&document));
        self.repeats.push(Repeat { number, prompt_salt, stored, start, analysis, cases });
    }

    fn fail(&mut self, number: u32, failure: Failure) {
        console::print_error(&failure.message);
        self.ended_by = Some(ended(number, failure));
    }

    /// Uploads the folder of the series, and returns its location. If results are required, a failure ends the series.
    fn upload(&mut self, bucket: &Bucket, stored: &Stored, order: &Order<'_>) -> Option<String> {
        let required = order.input.run.storage_required;
        let last = self.repeats.last().map_or(1, |it| it.number);
        // Write the message before the upload, because a launcher whose upload takes too long is killed.
        let before = self.ended_by.take();
        if required {
            let failure = Failure::storage(upload::unfinished(bucket, &stored.name));
            self.ended_by = Some(ended(last, failure));
        }
        leave_message(order.options, || repeats::envelope(&self.series(order), None));
        self.ended_by = before;
        match upload::keep(bucket, stored, SERIES_FILE) {
            Ok(uri) => Some(uri),
            Err(error) => {
                if required && self.ended_by.is_none() {
                    self.fail(last, Failure::storage(error.to_string()));
                } else {
                    warn!(%error, "the results are not in the bucket");
                }
                None
            }
        }
    }

    /// Ends the series after its last run, if a stop interrupted this run.
    fn end_with_stopped(&mut self) {
        let last = self.repeats.last().filter(|it| !it.analysis.verdict.outcome.has_valid_figures());
        let Some(Repeat { number, analysis, .. }) = last.filter(|_| self.ended_by.is_none()) else { return };
        let headline = analysis.verdict.headline();
        let ending = Ending {
            number: *number,
            outcome: analysis.verdict.outcome,
            reason: headline.name,
            message: headline.message.clone(),
            status_message: analysis.status_message(),
        };
        self.ended_by = Some((ending, None));
    }

    fn series<'a>(&'a self, order: &Order<'a>) -> Series<'a> {
        Series {
            commit: order.options.commit,
            run: &order.input.run.run,
            asked: order.input.run.repeat,
            measures_start: order.input.workload.work == Work::Startup,
            repeats: &self.repeats,
            ended_by: self.ended_by.as_ref().map(|it| &it.0),
        }
    }
}

fn ended(number: u32, failure: Failure) -> (Ending, Option<ExitCode>) {
    let ending = Ending {
        number,
        outcome: Outcome::from(&failure),
        reason: failure.reason,
        status_message: failure.status_message().to_owned(),
        message: failure.message,
    };
    (ending, Some(failure.exit))
}

/// Writes the results of the series. `None` if no folder is stored. Removes the folder if there are no runs.
fn keep(folder: SeriesFolder, done: &mut Done, order: &Order<'_>) -> Option<Stored> {
    if done.repeats.is_empty() {
        folder.discard();
        return None;
    }
    match store::optional(folder.write(&done.series(order)), &order.input.run, order.options.results_chosen_by()) {
        Ok(stored) => stored,
        Err(error) if done.ended_by.is_some() => {
            warn!(%error, "the summary of all runs was not written");
            None
        }
        Err(error) => {
            let last = done.repeats.last().map_or(1, |it| it.number);
            done.fail(last, Failure::storage(error.to_string()));
            None
        }
    }
}

/// Prints how many runs are missing if the series ended early. The message before it only describes the run that ended the series.
fn print_missing(series: &Series<'_>) {
    let Some(ending) = series.ended_by.filter(|it| it.number < series.asked) else { return };
    let last = repeat_name(ending.number);
    console::print_error(format_args!(
        "{last} ended the series: its remaining runs, of {}, were not made",
        series.asked
    ));
}

/// Prints the spread. `place` is the location of the series' folder. `end` is a text that is printed after it.
fn print_spread(series: &Series<'_>, place: Option<&str>, end: &str) {
    if series.repeats.is_empty() {
        return;
    }
    let path = place.map(|it| format!("repeats: {it}/repeats.md\n"));
    if let Err(error) = console::print(repeats::table(series) + &path.unwrap_or_default() + end) {
        warn!(%error, "the spread between the runs was not printed");
    }
}
