//! [I/O] The runner process: its pipes, and which of its answers belongs to which waiting request.

use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    process::{ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{mpsc, watch},
};

use super::{
    OfflineEngineError,
    frames::{self, Decoder, Facts, Message, Piece, VERSION},
    request::Request,
};

/// The Python program of the runner.
const PROGRAM: &str = include_str!("../../bridge/benchwright_engine.py");
const READ_BYTES: usize = 256 << 10;
/// Maximum time for the runner to exit after its pipe is closed.
const END: Duration = Duration::from_secs(10);

/// An event of one request.
#[derive(Debug)]
pub(crate) enum Event {
    /// The index of the choice, and the output for it.
    Piece(usize, Piece),
    /// The engine rejected the request, or has exited. No further events follow.
    Failed { why: String, refused: bool },
}

/// Sends requests to an engine. Clones share one runner.
#[derive(Clone, Debug)]
pub(crate) struct Requests(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Frames to be written to the runner.
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Mutex<Waiting>,
    next: AtomicU64,
    /// The facts that the runner reported after loading the model; `None` before that.
    ready: watch::Sender<Option<Facts>>,
    delay: Mutex<Delay>,
}

#[derive(Debug, Default)]
struct Waiting {
    by_id: HashMap<u64, (usize, mpsc::UnboundedSender<Event>)>,
    /// The reason why the engine has exited; `None` while it runs.
    ended: Option<String>,
}

/// Times from the end of an engine step until this process has read the step's output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    pub(crate) pieces: u64,
    total_ns: u128,
    longest_ns: u64,
}

impl Delay {
    fn add(&mut self, piece: &Piece, now: Duration) {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let took = now.saturating_sub(piece.ended_ns);
        self.pieces += 1;
        self.total_ns += u128::from(took);
        self.longest_ns = self.longest_ns.max(took);
    }

    /// Returns the mean and the longest time, in microseconds.
    pub(crate) fn micros(&self) -> (f64, f64) {
        (self.total_ns as f64 / self.pieces.max(1) as f64 / 1e3, self.longest_ns as f64 / 1e3)
    }
}

/// The events of a request in progress. Dropping it aborts the request in the engine.
#[derive(Debug)]
pub(crate) struct Running {
    requests: Requests,
    ids: Vec<u64>,
    events: mpsc::UnboundedReceiver<Event>,
}

impl Running {
    /// Returns the id of the request.
    pub(crate) fn id(&self) -> u64 {
        self.ids.first().copied().unwrap_or_default()
    }

    /// Waits for the next event; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut waiting = self.requests.0.waiting();
        for id in &self.ids {
            if waiting.by_id.remove(id).is_some() {
                // Sending fails only if the engine has exited. Then there is nothing to abort.
                let _ = self.requests.0.outgoing.send(frames::abort(*id));
            }
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Requests {
    /// Returns the facts about the engine; `None` until it is ready.
    pub(crate) fn facts(&self) -> Option<Facts> {
        self.0.ready.borrow().clone()
    }

    pub(crate) fn delay(&self) -> Delay {
        *self.0.delay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes all prompts of a request to the engine.
    pub(crate) fn start(&self, request: &Request) -> Running {
        let (sender, events) = mpsc::unbounded_channel();
        let first = self.0.next.fetch_add(request.prompts.len() as u64, Ordering::Relaxed);
        let ids: Vec<u64> = (first..).take(request.prompts.len()).collect();
        let mut waiting = self.0.waiting();
        if let Some(why) = &waiting.ended {
            let _ = sender.send(Event::Failed { why: why.clone(), refused: false });
            return Running { requests: self.clone(), ids: Vec::new(), events };
        }
        for (index, (id, prompt)) in ids.iter().zip(&request.prompts).enumerate() {
            waiting.by_id.insert(*id, (index, sender.clone()));
            let token_ids = match prompt {
                super::request::Prompt::Ids(ids) => ids.as_slice(),
                super::request::Prompt::Text(_) => &[],
            };
            // Sending fails only if the runner has exited. Then all waiting requests fail with that reason.
            let _ = self.0.outgoing.send(frames::start(*id, request.streams, &request.fields(prompt), token_ids));
        }
        drop(waiting);
        Running { requests: self.clone(), ids, events }
    }

    fn take(&self, message: Message, now: Duration) -> Result<(), OfflineEngineError> {
        match message {
            Message::Ready { version: VERSION, facts } => drop(self.0.ready.send_replace(Some(facts))),
            Message::Ready { version, .. } => return Err(OfflineEngineError::Version(version)),
            Message::Piece { id, piece } => {
                self.0.delay.lock().unwrap_or_else(PoisonError::into_inner).add(&piece, now);
                let is_last = piece.finish.is_some();
                self.tell(id, is_last, |index| Event::Piece(index, piece));
            }
            Message::Failed { id, why } => self.tell(id, true, |_| Event::Failed { why, refused: true }),
        }
        Ok(())
    }

    /// Passes an event to the request that waits for it, if that request still exists.
    fn tell(&self, id: u64, is_last: bool, event: impl FnOnce(usize) -> Event) {
        let mut waiting = self.0.waiting();
        if let Some((index, sender)) = waiting.by_id.get(&id) {
            let _ = sender.send(event(*index));
        }
        if is_last {
            waiting.by_id.remove(&id);
        }
    }

    /// Fails all waiting and all future requests.
    fn end(&self, why: &str) {
        let mut waiting = self.0.waiting();
        waiting.ended = Some(why.to_owned());
        for (_, (_, sender)) in waiting.by_id.drain() {
            let _ = sender.send(Event::Failed { why: why.to_owned(), refused: false });
        }
    }
}

/// A running runner process.
pub(crate) struct Runner {
    pub(crate) requests: Requests,
    child: Child,
    stdout: ChildStdout,
}

impl Runner {
    /// Starts Python with the arguments of `vllm serve`. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) fn start(python: &OsString, arguments: &[OsString]) -> Result<Runner, OfflineEngineError> {
        let no_start = |cause| OfflineEngineError::Start { program: python.clone(), cause };
        let mut child = Command::new(python)
            .arg("-c")
            .arg(PROGRAM)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(no_start)?;
        let no_pipe = || no_start(io::Error::other("it has no pipe"));
        let (stdin, stdout) = (child.stdin.take().ok_or_else(no_pipe)?, child.stdout.take().ok_or_else(no_pipe)?);
        let (outgoing, frames) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, frames));
        let requests = Requests(Arc::new(Shared {
            outgoing,
            waiting: Mutex::default(),
            next: AtomicU64::new(0),
            ready: watch::Sender::new(None),
            delay: Mutex::default(),
        }));
        Ok(Runner { requests, child, stdout })
    }

    /// Forwards the runner's output until it exits. After that, all requests fail.
    ///
    /// # Errors
    /// Returns how the runner exited, or which invalid message it sent.
    pub(crate) async fn serve(&mut self) -> OfflineEngineError {
        let error = match self.read().await {
            Ok(()) => match self.child.wait().await {
                Ok(status) => OfflineEngineError::Ended { how: described(status) },
                Err(cause) => OfflineEngineError::Pipe { cause },
            },
            Err(error) => error,
        };
        self.requests.end(&error.to_string());
        error
    }

    async fn read(&mut self) -> Result<(), OfflineEngineError> {
        let (mut decoder, mut bytes) = (Decoder::default(), vec![0; READ_BYTES]);
        loop {
            let read = self.stdout.read(&mut bytes).await.map_err(|cause| OfflineEngineError::Pipe { cause })?;
            if read == 0 {
                return Ok(());
            }
            let now = clock::monotonic();
            decoder.push(&bytes[..read]);
            while let Some(message) = decoder.next()? {
                self.requests.take(message, now)?;
            }
        }
    }

    /// Tells the runner to exit, and kills it if it does not.
    pub(crate) async fn stop(mut self) {
        self.requests.end("the endpoint is being stopped");
        // An empty frame makes the writer close the pipe, and the runner then exits.
        let _ = self.requests.0.outgoing.send(Vec::new());
        if clock::limit(END, self.child.wait()).await.is_err() {
            tracing::warn!("the runner did not end within {} s, and is killed", END.as_secs());
            let _ = self.child.kill().await;
        }
    }
}

/// Writes frames to the runner until the sender is closed, or until a frame is empty.
async fn write(mut stdin: ChildStdin, mut frames: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await.filter(|it| !it.is_empty()) {
        if let Err(error) = stdin.write_all(&frame).await {
            tracing::debug!(%error, "the runner has closed its pipe");
            return;
        }
    }
}

/// Describes how a process ended.
fn described(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(9)) => "by signal 9, as the kernel does where memory runs out".into(),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in an unknown way".into(),
    }
}
