//! [I/O] Measures the cost of reading the server's metrics once per second: the CPU time of the scraping thread, which runs beside the load.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use super::setup::Bench;
use crate::{
    error::BenchError,
    figures::{Budget, Figures, count},
};
use ::scrape::{Order, Scraper, Source, TIMEOUT};
use engine::{client::Resolver, stop::Stop};
use simulator::{Metrics, SimOptions};

/// Maximum bytes of a request head.
const MAX_HEAD: usize = 8 << 10;

pub(super) fn run(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let text = Metrics::new(&SimOptions::default()).render();
    let address = serve(text.clone())?;
    let size = text.len() / 1_000;
    for &endpoints in &bench.scale.scraped {
        let rounds = (bench.scale.scrapes / endpoints).max(1);
        let (cpu, wall) = scrape(address, endpoints, rounds)?;
        let each = cpu.as_secs_f64() * 1e6 / f64::from(endpoints * rounds);
        let title = format!("a scrape of {size} kB, addresses at a time: {}", count(endpoints.into()));
        figures.add(&format!("scrapes{endpoints}.cpu"), &title, "µs of CPU", each, Budget::at_most(5_000.0, 1_000.0));
        let title = format!("one scrape a second, addresses: {}", count(endpoints.into()));
        let cores = each * f64::from(endpoints) / 1e6;
        figures.add(&format!("scrapes{endpoints}.cores"), &title, "cores", cores, Budget::NONE);
        let title = format!("a round of scrapes, addresses: {}", count(endpoints.into()));
        let round = wall.as_secs_f64() * 1e3 / f64::from(rounds);
        figures.add(&format!("scrapes{endpoints}.round"), &title, "ms", round, Budget::NONE);
    }
    Ok(())
}

/// Scrapes `endpoints` endpoints `rounds` times. Returns the CPU time of the scraping thread, and the wall time without the first round.
fn scrape(server: SocketAddr, endpoints: u32, rounds: u32) -> Result<(Duration, Duration), BenchError> {
    let source = |number| Source {
        url: format!("http://{server}/{number}/metrics"),
        engine: None,
        is_guess: false,
        gets_token: false,
    };
    // The interval is a day, so that only explicitly requested scrapes take place.
    let interval = Duration::from_secs(86_400);
    let sources = (0..endpoints).map(source).collect();
    let resolver = Resolver::default();
    let scraper =
        Scraper::start(Order { sources, token: None, authorities: None, interval, timeout: TIMEOUT, resolver })?;
    let stop = Stop::default();
    // Not timed: the first round also opens the connections and requests the server's version.
    scraper.before_load(&stop);
    let begun = clock::monotonic();
    (0..rounds).for_each(|_| scraper.before_load(&stop));
    let wall = clock::monotonic().saturating_sub(begun);
    let ended = || BenchError::Program("the thread that scrapes ended early".into());
    let scraped = scraper.end().ok_or_else(ended)?;
    let failures: u64 = scraped.addresses.iter().map(|it| it.failures).sum();
    if failures > 0 {
        let reasons: Vec<&String> = scraped.addresses.iter().flat_map(|it| it.reasons.keys()).take(1).collect();
        return Err(BenchError::Program(format!("{failures} scrapes failed: {reasons:?}")));
    }
    Ok((scraped.cpu, wall))
}

/// Starts a server that answers every request with this text. It runs as long as the process.
fn serve(text: String) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let answer: Vec<u8> =
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{text}", text.len()).into();
    thread::Builder::new().name("metrics".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            // If no thread can be started, the scrape fails, and the bench reports that.
            let _ = thread::Builder::new().name("metrics".into()).spawn(move || answer_all(stream, &answer));
        }
    })?;
    Ok(address)
}

/// Answers requests until the client closes the connection.
fn answer_all(mut stream: TcpStream, answer: &[u8]) {
    let mut head = Vec::new();
    let mut part = [0; 1_024];
    loop {
        let read = stream.read(&mut part).unwrap_or(0);
        head.extend_from_slice(&part[..read]);
        if read == 0 || head.len() > MAX_HEAD {
            return;
        }
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}
