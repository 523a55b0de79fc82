//! [I/O] The launcher's handle of a server that it starts through a keeper. The handle also ends the server.

use std::{
    io::{self, BufRead as _, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

use crate::{
    order::{Ended, Event, Exited, Order, Request, Started},
    state,
    sweep::sweep,
};

/// The subcommand of Benchwright that runs the keeper.
const KEEPER: &str = "server-keeper";
/// Maximum time for a keeper to start all processes, or to check for leftovers after all processes have ended.
const KEEPER_WORKS: Duration = Duration::from_secs(30);

/// The reason why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program of a replica cannot be started.
    #[error("replica {replica}: {message}")]
    NotStarted {
        /// The index of the replica, from 0.
        replica: usize,
        /// The reason and the remedy.
        message: String,
    },
    /// The keeper cannot be started.
    #[error("the process that keeps the server cannot be started: {0}")]
    Keeper(#[from] io::Error),
    /// The keeper ended, or did not respond.
    #[error("the process that keeps the server ended before the server ran; find out what killed this process")]
    NoKeeper,
}

/// A server. It runs until [`Server::end`] or [`Server::let_go`] is called, or until this handle is dropped.
pub struct Server {
    keeper: Child,
    requests: Option<ChildStdin>,
    events: Receiver<Event>,
    exited: Arc<Mutex<Vec<Exited>>>,
    /// Whether this process has requested the keeper to end the server.
    asked: Arc<AtomicBool>,
    started: Vec<Started>,
    order: Order,
    done: bool,
}

impl Server {
    /// Starts the processes. They may not be ready yet when this function returns. `program` is the path of Benchwright's own program. `on_exit` is
    /// called on its own thread for each replica that ends without a stop request.
    ///
    /// # Errors
    /// For example, a program does not exist. After an error, no process keeps running.
    pub fn start(
        program: &Path,
        order: &Order,
        on_exit: impl Fn(&Exited) + Send + 'static,
    ) -> Result<Server, StartError> {
        let mut keeper = Command::new(program)
            .arg(KEEPER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A keeper may outlive this process. So it must not hold our stderr, which can be a pipe whose reader waits for its end.
            .stderr(Stdio::null())
            .spawn()?;
        let mut requests = keeper.stdin.take();
        let output = keeper.stdout.take();
        let (told, events) = mpsc::channel();
        let exited = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&exited);
        let asked = Arc::new(AtomicBool::new(false));
        let is_asked = Arc::clone(&asked);
        let body = move || {
            let ended = |it: Exited| {
                lock(&seen).push(it.clone());
                on_exit(&it);
            };
            let lines = io::BufReader::new(output?).lines();
            let mut whole = false;
            for event in lines.map_while(Result::ok).filter_map(|it| serde_json::from_str(&it).ok()) {
                match event {
                    Event::Exited(it) => ended(it),
                    event => {
                        let is_asked = is_asked.load(Ordering::Acquire) || !lock(&seen).is_empty();
                        if matches!(event, Event::Ended(_)) && !is_asked {
                            ended(Exited::from_elsewhere());
                        }
                        whole |= !matches!(event, Event::Started(_));
                        told.send(event).ok()?;
                    }
                }
            }
            if !whole {
                ended(Exited::of_keeper());
            }
            Some(())
        };
        thread::Builder::new().name("server".into()).spawn(body)?;
        let ordered = requests.as_mut().map(|it| write_line(it, order));
        let mut server =
            Server { keeper, requests, events, exited, asked, started: Vec::new(), order: order.clone(), done: false };
        ordered.transpose()?;
        match server.events.recv_timeout(KEEPER_WORKS) {
            Ok(Event::Started(started)) => {
                server.started = started;
                Ok(server)
            }
            Ok(Event::NotStarted { replica, message }) => {
                server.done = true;
                let _ = server.keeper.wait();
                Err(StartError::NotStarted { replica, message })
            }
            _ => Err(StartError::NoKeeper),
        }
    }

    /// The replicas, in their order.
    pub fn started(&self) -> &[Started] {
        &self.started
    }

    /// The replicas that ended without a stop request, in the order in which they ended.
    pub fn exited(&self) -> Vec<Exited> {
        lock(&self.exited).clone()
    }

    /// The name of the server, for `benchwright server`.
    pub fn name(&self) -> &str {
        &self.order.name
    }

    /// Hands the server over to its keeper, so that the server outlives this process.
    ///
    /// # Errors
    /// The keeper has already ended.
    pub fn let_go(mut self) -> Result<(), StartError> {
        let asked = self.requests.as_mut().map(|it| write_line(it, &Request::LetGo));
        asked.transpose()?;
        match self.events.recv_timeout(KEEPER_WORKS) {
            Ok(Event::LetGo) => {
                self.done = true;
                Ok(())
            }
            _ => Err(StartError::NoKeeper),
        }
    }

    /// Ends the server with SIGTERM, and with SIGKILL after the grace period. Returns when no process is left, or reports which processes are left.
    pub fn end(mut self) -> Ended {
        self.finish()
    }

    fn finish(&mut self) -> Ended {
        self.done = true;
        self.asked.store(true, Ordering::Release);
        // The request line makes the keeper end the server. Closing the pipe has the same effect.
        if let Some(mut requests) = self.requests.take() {
            let _ = write_line(&mut requests, &Request::End);
        }
        let limit = Duration::from_millis(self.order.grace_ms) + KEEPER_WORKS;
        let ended = match self.events.recv_timeout(limit) {
            Ok(Event::Ended(ended)) => Some(ended),
            _ => None,
        };
        if let Some(ended) = ended {
            let _ = self.keeper.wait();
            return ended;
        }
        // The keeper was killed or hangs. The server's processes are then found by the mark in their environment.
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        let found = state::all(&self.order.state_folder).into_iter().find(|it| it.name == self.order.name);
        let swept = found.and_then(|it| sweep(&it, &self.order.state_folder).ok());
        swept.unwrap_or_default()
    }
}

/// Ends the server on drop, so that it is not left behind if an error occurs.
impl Drop for Server {
    fn drop(&mut self) {
        if !self.done {
            self.finish();
        }
    }
}

fn write_line(to: &mut ChildStdin, what: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what).map_err(io::Error::other)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
