//! [I/O] A run with `spec.launcher.debug`. Everything is prepared as for a load, and then the launcher waits for a person. In its pod, `benchwright
//! run --now` sends the load from a separate process, which the operator ignores.

use engine::stop::Stop;
use tracing::info;
use workload_profiles::Workload;

use super::{
    Failure, RunOptions,
    load::Setup,
    outcome,
    process::Process,
    signals,
    store::{Place, Store},
    termination_message::{self, ENDED_EARLY, leave_message, leave_text},
};
use crate::{console, input::Input};

/// The launcher's path in its pod: the entry point of the image.
const PROGRAM: &str = "/benchwright";

/// Prepares everything, and waits for a signal or the run's deadline. Returns the exit code.
pub(super) fn wait(input: &Input, options: &RunOptions) -> u8 {
    leave_text(options, ENDED_EARLY);
    let failure = match prepared_and_waited(input, options) {
        Ok(true) => Failure::cancelled_in_debug(),
        Ok(false) => Failure::not_debugged_in_time(input.run.run_deadline),
        Err(failure) => failure,
    };
    console::print_error(&failure.message);
    let done = Err(failure);
    leave_message(options, || termination_message::envelope(input, &done));
    outcome::exit_status(&done, options.gate)
}

/// Prepares everything, and waits. Returns true if a signal ended the wait, false if the deadline did.
fn prepared_and_waited(input: &Input, options: &RunOptions) -> Result<bool, Failure> {
    let process = Process::start(input, options)?;
    let text = prepare(input, options, &process)?;
    let (stop, run_status): (Stop, _) = (process.stop.clone(), process.run_status.clone());
    // Free the memory of the files, because the process that a person starts needs it.
    drop(process);
    console::say(text);
    run_status.set_waiting();
    signals::wait_for_stop(&stop, input.run.run_deadline.0)
}

/// Does everything before the first request. Returns a text that describes the load and how to send it.
fn prepare(input: &Input, options: &RunOptions, process: &Process) -> Result<String, Failure> {
    let now = clock::now();
    let place = Place::new(&input.run, options, now);
    let folder = place.as_ref().map(Place::path);
    let store = Store::prepare(input, place, now)?;
    let prepared = (Setup { input, options, process, store: &store, keep: store.keep(input) }).prepare();
    // Nothing is measured for this folder. A load that a person sends creates its own folder.
    store.discard();
    let prepared = prepared?;
    let run = &input.run;
    let target = run.endpoint.name();
    info!(target, model = prepared.model, "the target is ready");
    let (results, flag) = match &folder {
        Some(folder) => (format!("{}-TIME for each", folder.display()), ""),
        None => (
            "none, except in the folder of --results, which is lost with the pod".to_owned(),
            " --results /tmp/results",
        ),
    };
    // The pod's name is unknown here, so the command names the Job.
    let command = format!(
        "kubectl exec -it -n {} job/{} -c launcher -- {PROGRAM} run --now{flag}",
        run.run.namespace,
        run.run.attempt_name()
    );
    Ok(format!(
        "all is prepared, and no load is sent: spec.launcher.debug is true\n  \
           target:   {target}, model {}\n  \
           load:     {}\n  \
           input:    {}\n  \
           results:  {results}\n  \
           send it:  {command}\n\
         as often as you like; the figures do not appear in the run's status. The pod waits until the run is cancelled or deleted, for at most {}",
        prepared.model,
        load(&input.workload, prepared.requests),
        options.input().display(),
        run.run_deadline
    ))
}

/// Describes the load, such as `300 requests in 2 stages: r10, r20`.
fn load(workload: &Workload, requests: Option<(u64, u64)>) -> String {
    let names: Vec<&str> = workload.stages.iter().map(|it| it.name.as_str()).collect();
    let count = match requests {
        None => "LoadGen tests".to_owned(),
        Some((requests, 0)) => format!("{requests} requests"),
        Some((requests, open)) => {
            format!("at least {requests} requests (the number for {open} of the stages is known only after they run)")
        }
    };
    let stages = if names.len() == 1 { "stage" } else { "stages" };
    format!("{count} in {} {stages}: {}", names.len(), names.join(", "))
}

/// Changes the input for a load that a person sends in the pod.
///
/// # Errors
/// The run does not set `spec.launcher.debug`, so the pod's own launcher sends the load, and another load would disturb it.
pub(super) fn by_hand(input: &mut Input, options: &RunOptions) -> Result<(), Failure> {
    if !input.run.debug {
        let problem = format!(
            "--now is given, but the run of {} does not set spec.launcher.debug, so its launcher sends the load itself; leave --now out, or create a run with \
             spec.launcher.debug: true",
            options.input().join("run.yaml").display()
        );
        return Err(Failure::configuration(problem));
    }
    input.run.debug = false;
    // The results contain the spec, so that the run can be repeated. A repetition should not wait.
    input.spec.launcher.debug = false;
    // Store results if the person named a results folder, even if the run itself stores none.
    input.run.store_results |= options.results.is_some();
    Ok(())
}
