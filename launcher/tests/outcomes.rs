//! Every way in which a request can end, from a server that misbehaves to the report of the built binary.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    sync::Mutex,
    thread,
    time::Duration,
};

use crate::common::{Folder, HEAD, LATE};
use serde_json::{Value, json};

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const JSON: &str = "content-type: application/json\r\nconnection: close\r\n\r\n";
const TOKEN: &str = "data: {\"choices\":[{\"text\":\"a\"}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":1}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// How the server handles a request. The number of the request selects the behaviour.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Behaviour {
    Ok,
    /// Answers and keeps the connection open, but closes it when the next request arrives.
    OkAndCloseLater,
    /// Announces keep-alive, but closes the connection shortly after the end of the stream, like llama.cpp's server.
    OkAndCloseSoon,
    Empty,
    Status,
    Detail,
    ErrorUnder200,
    Abort,
    ErrorInStream,
    Cut,
    NoEnd,
    NoJson,
    Stall,
    Sleep,
    Close,
    Redirect,
    /// Sends an error that quotes a long prompt.
    LongError,
    /// Reports an impossible number of tokens.
    Liar,
    /// Sends the whole answer in one piece, without streaming.
    Whole,
    /// Continues to send after the end of the stream.
    AfterDone,
    Html,
}

use Behaviour::*;

/// The behaviours for the requests, in order. The first request uses whichever connection was open before the load.
const ALL: [Behaviour; 23] = [
    Ok,
    Empty,
    Status,
    Detail,
    ErrorUnder200,
    Abort,
    ErrorInStream,
    Cut,
    NoEnd,
    NoJson,
    Stall,
    Sleep,
    Close,
    Redirect,
    OkAndCloseLater,
    Ok,
    Status,
    Ok,
    LongError,
    Liar,
    Whole,
    AfterDone,
    Html,
];

/// A server in this process, with one thread per connection.
struct Server {
    url: String,
    behaviours: Vec<Behaviour>,
    /// How often each request arrived.
    seen: Mutex<BTreeMap<usize, usize>>,
}

impl Server {
    fn start(behaviours: &[Behaviour]) -> Arc<Server> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Arc::new(Server { url, behaviours: behaviours.to_vec(), seen: Mutex::default() });
        let serving = Arc::clone(&server);
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let server = Arc::clone(&serving);
                // Errors are ignored, because the clients of some tests disconnect on purpose.
                thread::spawn(move || server.serve(stream.unwrap()).ok());
            }
        });
        server
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut is_closing = false;
        while let Some(head) = read_request(&mut stream)? {
            if head.starts_with("GET ") {
                let models = json!({"object": "list", "data": [{"id": "m"}]}).to_string();
                return write!(stream, "HTTP/1.1 200 OK\r\n{JSON}{models}");
            }
            let id = head.lines().find_map(|it| it.strip_prefix("x-request-id: ")).unwrap();
            let number: usize = id.rsplit('-').next().unwrap().parse().unwrap();
            if is_closing {
                return Result::Ok(());
            }
            *self.seen.lock().unwrap().entry(number).or_default() += 1;
            match self.behaviours[number] {
                OkAndCloseLater => {
                    let body = format!("{TOKEN}{USAGE}{DONE}");
                    let kind = "content-type: text/event-stream";
                    write!(stream, "HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
                    is_closing = true;
                }
                OkAndCloseSoon => {
                    let kept = "connection: keep-alive\r\nkeep-alive: timeout=5, max=100\r\ntransfer-encoding: chunked";
                    let kind = "content-type: text/event-stream";
                    let body = format!("{TOKEN}{USAGE}{DONE}");
                    write!(
                        stream,
                        "HTTP/1.1 200 OK\r\n{kind}\r\n{kept}\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                        body.len()
                    )?;
                    // During this pause the next request arrives. Its data is unread when the connection is closed, so the close resets the
                    // connection.
                    thread::sleep(Duration::from_millis(10));
                    return Result::Ok(());
                }
                behaviour => return answer(&mut stream, behaviour),
            }
        }
        Result::Ok(())
    }
}

/// Reads a request and returns its head, once the body has arrived, too. `None` if the connection has ended.
fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|it| it.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse::<usize>().unwrap() {
                return Result::Ok(Some(head.to_owned()));
            }
        }
        let mut piece = [0; 4_096];
        match stream.read(&mut piece)? {
            0 => return Result::Ok(None),
            read => bytes.extend(&piece[..read]),
        }
    }
}

fn answer(stream: &mut TcpStream, behaviour: Behaviour) -> std::io::Result<()> {
    let abort = TOKEN.replace("}]", ",\"finish_reason\":\"abort\"}]");
    let error = "data: {\"error\": {\"message\": \"dead\", \"type\": \"InternalServerError\", \"code\": 500}}\n\n";
    match behaviour {
        Ok | OkAndCloseLater | OkAndCloseSoon => write!(stream, "{EVENTS}{TOKEN}{USAGE}{DONE}"),
        Empty => write!(stream, "{EVENTS}{DONE}"),
        Status => {
            write!(stream, "HTTP/1.1 503 Busy\r\n{JSON}{{\"error\":{{\"type\":\"Busy\",\"message\":\"later\"}}}}")
        }
        Detail => write!(stream, "HTTP/1.1 404 Not Found\r\n{JSON}{{\"detail\":\"Not Found\"}}"),
        ErrorUnder200 => write!(stream, "HTTP/1.1 200 OK\r\n{JSON}{{\"error\":\"Unauthorized\"}}"),
        Abort => write!(stream, "{EVENTS}{TOKEN}{abort}{USAGE}{DONE}"),
        ErrorInStream => write!(stream, "{EVENTS}{TOKEN}{error}{DONE}"),
        Cut => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\n{TOKEN}")
        }
        NoEnd => write!(stream, "{EVENTS}{TOKEN}{TOKEN}"),
        NoJson => write!(stream, "{EVENTS}{TOKEN}data: <html>\n\n{DONE}"),
        Stall => {
            write!(stream, "{EVENTS}{TOKEN}")?;
            until_gone(stream)
        }
        Sleep => {
            write!(stream, "{EVENTS}")?;
            until_gone(stream)
        }
        Close => Result::Ok(()),
        LongError => {
            let prompt = "word ".repeat(60_000);
            let error = json!({"error": {"message": format!("too long: {prompt}"), "type": "internal_server_error"}});
            write!(stream, "HTTP/1.1 502 Error\r\n{JSON}{error}")
        }
        Liar => {
            write!(
                stream,
                "{EVENTS}{TOKEN}{}{DONE}",
                USAGE.replace("completion_tokens\":1", "completion_tokens\":99999999")
            )
        }
        Whole => write!(stream, "HTTP/1.1 200 OK\r\n{JSON}{{\"choices\":[{{\"text\":\"a\"}}]}}"),
        AfterDone => {
            write!(stream, "{EVENTS}{TOKEN}{USAGE}{DONE}{TOKEN}data: <html>\n\n")?;
            stream.flush()?;
            write!(stream, "{TOKEN}")
        }
        Html => {
            write!(stream, "HTTP/1.1 203 Log in\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html></html>")
        }
        Redirect => {
            write!(stream, "HTTP/1.1 307 Away\r\nlocation: http://169.254.169.254/\r\nconnection: close\r\n\r\n")
        }
    }
}

/// Waits until the client closes the connection.
fn until_gone(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.read(&mut [0; 64]).map(drop)
}

/// Runs a number of requests, with a maximum concurrency and a maximum time per request in seconds (the three numbers in `requests`). The shell
/// command `before` is executed first. Returns the report, its Markdown and the printed table.
fn run(url: &str, requests: [usize; 3], more: &str, before: &str) -> (Value, String, String) {
    let [requests, concurrency, timeout] = requests;
    let folder = Folder::new();
    let profile = json!({
        "load": {
            "type": "concurrent",
            "request_timeout": timeout,
            "stages": [{"num_requests": requests, "concurrency_level": concurrency}],
        },
        "api": {"type": "completion", "streaming": true},
        "data": {"type": "mock"},
    });
    let target = format!("{{url: '{url}', readiness: {{probe: Models}}}}");
    let profile = serde_json::to_string(&profile.to_string()).unwrap();
    let text = format!("{HEAD}spec:\n  target: {target}\n  profile: {{inline: {profile}}}\n{more}");
    folder.write("run.yaml", &text);
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        &format!("{before} exec \"$0\" run -f run.yaml --threads 1"),
        env!("CARGO_BIN_EXE_benchwright"),
    ]);
    command.current_dir(folder.path("."));
    let done = assert_cmd::Command::from_std(command).timeout(Duration::from_secs(120)).assert();
    let table = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    let markdown = fs::read_to_string(folder.path("results/latest/report.md"));
    let markdown = markdown.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.get_output().stderr)));
    (folder.report(), markdown, table)
}

/// Returns the number of requests per outcome. Checks that the report's counts agree and that no request is lost.
fn counts(report: &Value) -> BTreeMap<String, u64> {
    let figures = &report["figures"];
    let outcomes: BTreeMap<String, u64> = serde_json::from_value(figures["outcomes"].clone()).unwrap();
    let count = |name: &str| figures[name].as_u64().unwrap();
    assert_eq!(outcomes.values().sum::<u64>(), count("requests"), "{outcomes:?}");
    assert_eq!(count("succeeded") + count("failed") + count("cancelled"), count("requests"));
    let succeeded = outcomes.get("ok").copied().unwrap_or(0);
    assert_eq!(count("succeeded"), succeeded);
    let streamed = succeeded - count("inOnePiece");
    for (times, expected) in [("latencyMs", succeeded), ("ttftMs", streamed), ("ntpotMs", streamed)] {
        assert_eq!(figures[times]["count"].as_u64().unwrap_or(0), expected, "{times} of those that succeeded alone");
    }
    let timeouts = figures["timeouts"].as_object().map_or(0, |it| it.values().filter_map(Value::as_u64).sum());
    assert_eq!(timeouts, outcomes.get("timeout").copied().unwrap_or(0));
    outcomes
}

/// Returns the words of a text, joined by single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_end_of_a_request_is_counted_and_shown() {
    let server = Server::start(&ALL);
    let (report, markdown, table) = run(&server.url, [ALL.len(), 1, 5], "", "");
    let expected = [
        ("ok", 7, ""),
        ("empty", 1, ""),
        ("http_307", 1, "307: redirects are not followed"),
        ("http_404", 1, "404: Not Found"),
        ("http_500", 1, "500 in an answer with status 200: Unauthorized"),
        ("http_502", 1, "502: internal_server_error: too long: word word"),
        ("http_503", 2, "503: Busy: later"),
        ("broken_stream", 6, "the server aborted the answer"),
        ("timeout", 2, "it took longer than the request timeout, 5s"),
        ("connect_error", 1, "the connection broke before the answer: "),
    ];
    let found = counts(&report);
    assert_eq!(found, expected.iter().map(|(name, count, _)| ((*name).to_owned(), *count)).collect());
    let samples = report["figures"]["errorSamples"].as_object().unwrap();
    for (name, count, message) in expected {
        let sample = samples.get(name).and_then(Value::as_str).unwrap_or_default();
        assert!(sample.starts_with(message) && sample.is_empty() == message.is_empty(), "{name}: {sample}");
        if name != "ok" {
            assert!(markdown.contains(&format!("| {name} | {count} | {message}")), "{name} is not in {markdown}");
            assert!(words(&table).contains(&format!("{count} {name}")), "{name} is not in {table}");
        }
    }
    assert_eq!(report["figures"]["timeouts"], json!({"request": 2}));
    assert!(markdown.contains("| timeout: request | 2 |") && markdown.contains("| retried | 1 |"), "{markdown}");
    assert_eq!((&report["figures"]["usageSetAside"], &report["figures"]["inOnePiece"]), (&json!(1), &json!(1)));
    let told = words(&table);
    assert!(told.contains("99999999") && told.contains("came in one piece"), "{table}");
    // The server read the request after OkAndCloseLater once without answering it. It answered the request on a new connection.
    assert_eq!(report["figures"]["retried"], 1);
    let seen = server.seen.lock().unwrap();
    let twice: Vec<_> = seen.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty() && seen.len() == ALL.len(), "{seen:?}");
}

#[test]
fn a_server_that_keeps_no_connection_gets_a_new_one_for_each_request() {
    for (behaviour, concurrency) in [(OkAndCloseLater, 1), (OkAndCloseSoon, 1), (OkAndCloseSoon, 8)] {
        let server = Server::start(&[behaviour; 200]);
        let (report, markdown, table) = run(&server.url, [200, concurrency, 20], LATE, "");
        let figures = &report["figures"];
        assert_eq!(counts(&report), BTreeMap::from([("ok".to_owned(), 200)]), "{figures}");
        assert_eq!(report["outcome"], "Passed", "{}", report["reasons"]);
        let count = |key: &str| figures[key].as_u64().unwrap();
        let (resent, own, concurrency) = (count("retried"), count("ownConnections"), concurrency as u64);
        // From the fourth resent request on, the launcher knows that the server keeps no connection open. The requests in flight at that time may be
        // resent, too.
        assert!((4..4 + concurrency).contains(&resent), "{resent} were sent again");
        assert!(own >= 200 - 5 * concurrency - 4 && own + resent < 200, "{own} had a connection of their own");
        for text in [&markdown, &table] {
            let text = words(text);
            assert!(text.contains("connections were not used again"), "{text}");
            assert!(text.contains(&format!("and {own} opened a new connection each")), "{text}");
        }
        assert!(server.seen.lock().unwrap().values().all(|it| *it == 1), "{:?}", server.seen);
    }
}

#[test]
fn a_new_connection_that_closes_is_a_failure() {
    let mut behaviours = [OkAndCloseLater; 60];
    (behaviours[30], behaviours[40]) = (Close, Close);
    let server = Server::start(&behaviours);
    let (report, markdown, _) = run(&server.url, [60, 1, 5], "", "");
    assert_eq!(counts(&report), BTreeMap::from([("ok".to_owned(), 58), ("connect_error".to_owned(), 2)]));
    assert_eq!(report["outcome"], "Invalid");
    assert!(markdown.contains("| connect_error: closed | 2 |"), "{markdown}");
}

#[test]
fn what_is_under_way_at_the_end_is_cancelled_and_what_was_not_due_is_not_counted() {
    let server = Server::start(&[Sleep; 10]);
    let more = "  execution: {gracePeriodSeconds: 5, deadlines: {runSeconds: 1}}\n";
    let (report, markdown, table) = run(&server.url, [10, 3, 60], more, "");
    assert_eq!(counts(&report), BTreeMap::from([("cancelled".to_owned(), 3)]));
    assert_eq!((&report["outcome"], &report["partial"]), (&json!("Invalid"), &json!(true)));
    assert!(markdown.contains("| cancelled | 3 |") && words(&table).contains("3 cancelled"), "{markdown}{table}");
    assert_eq!(server.seen.lock().unwrap().len(), 3);
}

#[test]
fn what_this_machine_cannot_send_is_its_own_failure() {
    let server = Server::start(&[Sleep; 64]);
    // This limit on open files is too low to connect all concurrent requests.
    let (report, _, _) = run(&server.url, [64, 64, 1], "", "ulimit -n 40;");
    let found = counts(&report);
    assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), ["client_error", "timeout"]);
    let sample = report["figures"]["errorSamples"]["client_error"].as_str().unwrap();
    assert!(sample.contains("too many open files"), "{sample}");
    assert_eq!(report["figures"]["causes"]["files"]["count"], found["client_error"]);
}

#[test]
fn a_token_file_is_trimmed_and_not_empty() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = read_request(&mut stream).unwrap().unwrap();
        // Waiting does not fix this error, so the run ends immediately.
        write!(stream, "HTTP/1.1 401 Unauthorized\r\n{JSON}{{\"error\":\"Unauthorized\"}}").unwrap();
        head
    });
    folder.write("run.yaml", &crate::common::at(&url, 5, &crate::common::profile(1, 1)));
    folder.write("empty", " \n");
    folder.write("token", "s3cret\n");
    let run = |file: &str| folder.benchwright(&["run", "-f", "run.yaml", "--token-file", file]).assert().code(10);
    let error = |run: assert_cmd::assert::Assert| String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    let empty = error(run("empty"));
    assert!(empty.contains("the token file empty is empty; write the token into it"), "{empty}");
    let refused = error(run("token"));
    assert!(refused.contains("401") && refused.contains("target.auth") && !refused.contains("s3cret"), "{refused}");
    let head = asked.join().unwrap();
    assert!(head.lines().any(|it| it == "authorization: Bearer s3cret"), "{head}");
}
