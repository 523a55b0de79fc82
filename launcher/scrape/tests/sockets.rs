//! Tests scrapes of servers that respond well, badly, late, or not at all, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crds::{benchmark_run::MetricsKind, resolve::Egress};
use engine::{
    client::Resolver,
    stop::{Stop, StopReason, StopState},
};
use scrape::{Order, Scraper, Source};
use server_metrics::{scraped::Scraped, series::WindowFigures};

/// Writes the response to a request. The arguments are the request's index among those for the same path, its head, and the socket.
type Answer = dyn Fn(usize, &str, &mut TcpStream) + Send + Sync;

/// Starts a server on loopback. It runs until the test process ends.
fn serve(answer: impl Fn(usize, &str, &mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let answer: Arc<Answer> = Arc::new(answer);
    let count = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (answer, count) = (Arc::clone(&answer), Arc::clone(&count));
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).unwrap_or(0) == 0 {
                        return;
                    }
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                let is_metrics = head.starts_with("GET /metrics ");
                let number = if is_metrics { count.fetch_add(1, Ordering::SeqCst) } else { 0 };
                answer(number, &head, &mut stream);
            });
        }
    });
    address
}

/// Starts a server that sends the same response to every request for metrics.
fn serve_text(text: String) -> SocketAddr {
    serve(move |_, head, stream| if head.starts_with("GET /metrics ") { send(stream, &text) } else { refuse(stream) })
}

fn send(stream: &mut TcpStream, body: &str) {
    // An error is ignored, because the client may have disconnected.
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

fn refuse(stream: &mut TcpStream) {
    let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

fn source(url: String) -> Source {
    Source { url, engine: None, is_guess: false, gets_token: false }
}

fn source_at(address: SocketAddr) -> Source {
    source(format!("http://{address}/metrics"))
}

/// Creates an order whose interval is so long that only the scrapes before and after the load happen.
fn order(sources: Vec<Source>) -> Order {
    Order {
        sources,
        token: Some("s3cret".into()),
        authorities: None,
        interval: Duration::from_secs(3_600),
        timeout: Duration::from_secs(60),
        resolver: Resolver::default(),
    }
}

/// Scrapes twice, before and after a load that takes no time. Returns the result, and the figures of that load.
fn scrape(sources: Vec<Source>) -> (Scraped, WindowFigures) {
    scrape_by(order(sources))
}

fn scrape_by(order: Order) -> (Scraped, WindowFigures) {
    let scraper = Scraper::start(order).unwrap();
    scraper.before_load(&Stop::default());
    let begun = clock::monotonic();
    let ended = clock::monotonic();
    scraper.after_load(&Stop::default());
    let scraped = scraper.end().unwrap();
    let figures = scraped.store.figures(begun, ended, Duration::from_secs(1));
    (scraped, figures)
}

/// Returns why the scrapes of the only address failed.
fn reason(scraped: &Scraped) -> String {
    let [address] = scraped.addresses.as_slice() else { panic!("{:?}", scraped.addresses) };
    assert_eq!((address.scrapes, address.mean_time), (address.failures, None), "{address:?}");
    address.reasons.keys().cloned().collect::<Vec<_>>().join("; ")
}

fn tokens(count: usize) -> String {
    format!("vllm:generation_tokens_total{{engine=\"0\",model_name=\"m\"}} {count}.0\nvllm:num_requests_running 0\n")
}

#[test]
fn counters_count_from_before_the_load_to_after_it() {
    let answers = |number: usize, head: &str, stream: &mut TcpStream| match head.split(' ').nth(1) {
        Some("/metrics") => send(stream, &tokens(100 + 50 * number)),
        Some("/version") => send(stream, "{\"version\":\"0.32.0\"}"),
        Some("/v1/models") => send(stream, "{\"data\":[{\"id\":\"m\",\"max_model_len\":2048}]}"),
        _ => refuse(stream),
    };
    let (scraped, figures) = scrape(vec![source_at(serve(answers))]);
    assert_eq!((figures.generation_tokens, figures.whole, figures.resets), (Some(50.0), true, 0));
    let address = &scraped.addresses[0];
    assert_eq!((address.scrapes, address.failures, address.engine), (2, 0, Some(MetricsKind::Vllm)));
    assert!(address.mean_time <= address.max_time && address.mean_bytes.unwrap() > 50.0);
    assert_eq!(address.identity.version.as_deref(), Some("0.32.0"));
    assert_eq!(address.identity.models[0].max_model_len, Some(2_048));
    assert!(scraped.cpu > Duration::ZERO);
}

#[test]
fn a_server_that_began_again_is_noticed() {
    let answers = |number: usize, _: &str, stream: &mut TcpStream| send(stream, &tokens([500, 20][number.min(1)]));
    let (_, figures) = scrape(vec![source_at(serve(answers))]);
    assert_eq!((figures.generation_tokens, figures.whole, figures.resets), (Some(20.0), false, 1));
}

#[test]
fn the_time_of_the_server_is_of_no_interest() {
    let answers = |number: usize, _: &str, stream: &mut TcpStream| {
        let time = [1_900_000_000_000_u64, 5][number.min(1)];
        send(stream, &format!("vllm:generation_tokens_total {} {time}\n", 10 + number));
    };
    let (_, figures) = scrape(vec![source_at(serve(answers))]);
    assert_eq!((figures.generation_tokens, figures.whole), (Some(1.0), true));
}

#[test]
fn a_busy_server_is_scraped_again_after_its_load() {
    // The second scrape comes too early, right after the load. The third one, an interval later, contains all tokens.
    let answers = |number: usize, _: &str, stream: &mut TcpStream| {
        let (running, tokens) = [(0, 0), (1, 90), (0, 100)][number.min(2)];
        send(stream, &format!("vllm:num_requests_running {running}\nvllm:generation_tokens_total {tokens}\n"));
    };
    let order = Order { interval: Duration::from_millis(20), ..order(vec![source_at(serve(answers))]) };
    let scraper = Scraper::start(order).unwrap();
    scraper.before_load(&Stop::default());
    scraper.after_load(&Stop::default());
    let scraped = scraper.end().unwrap();
    let series = scraped.store.series().iter().find(|it| &*it.metric == "vllm:generation_tokens_total").unwrap();
    assert_eq!(series.last(), 100.0);
}

#[test]
fn what_is_no_text_of_metrics_is_a_gap() {
    for (body, part) in [
        ("<html>no</html>\n", "no metrics"),
        ("", "no metrics"),
        ("vllm:x", "no metrics"),
        ("\u{0}\u{1}\n", "no metrics"),
        ("<html>\nvar a = 1;\nmargin 0 auto\n", "no metrics"),
    ] {
        let (scraped, figures) = scrape(vec![source_at(serve_text(body.into()))]);
        assert!(reason(&scraped).contains(part), "{body}: {}", reason(&scraped));
        assert_eq!((figures.bracket, figures.whole), (None, false));
    }
}

#[test]
fn a_web_page_is_a_gap_even_if_it_has_a_line_like_a_sample() {
    let (scraped, _) = scrape(vec![source_at(serve(|_, _, stream| {
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: 12\r\n\r\n";
        let _ = stream.write_all(format!("{head}<html>\nup 1\n").as_bytes());
    }))]);
    assert_eq!(reason(&scraped), "a web page, and no metrics");
}

#[test]
fn a_mistyped_text_is_read_as_far_as_it_goes() {
    let text =
        format!("vllm:num_requests_running{{engine=\"0\"}} many\nvllm:kv_cache_usage_perc{{x 0.5\n{}", tokens(7));
    let (scraped, _) = scrape(vec![source_at(serve_text(text))]);
    let samples = &scraped.store.addresses()[0];
    assert_eq!((scraped.addresses[0].failures, samples.bad_lines, samples.series()), (0, 2, 2));
}

#[test]
fn a_text_that_is_cut_is_a_gap() {
    let (scraped, _) = scrape(vec![source_at(serve(|_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nvllm:num_requests_running 1\n");
    }))]);
    assert!(reason(&scraped).starts_with("the answer broke off"), "{}", reason(&scraped));
}

#[test]
fn a_long_text_and_an_endless_one_are_gaps() {
    let (scraped, _) = scrape(vec![source_at(serve(|_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 50000000\r\n\r\nvllm:num_requests_running 1\n");
    }))]);
    assert_eq!(reason(&scraped), "more than 16 MiB");
    let endless = source_at(serve(|_, _, stream| {
        let lines = "vllm:num_requests_running 1\n".repeat(40_000);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        while stream.write_all(lines.as_bytes()).is_ok() {}
    }));
    let scraper = Scraper::start(order(vec![endless])).unwrap();
    scraper.before_load(&Stop::default());
    assert_eq!(reason(&scraper.end().unwrap()), "more than 16 MiB");
}

#[test]
fn a_million_labels_are_one_bad_line() {
    let labels: String = (0..1_000_000).map(|it| format!("l{it}=\"v\",")).collect();
    let text = format!("vllm:num_requests_waiting{{{labels}}} 1\n{}", tokens(7));
    let order = order(vec![source_at(serve_text(text))]);
    let scraper = Scraper::start(order).unwrap();
    scraper.before_load(&Stop::default());
    let scraped = scraper.end().unwrap();
    assert_eq!((scraped.addresses[0].failures, scraped.store.addresses()[0].bad_lines), (0, 1));
    assert_eq!(scraped.store.series().len(), 2);
}

#[test]
fn a_server_that_hangs_is_a_gap_and_holds_up_no_other() {
    let hangs = serve(|_, _, stream| {
        // Waits until the client disconnects.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let sources = vec![source_at(hangs), source_at(serve_text(tokens(5)))];
    let (scraped, figures) = scrape_by(Order { timeout: Duration::from_millis(600), ..order(sources) });
    let [hung, good] = scraped.addresses.as_slice() else { panic!("{:?}", scraped.addresses) };
    assert!(hung.failures > 0 && hung.reasons.keys().all(|it| it.starts_with("no whole answer")), "{hung:?}");
    assert_eq!((good.failures, figures.generation_tokens, figures.whole), (0, Some(0.0), true));
}

#[test]
fn an_aborted_run_does_not_wait_for_a_server_that_hangs() {
    let hangs_later = serve(|number, head, stream| {
        if head.starts_with("GET /metrics ") && number > 0 {
            // Waits until the client disconnects.
            let _ = stream.read_to_end(&mut Vec::new());
        }
        send(stream, "vllm:num_requests_running 0\n");
    });
    let scraper =
        Scraper::start(Order { timeout: Duration::from_secs(6), ..order(vec![source_at(hangs_later)]) }).unwrap();
    let stop = Stop::default();
    scraper.before_load(&stop);
    stop.abort(StopReason::Signal);
    scraper.after_load(&stop);
    // The stopped scrape is not counted, because it neither succeeded nor failed.
    assert_eq!((scraper.end().unwrap().addresses[0].scrapes, stop.state()), (1, StopState::Abort(StopReason::Signal)));
}

#[test]
fn a_server_with_two_urls_counts_once() {
    let count = AtomicUsize::new(0);
    let address = serve(move |_, head, stream| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let text = format!("process_start_time_seconds 1.5e9\n{}", tokens(100 + number));
        if head.contains("metrics ") { send(stream, &text) } else { refuse(stream) }
    });
    let other = source(format!("http://{address}/again/metrics"));
    let (scraped, figures) = scrape(vec![source_at(address), other]);
    let [address] = scraped.addresses.as_slice() else { panic!("{:?}", scraped.addresses) };
    assert!(scraped.twins[0].1.ends_with("/again/metrics"), "{:?}", scraped.twins);
    assert!(figures.whole && figures.generation_tokens.unwrap() > 0.0, "{figures:?}");
    assert_eq!((address.failures, scraped.store.addresses()[1].scrapes().len()), (0, 0));
}

#[test]
fn a_status_a_redirect_and_a_closed_port_are_gaps() {
    for status in ["401 Unauthorized", "500 Internal Server Error", "302 Found\r\nlocation: /other"] {
        let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        let (scraped, _) = scrape(vec![source_at(serve(move |_, _, stream| {
            let _ = stream.write_all(answer.as_bytes());
        }))]);
        assert_eq!(reason(&scraped), format!("status {}", &status[..3]));
    }
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    assert!(reason(&scrape(vec![source_at(closed)]).0).starts_with("no connection"));
}

#[test]
fn a_guess_without_metrics_leaves_no_trace() {
    let guess = |address| Source { is_guess: true, ..source_at(address) };
    let (scraped, figures) = scrape(vec![guess(serve(|_, _, stream| refuse(stream)))]);
    assert!(scraped.addresses.is_empty() && scraped.unresolved.is_empty());
    assert_eq!(figures.bracket, None);
    let (scraped, _) = scrape(vec![guess(serve_text(tokens(1)))]);
    assert_eq!(scraped.addresses.len(), 1);
}

#[test]
fn a_name_leads_to_all_its_addresses() {
    let port = serve_text(tokens(1)).port();
    let (scraped, _) = scrape(vec![source(format!("http://localhost:{port}/metrics"))]);
    // The name may also resolve to an IPv6 address, but nothing listens there.
    let [address] = scraped.addresses.as_slice() else { panic!("{:?}", scraped.addresses) };
    assert_eq!((address.address, address.failures), (Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))), 0));
    let (scraped, _) = scrape(vec![source("http://no-such-host.invalid/metrics".into())]);
    assert!(scraped.addresses.is_empty());
    assert_eq!(scraped.unresolved[0].0, "http://no-such-host.invalid/metrics");
    let (scraped, _) = scrape(vec![source("http://169.254.169.254/metrics".into())]);
    assert!(scraped.unresolved[0].1.contains("link-local"));
}

#[test]
fn the_token_goes_only_to_whom_it_is_meant_for() {
    let heads = Arc::new(Mutex::new(Vec::<String>::new()));
    let seen = Arc::clone(&heads);
    let address = serve(move |_, head, stream| {
        seen.lock().unwrap().push(head.to_lowercase());
        send(stream, &tokens(1));
    });
    scrape(vec![source_at(address)]);
    assert!(heads.lock().unwrap().drain(..).all(|it| !it.contains("authorization")));
    scrape(vec![Source { gets_token: true, ..source_at(address) }]);
    assert!(heads.lock().unwrap().iter().all(|it| it.contains("authorization: bearer s3cret")));
}

#[test]
fn of_a_source_that_is_prometheus_everything_is_kept() {
    let text = "go_goroutines 12\nhttp_requests_total{code=\"200\"} 7\nvllm:num_requests_running 1\n";
    let address = serve_text(text.into());
    let (scraped, _) = scrape(vec![Source { engine: Some(MetricsKind::Prometheus), ..source_at(address) }]);
    assert_eq!(scraped.store.series().len(), 3);
    assert_eq!(scraped.addresses[0].engine, Some(MetricsKind::Prometheus));
}

#[test]
fn in_a_cluster_no_blocked_address_is_asked() {
    let answers = |_: usize, _: &str, stream: &mut TcpStream| send(stream, &tokens(1));
    let address = serve(answers);
    let blocked = Egress::cluster_default().rules("egress").unwrap();
    let port = address.port();
    let urls = [
        format!("http://127.0.0.1:{port}/metrics"),
        format!("http://localhost:{port}/metrics"),
        format!("http://0x7f.1:{port}/metrics"),
        format!("http://[::ffff:127.0.0.1]:{port}/metrics"),
        "unix:/run/vllm.sock".to_owned(),
    ];
    let order = Order { resolver: Resolver::in_cluster(blocked), ..order(urls.iter().cloned().map(source).collect()) };
    let scraper = Scraper::start(order).unwrap();
    scraper.before_load(&Stop::default());
    let scraped = scraper.end().unwrap();
    assert!(scraped.addresses.is_empty(), "{:?}", scraped.addresses);
    let mut refused: Vec<_> =
        scraped.unresolved.iter().map(|(url, why)| (url.clone(), why.contains("loopback"))).collect();
    refused.sort();
    let mut wanted: Vec<_> = urls.iter().map(|it| (it.clone(), it.starts_with("http"))).collect();
    wanted.sort();
    assert_eq!(refused, wanted, "{:?}", scraped.unresolved);
}
