//! [I/O] Watches whether a server is still running.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use managed_server::{Exit, Exited, state, state::State};
use tracing::{error, warn};

/// Time between two checks of a server that another process started.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Maximum number of checks after a server has ended. If the keeper has then not recorded how it ended, this counts as unknown.
const LOOKS_FOR_EXIT: u32 = 4;

/// The first replica that ended unexpectedly.
#[derive(Clone)]
pub(super) struct Death {
    exited: Arc<Mutex<Option<Exited>>>,
    /// Whether `then` has been called.
    has_told: Arc<AtomicBool>,
    then: Arc<dyn Fn() + Send + Sync>,
}

impl Death {
    /// Creates a record that calls `then` at the first unexpected end.
    pub(super) fn telling(then: Arc<dyn Fn() + Send + Sync>) -> Death {
        Death { exited: Arc::default(), has_told: Arc::default(), then }
    }

    /// Returns a copy that shares this record and calls another function `then`. If a replica has already ended, `then` is called immediately.
    pub(super) fn telling_too(&self, then: Arc<dyn Fn() + Send + Sync>) -> Death {
        let next = Death { exited: Arc::clone(&self.exited), ..Death::telling(then) };
        if next.get().is_some() {
            next.tell();
        }
        next
    }

    pub(super) fn set(&self, exited: Exited) {
        let mut first = self.exited.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            error!("{}", exited.message());
            *first = Some(exited);
        }
        drop(first);
        self.tell();
    }

    fn tell(&self) {
        if !self.has_told.swap(true, Ordering::AcqRel) {
            (self.then)();
        }
    }

    pub(super) fn get(&self) -> Option<Exited> {
        self.exited.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A thread that checks a server that another process started. The thread ends when this value is dropped.
pub(super) struct Watch(#[expect(dead_code, reason = "its end is what the thread waits for")] mpsc::Sender<()>);

impl Watch {
    pub(super) fn start(state: State, folder: PathBuf, death: Death) -> Watch {
        let (sender, ended) = mpsc::channel::<()>();
        let body = move || {
            let mut state = state;
            let mut looks = 0;
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                let runs = state.runs();
                let Some(replica) = runs.iter().position(|it| !it) else { continue };
                let now = state::all(&folder).into_iter().find(|it| it.name == state.name);
                state = now.unwrap_or(state);
                looks += 1;
                if let Some(exited) = state.exited.first() {
                    return death.set(exited.clone());
                }
                if looks > LOOKS_FOR_EXIT {
                    return death.set(Exited {
                        replica,
                        pid: state.replicas.get(replica).map_or(0, |it| it.pid),
                        exit: Exit::Unknown,
                        at: clock::now(),
                        out_of_memory: None,
                        last_words: Vec::new(),
                    });
                }
            }
        };
        if let Err(error) = thread::Builder::new().name("server-watch".into()).spawn(body) {
            warn!(%error, "the server cannot be watched, so the run will not notice its end");
        }
        Watch(sender)
    }
}
