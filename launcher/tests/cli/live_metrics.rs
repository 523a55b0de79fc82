//! The `/metrics` endpoint of a run, read over a socket during a load on the simulator.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use crate::common::{Folder, free_port, profile, simulated};

fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Returns the value of each series, by its name and labels. Checks that a HELP and a TYPE line with the name precede it.
fn series(text: &str) -> BTreeMap<String, f64> {
    let body = text.split_once("\r\n\r\n").unwrap().1;
    let mut told = String::new();
    let mut found = BTreeMap::new();
    for line in body.lines() {
        if let Some(about) = line.strip_prefix("# ") {
            let words: Vec<&str> = about.split(' ').collect();
            assert!(words.len() > 2 && ["HELP", "TYPE"].contains(&words[0]), "{line}");
            assert!(words[0] == "HELP" || ["gauge", "counter"].contains(&words[2]), "{line}");
            words[1].clone_into(&mut told);
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert_eq!(name.split('{').next(), Some(told.as_str()), "{line}");
        assert!(found.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line} stands twice");
    }
    found
}

#[test]
fn prometheus_sees_how_far_a_load_is() {
    let folder = Folder::new();
    let two_stages = profile(20, 1).replace("duration: 1}", "duration: 1}, {rate: 20, duration: 600}");
    folder.write("run.yaml", &simulated(&two_stages));
    let port = free_port();
    let mut running = folder.start(&["run", "-f", "run.yaml", "--status-port", &port.to_string()]);
    running.wait_for("stage 2 of 2");
    let first = series(&get(port, "/metrics"));
    let second = series(&get(port, "/metrics"));
    running.terminate();

    let value = |name: &str| first.get(&format!("benchwright_{name}")).copied();
    assert_eq!(value("measuring"), Some(1.0));
    assert_eq!(value("requests_planned"), Some(12_020.0));
    assert_eq!((value("stages"), value("stage_index")), (Some(2.0), Some(1.0)));
    assert!(first.keys().any(|it| it.starts_with("benchwright_stage_info{stage=\"r20")), "{first:?}");
    let succeeded = value("requests_ended_total{outcome=\"succeeded\"}").unwrap();
    assert!(succeeded >= 20.0 && value("requests_sent_total").unwrap() >= succeeded, "{first:?}");
    assert_eq!(value("requests_ended_total{outcome=\"failed\"}"), Some(0.0));
    assert!(value("output_events_total").unwrap() >= 100.0, "{first:?}");
    assert!(value("elapsed_seconds").unwrap() >= 1.0 && value("recent_ttft_median_seconds").unwrap() > 0.0);
    for (name, before) in first.iter().filter(|(it, _)| it.contains("_total")) {
        assert!(second[name] >= *before, "{name}");
    }
}
