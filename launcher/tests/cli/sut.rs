//! `benchwright sut` over real pipes, like a LoadGen program uses it.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    thread,
};

use crate::common::{Folder, Sim, at, profile, simulated};

const HELLO: u8 = 1;
const ISSUE: u8 = 2;

/// A frame from the launcher.
#[derive(Debug, PartialEq)]
enum Frame {
    Ready { version: u16, samples: u64, model: String },
    First { id: u64, ids: Vec<u32> },
    Done { id: u64, took_ns: u64, ids: Vec<u32> },
    Failed { id: u64, why: String },
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    assert_eq!(bytes.len() % 4, 0);
    bytes.chunks(4).map(|it| u32::from_le_bytes(it.try_into().unwrap())).collect()
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// The launcher, started like a LoadGen program starts it.
struct Sut {
    child: Child,
    to: Option<ChildStdin>,
    from: Option<ChildStdout>,
}

impl Sut {
    fn start(folder: &Folder, more: &[&str]) -> Sut {
        let mut command = folder.command(&[&["sut", "-f", "run.yaml"], more].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Sut { to: child.stdin.take(), from: child.stdout.take(), child }
    }

    /// Starts a launcher, sends hello, and waits until the launcher is ready.
    fn ready(folder: &Folder, more: &[&str]) -> Sut {
        let mut sut = Sut::start(folder, more);
        sut.send(HELLO, &1_u16.to_le_bytes());
        assert!(matches!(sut.next(), Some(Frame::Ready { version: 1, samples: 0, .. })));
        sut
    }

    fn send(&mut self, kind: u8, content: &[u8]) {
        let length = u32::try_from(content.len() + 1).unwrap().to_le_bytes();
        let frame = [&length[..], &[kind], content].concat();
        self.to.as_mut().unwrap().write_all(&frame).unwrap();
    }

    /// Issues samples with these ids and indexes.
    fn issue(&mut self, samples: &[(u64, u64)]) {
        let content: Vec<u8> = samples.iter().flat_map(|it| [it.0, it.1]).flat_map(u64::to_le_bytes).collect();
        self.send(ISSUE, &content);
    }

    /// Returns the next frame. `None` at the end.
    fn next(&mut self) -> Option<Frame> {
        let from = self.from.as_mut().unwrap();
        let mut length = [0; 4];
        if from.read(&mut length[..1]).unwrap() == 0 {
            return None;
        }
        from.read_exact(&mut length[1..]).unwrap();
        let mut frame = vec![0; u32::from_le_bytes(length) as usize];
        from.read_exact(&mut frame).unwrap();
        let (kind, content) = (frame[0], &frame[1..]);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Some(match kind {
            129 => Frame::Ready {
                version: u16::from_le_bytes(content[..2].try_into().unwrap()),
                samples: number(&content[2..]),
                model: text(&content[10..]),
            },
            130 => Frame::First { id: number(content), ids: numbers(&content[8..]) },
            131 => Frame::Done { id: number(content), took_ns: number(&content[8..]), ids: numbers(&content[16..]) },
            132 => Frame::Failed { id: number(content), why: text(&content[8..]) },
            other => panic!("a frame of kind {other}"),
        })
    }

    /// Sends no more samples. Returns all remaining frames, the exit code, and stderr.
    fn end(mut self) -> (Vec<Frame>, Option<i32>, String) {
        drop(self.to.take());
        let frames = std::iter::from_fn(|| self.next()).collect();
        let (code, told) = self.wait();
        (frames, code, told)
    }

    fn wait(mut self) -> (Option<i32>, String) {
        let mut told = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (self.child.wait().unwrap().code(), told)
    }
}

#[test]
fn every_sample_is_answered_with_its_tokens_after_its_first() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(1, 1)));
    let mut sut = Sut::ready(&folder, &[]);
    // Each index occurs three times, in two frames. The ids are as large as pointers.
    let samples: Vec<(u64, u64)> = (0..60).map(|it| (u64::MAX - it, it % 20)).collect();
    sut.issue(&samples[..1]);
    sut.issue(&samples[1..]);
    let (frames, code, told) = sut.end();
    assert_eq!(code, Some(0), "{told}");
    let (mut firsts, mut answers) = (BTreeMap::new(), BTreeMap::new());
    for frame in frames {
        match frame {
            Frame::First { id, ids } => assert_eq!(firsts.insert(id, ids), None),
            Frame::Done { id, took_ns, ids } => {
                let first = &firsts[&id];
                assert!(!first.is_empty() && ids.starts_with(first), "{first:?} {ids:?}");
                assert!((5..=15).contains(&ids.len()) && took_ns > 0, "{ids:?} {took_ns}");
                assert_eq!(answers.insert(id, ids), None);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(answers.len(), samples.len());
    let of_sample: BTreeSet<(u64, &Vec<u32>)> = samples.iter().map(|(id, index)| (*index, &answers[id])).collect();
    assert_eq!(of_sample.len(), 20, "a sample has one answer");
    let different: BTreeSet<&Vec<u32>> = answers.values().collect();
    assert_eq!(different.len(), 20, "and samples differ");
}

#[test]
fn a_sample_that_fails_is_told_and_the_others_are_answered() {
    let sim = Sim::start(&["--preset", "tiny", "--fail-status", "503", "--fail-ratio", "0.4"]);
    let folder = Folder::new();
    folder.write("run.yaml", &at(&sim.url, 10, &profile(1, 1)));
    let mut sut = Sut::ready(&folder, &[]);
    let samples: Vec<(u64, u64)> = (0..50).map(|it| (it, it)).collect();
    sut.issue(&samples);
    let (frames, code, told) = sut.end();
    let mut over: Vec<u64> = Vec::new();
    let mut failed = 0;
    for frame in frames {
        match frame {
            Frame::Done { id, .. } => over.push(id),
            Frame::Failed { id, why } => {
                assert!(why.contains("503"), "{why}");
                failed += 1;
                over.push(id);
            }
            Frame::First { .. } => {}
            other @ Frame::Ready { .. } => panic!("{other:?}"),
        }
    }
    over.sort_unstable();
    assert_eq!(over, (0..50).collect::<Vec<u64>>());
    assert!((1..50).contains(&failed), "{failed}");
    assert_eq!(code, Some(1));
    assert!(told.contains(&format!("{failed} of 50 samples failed")), "{told}");
}

#[test]
fn samples_past_the_bound_wait_in_order() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(1, 1)));
    let mut sut = Sut::ready(&folder, &["--max-in-flight", "1"]);
    sut.issue(&(0..12).map(|it| (it, 7 * it)).collect::<Vec<_>>());
    let (frames, code, told) = sut.end();
    let order: Vec<u64> =
        frames.iter().filter_map(|it| if let Frame::Done { id, .. } = it { Some(*id) } else { None }).collect();
    assert_eq!((order, code), ((0..12).collect(), Some(0)), "{told}");
}

#[test]
fn a_row_past_the_last_is_told_and_sent_to_nobody() {
    let folder = Folder::new();
    folder.write("rows.jsonl", "{\"tok_input\": [1, 2]}\n{\"tok_input\": [3]}\n{\"tok_input\": [4, 5, 6]}\n");
    let profile = format!(
        "{{benchmark: llama3.1-8b, scenario: Server, target_qps: 1, qsl: {{total_sample_count: 3}}, \
          dataset: {{file: {{path: '{}'}}}}}}",
        folder.path("rows.jsonl").display()
    );
    folder.write("run.yaml", &simulated(&profile).replace("spec:\n", "spec:\n  harness: loadgen\n"));
    let mut sut = Sut::start(&folder, &[]);
    sut.send(HELLO, &1_u16.to_le_bytes());
    assert!(matches!(sut.next(), Some(Frame::Ready { samples: 3, .. })));
    sut.issue(&[(10, 2), (11, 3)]);
    let (mut frames, code, told) = sut.end();
    frames.retain(|it| !matches!(it, Frame::First { .. }));
    assert!(
        matches!(&frames[0], Frame::Failed { id: 11, why } if why.starts_with("the program asks for sample 3, but there are only 3 samples")),
        "{told}"
    );
    assert!(matches!(frames[1], Frame::Done { id: 10, .. }), "{frames:?}");
    assert_eq!(code, Some(1));
}

#[test]
fn an_answer_in_one_piece_has_no_first_token_to_be_judged() {
    let folder = Folder::new();
    let profile = profile(1, 1).replace("streaming: true", "streaming: false");
    folder.write("run.yaml", &simulated(&profile));
    let mut sut = Sut::ready(&folder, &[]);
    sut.issue(&[(1, 1)]);
    let (frames, code, told) = sut.end();
    assert!(matches!(&frames[..], [Frame::First { id: 1, .. }, Frame::Done { id: 1, .. }]), "{frames:?}");
    assert_eq!(code, Some(0), "{told}");
    let (frames, code, told) = Sut::start(&folder, &["--first-tokens"]).end();
    assert_eq!((frames, code), (Vec::new(), Some(10)));
    assert!(told.contains("set streaming to true in the profile"), "{told}");
    // A server that never streams, even if a stream is requested.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || in_one_piece(stream.unwrap()));
        }
    });
    let streamed = at(&url, 10, &crate::common::profile(1, 1)).replace("readiness: {", "readiness: {probe: Models, ");
    folder.write("run.yaml", &streamed);
    let mut sut = Sut::ready(&folder, &["--first-tokens"]);
    sut.issue(&[(1, 1)]);
    let (frames, code, told) = sut.end();
    assert!(
        matches!(&frames[..], [.., Frame::Failed { id: 1, why }] if why.contains("has no first token")),
        "{frames:?} {told}"
    );
    assert_eq!(code, Some(1));
}

/// Answers one request: for the models, or for tokens, which are sent in one piece. Does nothing if no request arrives.
fn in_one_piece(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    // The body follows an empty line. It is not read.
    lines.find(String::is_empty);
    let body = match request.starts_with("GET") {
        true => r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#,
        false => r#"{"choices":[{"index":0,"text":"a b","token_ids":[1,2],"finish_reason":"stop"}]}"#,
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + body).as_bytes()).unwrap();
    // Wait until the client has read the response and closes the connection.
    lines.for_each(drop);
}

#[test]
fn a_data_set_that_is_not_there_is_told_before_a_target_is_waited_for() {
    let folder = Folder::new();
    let profile = "{benchmark: llama3.1-8b, scenario: Server, dataset: {file: {path: /nowhere/rows.jsonl}}}";
    // Nothing listens at this address, so the target never becomes ready.
    let run = at("http://127.0.0.1:9", 3_600, profile);
    folder.write("run.yaml", &run.replace("spec:\n", "spec:\n  harness: loadgen\n"));
    let mut sut = Sut::start(&folder, &[]);
    sut.send(HELLO, &1_u16.to_le_bytes());
    let (frames, code, told) = sut.end();
    assert_eq!((frames, code), (Vec::new(), Some(10)));
    assert!(told.contains("cannot read the data set /nowhere/rows.jsonl"), "{told}");
}

#[test]
fn a_bridge_of_another_version_is_refused() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(1, 1)));
    let mut sut = Sut::start(&folder, &[]);
    sut.send(HELLO, &9_u16.to_le_bytes());
    let (frames, code, told) = sut.end();
    assert_eq!((frames, code), (Vec::new(), Some(10)));
    assert!(told.contains("uses version 9") && told.contains("version 1"), "{told}");
    let (frames, code, told) = Sut::start(&folder, &[]).end();
    assert_eq!((frames, code), (Vec::new(), Some(10)));
    assert!(told.contains("benchwright_sut.py"), "{told}");
    let mut sut = Sut::ready(&folder, &[]);
    sut.send(77, &[1, 2]);
    let (frames, code, told) = sut.end();
    assert_eq!((frames, code), (Vec::new(), Some(10)));
    assert!(told.contains("kind 77"), "{told}");
}

#[test]
fn a_program_that_goes_away_ends_it() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(1, 1)));
    let mut sut = Sut::ready(&folder, &[]);
    sut.issue(&[(1, 1), (2, 2)]);
    drop(sut.from.take());
    drop(sut.to.take());
    let (code, told) = sut.wait();
    assert_eq!(code, Some(1));
    assert!(told.contains("stdout was closed") && !told.contains("panicked"), "{told}");
}

#[test]
fn a_program_that_goes_away_before_anything_is_answered_ends_it() {
    let goes_away = |mut sut: Sut| {
        drop((sut.from.take(), sut.to.take()));
        let (code, told) = sut.wait();
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("stdout was closed"), "{told}");
    };
    let folder = Folder::new();
    // Nothing listens at this address, so the launcher would wait for it.
    folder.write("run.yaml", &at("http://127.0.0.1:9", 3_600, &profile(1, 1)));
    let mut sut = Sut::start(&folder, &[]);
    sut.send(HELLO, &1_u16.to_le_bytes());
    goes_away(sut);
    let sim = Sim::start(&["--preset", "tiny", "--ttft", "1h"]);
    folder.write("run.yaml", &at(&sim.url, 10, &profile(1, 1)).replace("readiness: {", "readiness: {probe: Models, "));
    let mut sut = Sut::ready(&folder, &[]);
    sut.issue(&[(1, 1)]);
    goes_away(sut);
}

#[test]
fn what_is_no_pipe_is_refused() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(1, 1)));
    let refused = folder.benchwright(&["sut", "-f", "run.yaml"]).assert().code(10);
    let told = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(told.contains("benchwright_sut.py"), "{told}");
}
