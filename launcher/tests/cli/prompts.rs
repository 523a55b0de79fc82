//! The prompts that a server receives over several stages and runs, and how many of them its prefix cache would contain.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use crate::common::{Folder, Sim, at};

const MODELS: &str = r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#;
const ANSWER: &str =
    "data: {\"choices\":[{\"index\":0,\"text\":\" a\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// Two stages of 20 requests.
const STAGES: &str = "stages: [{load: {open: {arrivals: constant, rate: 40, count: 20}}}, {load: {closed: {concurrency: 2, count: 20}}}]";

/// A server that answers every completion with one word, and records the prompts.
pub struct Recorder {
    pub url: String,
    prompts: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    pub fn start() -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let prompts = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&prompts);
        thread::spawn(move || {
            for socket in listener.incoming() {
                let kept = Arc::clone(&kept);
                // Errors are ignored: a client that disconnects early ends only its own connection.
                thread::spawn(move || drop(serve(socket.unwrap(), &kept)));
            }
        });
        Recorder { url, prompts }
    }

    /// Returns the prompts since the last call, sorted, without the prompt of the readiness probe.
    pub fn take(&self) -> Vec<String> {
        let mut prompts = std::mem::take(&mut *self.prompts.lock().unwrap());
        prompts.retain(|it| it.split(' ').count() > 5);
        prompts.sort();
        prompts
    }

    /// Runs a profile. `settings` are additional fields of `spec.profile`. Returns the prompts and the report.
    fn run(&self, profile: &str, settings: &str) -> (Vec<String>, serde_json::Value) {
        let folder = Folder::new();
        let run = at(&self.url, 20, profile).replace("profile: {", &format!("profile: {{{settings}"));
        folder.write("run.yaml", &run.replace("spec:\n", "spec:\n  seed: 42\n  harness: benchwright\n"));
        folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
        (self.take(), folder.report())
    }
}

/// Answers the requests on a connection, one after the other.
fn serve(socket: TcpStream, kept: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let mut writer = socket;
    loop {
        let (mut path, mut length, mut line) = (String::new(), 0, String::new());
        while {
            line.clear();
            reader.read_line(&mut line)? > 2
        } {
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
            if let Some(found) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = found.trim().parse().unwrap();
            }
        }
        if path.is_empty() {
            return Ok(());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (kind, text) = match path.as_str() {
            "/v1/completions" => {
                let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
                kept.lock().unwrap().push(body["prompt"].as_str().unwrap().to_owned());
                ("text/event-stream", ANSWER)
            }
            _ => ("application/json", MODELS),
        };
        write!(writer, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{text}", text.len())?;
    }
}

fn profile(input: u32, keys: &str) -> String {
    format!("{{requests: {{random: {{input: {input}, output: 4}}}}, {STAGES}{keys}}}")
}

/// Number of distinct beginnings, each of six words.
fn beginnings<'a>(prompts: impl IntoIterator<Item = &'a String>) -> usize {
    let words = |text: &str| text.split(' ').take(6).map(str::to_owned).collect::<Vec<_>>();
    prompts.into_iter().map(|it| words(it)).collect::<BTreeSet<_>>().len()
}

#[test]
fn no_two_requests_of_any_stages_and_runs_begin_alike_and_the_salt_repeats_a_run() {
    let server = Recorder::start();
    let (first, report) = server.run(&profile(24, ""), "");
    let (second, _) = server.run(&profile(24, ""), "");
    let (shorter, _) = server.run(&profile(18, ""), "");
    assert_eq!([first.len(), second.len(), shorter.len()], [40; 3]);
    assert_eq!(beginnings(first.iter().chain(&second).chain(&shorter)), 120);
    assert_eq!(report["labels"]["prompts"], "fresh");
    let salt = report["seeds"]["promptSalt"].as_str().unwrap();
    let (again, report) = server.run(&profile(24, ""), &format!("promptSalt: {salt}, "));
    assert_eq!(again, first);
    assert_eq!(report["seeds"]["promptSalt"], salt);
    assert_eq!(report["labels"]["prompts"], "replayed");
}

#[test]
fn repeated_prompts_are_those_of_every_stage_and_run() {
    let server = Recorder::start();
    let (first, report) = server.run(&profile(24, ", prompts: repeated"), "");
    let (second, _) = server.run(&profile(24, ", prompts: repeated"), "");
    assert_eq!((first.len(), &first), (40, &second));
    assert_eq!((beginnings(&first), &report["labels"]["prompts"]), (20, &"repeated".into()));
}

/// Returns the share of prompt tokens that a new simulator's prefix cache contains, in three runs: 54 requests of about 1,000 tokens in two stages,
/// the same run again, and a run with 900 tokens per request. Also returns the remarks of these runs.
fn shares_of_the_cache(prompts: &str, settings: &str) -> ([f64; 3], Vec<String>) {
    let server = Sim::start(&["--preset", "instant", "--enable-prompt-tokens-details"]);
    let mut remarks = Vec::new();
    let shares = [1_000, 1_000, 900].map(|input| {
        let arrivals = "open: {arrivals: conditionedPoisson, duration: 600ms";
        let stages = format!("[{{load: {{{arrivals}, rate: 40}}}}}}, {{load: {{{arrivals}, rate: 50}}}}}}]");
        let requests = format!("{{random: {{input: {input}, output: 16}}}}");
        let folder = Folder::new();
        let profile = format!("{{requests: {requests}, prompts: {prompts}, stages: {stages}}}");
        let run = at(&server.url, 20, &profile).replace("profile: {", &format!("profile: {{{settings}"));
        folder.write("run.yaml", &run.replace("spec:\n", "spec:\n  seed: 42\n  harness: benchwright\n"));
        folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
        let report = folder.report();
        assert_eq!(report["figures"]["succeeded"], 54);
        let found = report["selfJudgement"]["remarks"].as_array().unwrap();
        remarks.extend(found.iter().map(|it| it.as_str().unwrap().to_owned()).filter(|it| it.contains("prefix cache")));
        let hits = report["figures"]["cachedTokens"].as_u64().unwrap_or(0);
        let page = std::fs::read_to_string(folder.path("results/latest/report.md")).unwrap();
        // The figure is a column of the table of stages, and a row of the table of all stages together.
        let places = if hits > 0 { 2 } else { 0 };
        assert_eq!(page.matches("| prompt tokens cached |").count(), places, "{hits}\n{page}");
        println!("{prompts}, {input} tokens: {hits} of {} prompt tokens cached", report["figures"]["inputTokens"]);
        report["figures"]["cachedShare"].as_f64().unwrap_or(0.0)
    });
    (shares, remarks)
}

#[test]
fn a_prefix_cache_has_nothing_of_fresh_prompts_and_nearly_all_of_repeated_ones() {
    let (fresh, remarks) = shares_of_the_cache("fresh", "");
    assert_eq!((fresh, remarks.len()), ([0.0; 3], 0), "{remarks:?}");
    let (repeated, remarks) = shares_of_the_cache("repeated", "");
    // In the first run, 24 of 54 prompts are repeated in its second stage. In the second run, all tokens except the last blocks are cached.
    assert!((0.4..0.5).contains(&repeated[0]) && repeated[1] > 0.95 && repeated[2] > 0.95, "{repeated:?}");
    // The profile requests these repetitions, so there is no remark.
    assert_eq!(remarks, [""; 0]);
}

#[test]
fn a_salt_that_is_given_again_is_told_where_the_cache_knows_its_prompts() {
    let (shares, remarks) = shares_of_the_cache("fresh", "promptSalt: s, ");
    // A prompt with another length also begins with another text.
    assert!(shares[0] == 0.0 && shares[1] > 0.95 && shares[2] == 0.0, "{shares:?}");
    let told =
        matches!(remarks.as_slice(), [it] if it.contains("profile.promptSalt repeats the prompts of an earlier run"));
    assert!(told, "{remarks:?}");
}
