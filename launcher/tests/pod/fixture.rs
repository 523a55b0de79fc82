//! The folders of a pod, and servers that record their requests.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Mutex},
    thread,
};

use crds::{
    Envelope, ResolvedRun,
    benchmark_run::BenchmarkRunSpec,
    resolve::{Egress, LOG_TOKEN, RunIdentity, Settings, resolve},
};

/// Ten short requests within one second.
const PROFILE: &str = "{load: {type: constant, stages: [{rate: 10, duration: 1}]}, \
    api: {type: completion, streaming: true}, data: {type: random, \
    input_distribution: {min: 10, max: 30, mean: 20, std_dev: 5}, \
    output_distribution: {min: 1, max: 1, mean: 1, std_dev: 0}}}";
/// Disables the limits on how late the launcher may be, because a machine that runs tests is busy.
const LATE: &str = "validity: {maxSendLagP99Milliseconds: 60000, maxReceiveDelayP99Milliseconds: 60000, \
    maxCpuShare: '1', maxThrottledShare: '1', maxStealShare: '1', maxCoalescedReadShare: '1', \
    maxStalledShare: '1', maxClockStepMilliseconds: 86400000}\n";

/// The folders of a pod. They are deleted when the test ends.
pub struct Pod {
    folder: tempfile::TempDir,
    attempt: u32,
}

/// The bearer token for the log of a server in another pod.
pub const SERVER_TOKEN: &str = "5ec2e7";

impl Pod {
    pub fn new() -> Pod {
        Pod { folder: tempfile::tempdir().unwrap(), attempt: 1 }
    }

    /// Begins the next attempt of the same run, with the same claim.
    pub fn next_attempt(&mut self) {
        self.attempt += 1;
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Mounts the input that the operator would create from a spec, without blocked addresses. `more` is the spec without its profile. `change`
    /// modifies the resolved run.
    pub fn mount(&self, more: &str, change: impl FnOnce(&mut ResolvedRun)) {
        self.mount_profile(PROFILE, more, change);
    }

    /// Mounts the same input with another profile.
    pub fn mount_profile(&self, profile: &str, more: &str, change: impl FnOnce(&mut ResolvedRun)) {
        let text = format!("{more}\nprofile: {{inline: {}}}\n{LATE}", serde_json::to_string(profile).unwrap());
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&text).unwrap();
        let identity = RunIdentity {
            attempt: self.attempt,
            ..RunIdentity::first_attempt("chat", "bench", "2f9c4e0a-9d1b-4e57-8d8c-0a2f6f3f9b11")
        };
        let settings = Settings { egress: None, ..Settings::default() };
        let mut run = resolve(identity, &spec, &settings).unwrap();
        change(&mut run);
        let variables = workload_profiles::variables(&run, &Default::default()).unwrap();
        let prepared = workload_profiles::prepare(&run, profile, &variables, &Default::default()).unwrap();
        fs::create_dir_all(self.path("input")).unwrap();
        fs::create_dir_all(self.path("results")).unwrap();
        for (name, text) in [
            ("run.yaml", serde_saphyr::to_string(&run).unwrap()),
            ("spec.yaml", serde_saphyr::to_string(&spec).unwrap()),
            ("profile.yaml", prepared.text),
        ] {
            fs::write(self.path("input").join(name), text).unwrap();
        }
        fs::write(self.path("message"), "").unwrap();
    }

    /// Mounts a run whose target is this URL. Its readiness timeout is a few seconds.
    pub fn mount_url(&self, url: &str, change: impl FnOnce(&mut ResolvedRun)) {
        self.mount(&format!("target: {{url: '{url}', readiness: {{timeoutSeconds: 5}}}}"), change);
    }

    /// Returns the command that runs the mounted input.
    pub fn command(&self) -> Command {
        self.command_with(&["--status-port", "0"])
    }

    /// Returns the command with other flags, and with the default status port.
    pub fn command_with(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright"));
        command.env(LOG_TOKEN, SERVER_TOKEN);
        command
            .args(["run", "--mounted"])
            .arg(self.path("input"))
            .args(more)
            .arg("--results")
            .arg(self.path("results"))
            .arg("--termination-log")
            .arg(self.path("message"))
            .current_dir(self.path("input"))
            .env_remove("KUBERNETES_SERVICE_HOST");
        command
    }

    pub fn run(&self) -> Output {
        self.command().output().unwrap()
    }

    /// The termination message as text.
    pub fn message(&self) -> String {
        fs::read_to_string(self.path("message")).unwrap()
    }

    pub fn envelope(&self) -> Envelope {
        Envelope::parse(&self.message()).unwrap()
    }
}

/// Blocks the addresses that an operator in a cluster blocks by default.
pub fn blocked_as_in_a_cluster(run: &mut ResolvedRun) {
    run.egress = Some(Egress::cluster_default());
}

/// Returns all files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    entries.flat_map(|it| if it.is_dir() { files(&it) } else { vec![it] }).collect()
}

/// Returns the response to a request. The arguments are the number of the request at this server, from 0, and the request's head.
type Answer = dyn Fn(usize, &str) -> String + Send + Sync;

/// A server on loopback that closes each connection after its response.
#[derive(Clone)]
pub struct Server {
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start(answer: impl Fn(usize, &str) -> String + Send + Sync + 'static) -> Server {
        Server::at("127.0.0.1:0", answer)
    }

    pub fn at(address: &str, answer: impl Fn(usize, &str) -> String + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind(address).unwrap();
        let server = Server { port: listener.local_addr().unwrap().port(), heads: Arc::default() };
        let (heads, answer): (_, Arc<Answer>) = (Arc::clone(&server.heads), Arc::new(answer));
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (heads, answer) = (Arc::clone(&heads), Arc::clone(&answer));
                // Errors are ignored, because a launcher may disconnect early.
                thread::spawn(move || serve(stream.unwrap(), &heads, &*answer).ok());
            }
        });
        server
    }

    /// A server with one model. It answers each prompt with one token.
    pub fn model() -> Server {
        Server::start(|_, head| healthy(head))
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Returns the number of prompts that arrived, including that of the readiness probe.
    pub fn prompts(&self) -> usize {
        self.heads().iter().filter(|it| it.starts_with("POST ")).count()
    }
}

/// Returns the response of a server with one model.
pub fn healthy(head: &str) -> String {
    let event = |json: &str| format!("data: {json}\n\n");
    if head.starts_with("POST ") {
        let token = event(r#"{"choices":[{"text":"a"}]}"#);
        let usage = event(r#"{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":1}}"#);
        let stream = format!("{token}{usage}{}", event("[DONE]"));
        return format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{stream}");
    }
    if head.starts_with("GET /v1/models") {
        return json_answer("200 OK", r#"{"object":"list","data":[{"id":"m"}]}"#);
    }
    json_answer("404 Not Found", "{}")
}

pub fn json_answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn serve(mut stream: TcpStream, heads: &Mutex<Vec<String>>, answer: &Answer) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let head = loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|it| it.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse::<usize>().unwrap() {
                break head.to_owned();
            }
        }
        let mut piece = [0; 4_096];
        match stream.read(&mut piece)? {
            // A connection without a request is recorded with an empty head.
            0 if bytes.is_empty() => break String::new(),
            0 => return Ok(()),
            read => bytes.extend(&piece[..read]),
        }
    };
    let number = {
        let mut heads = heads.lock().unwrap();
        heads.push(head.clone());
        heads.len() - 1
    };
    stream.write_all(answer(number, &head).as_bytes())
}
