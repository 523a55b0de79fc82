//! Tests what every report contains from the servers' metrics.

use std::{collections::BTreeSet, fs, fs::File, path::Path, sync::Arc, time::Duration};

use analysis::servers::{ClientTokens, ServerAnalysis, TokenRange};
use crds::benchmark_run::MetricsKind;
use document::ReportDocument;
use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::RowAccessor as _,
};
use report::{Attachments, Folder, markdown};
use serde_json::Value;
use server_metrics::{
    identity::{Identity, Model},
    scraped::{Address, Scraped},
    series::{Answer, Keep, Store},
};

use crate::{
    fixture::{Analysed, Fixture, ms},
    json_of_report, keys,
};

/// Time zero of the run on the machine's clock.
const ZERO: Duration = Duration::from_secs(1_000);

/// Metrics with everything that a server can report, after `tokens` tokens.
fn text(tokens: u64, running: u64) -> String {
    let histogram = |name: &str| {
        format!(
            "vllm:{name}_bucket{{le=\"0.1\"}} {tokens}\nvllm:{name}_bucket{{le=\"+Inf\"}} {tokens}\nvllm:{name}_sum {tokens}\nvllm:{name}_count {tokens}\n"
        )
    };
    let mut text: String = [
        "time_to_first_token_seconds",
        "inter_token_latency_seconds",
        "e2e_request_latency_seconds",
        "request_queue_time_seconds",
        "request_prefill_time_seconds",
        "request_decode_time_seconds",
    ]
    .map(histogram)
    .concat();
    for name in [
        "prompt_tokens",
        "generation_tokens",
        "request_success",
        "prefix_cache_queries",
        "prefix_cache_hits",
        "num_preemptions",
    ] {
        text += &format!("vllm:{name}_total {tokens}\n");
    }
    text += "process_start_time_seconds 100\n";
    text += &format!("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION {tokens}\n");
    for name in [
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        "vllm:kv_cache_usage_perc",
        "inference_pool_ready_pods",
        "inference_pool_average_queue_size",
        "inference_pool_average_kv_cache_utilization",
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_FB_USED",
    ] {
        text += &format!("{name} {running}\n");
    }
    text
}

fn tokens_of_client(prompt: u64, output: u64) -> ClientTokens {
    ClientTokens { prompt: TokenRange::exact(prompt), output: TokenRange::exact(output) }
}

/// The metrics of a server that counted this number of tokens, and as many requests, by the end of the load.
pub fn server(analysed: &Analysed, tokens: u64, client: Option<ClientTokens>) -> ServerAnalysis {
    server_of(analysed, tokens, client, tokens)
}

/// The metrics of the same server after a run of at most `most_requests` requests.
fn server_of(analysed: &Analysed, tokens: u64, client: Option<ClientTokens>, most_requests: u64) -> ServerAnalysis {
    let mut store = Store::default();
    let index = store.add_address(None);
    for (at, tokens, running) in [(-1_i64, 0, 0), (0, 1, 2), (2, tokens / 2, 4), (6, tokens, 0)] {
        let at = if at < 0 { ZERO - ms(at.unsigned_abs() * 1_000) } else { ZERO + ms(at.unsigned_abs() * 1_000) };
        let text = text(tokens, running);
        store.record(index, Answer { at, took: ms(3), text: Some(text.as_bytes()), edge: false }, Keep::Known);
    }
    store.record(index, Answer { at: ZERO + ms(7_000), took: ms(9), text: None, edge: false }, Keep::Known);
    let identity = Identity {
        engine: Some(MetricsKind::Vllm),
        version: Some("0.32.0".into()),
        models: vec![Model { id: "org/model-8b".into(), max_model_len: Some(2_048) }],
        cache_config: [("block_size".to_owned(), "16".to_owned())].into(),
        gpus: [("NVIDIA H100".to_owned(), 2)].into(),
    };
    let address = Address {
        url: "http://vllm.llm-d:8000/metrics".into(),
        address: Some(([10, 0, 0, 7], 8_000).into()),
        index,
        engine: Some(MetricsKind::Vllm),
        identity,
        scrapes: 5,
        failures: 1,
        reasons: [("status 503".to_owned(), 1)].into(),
        mean_time: Some(ms(3)),
        max_time: Some(ms(9)),
        mean_bytes: Some(1_000.0),
    };
    let scraped = Scraped {
        store,
        addresses: vec![address],
        unresolved: Vec::new(),
        twins: Vec::new(),
        left_out: 0,
        interval: ms(1_000),
        cpu: ms(12),
    };
    ServerAnalysis::new(Arc::new(scraped), ZERO, ms(5_000), &analysed.analysis.stages, client, Some(most_requests))
}

fn json(fixture: &Fixture, analysed: &Analysed, server: &ServerAnalysis) -> Value {
    json_of_report(&fixture.report(&with(analysed, server)))
}

/// Adds the servers' figures to an analysis.
pub fn with(analysed: &Analysed, server: &ServerAnalysis) -> Analysed {
    let mut analysed = analysed.clone();
    analysed.analysis.servers = Some(server.clone());
    analysed
}

#[test]
fn every_figure_of_servers_stands_in_the_documentation_and_is_read_again() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let server = server(&analysed, 260, Some(tokens_of_client(260, 65)));
    let json = json(&fixture, &analysed, &server);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let documentation = fs::read_to_string(path).unwrap();
    let mut found = BTreeSet::new();
    keys(&json["serverMetrics"], &mut found);
    // Names of GPUs, settings and reasons come from the servers, so no documentation lists them.
    for data in ["NVIDIA H100", "block_size", "status 503"] {
        assert!(found.remove(data), "{data}");
    }
    assert!(found.len() > 50, "{found:?}");
    let undocumented: Vec<&String> = found.iter().filter(|it| !documentation.contains(&format!("`{it}`"))).collect();
    assert!(undocumented.is_empty(), "{undocumented:?}");
    let text = serde_json::to_string(&json).unwrap();
    let read = ReportDocument::read(&text).unwrap();
    assert_eq!(read.server_metrics.unwrap().stages.len(), 2);
}

#[test]
fn the_run_counts_from_before_the_first_request_to_after_the_last() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let json = json(&fixture, &analysed, &server(&analysed, 260, None));
    let run = &json["serverMetrics"]["run"];
    assert_eq!((&run["fromMs"], &run["toMs"], &run["whole"]), (&(-1_000.0).into(), &6_000.0.into(), &true.into()));
    assert_eq!(run["promptTokens"], 260.0);
    assert_eq!((&run["runningRequests"]["max"], &run["prefixCacheHitShare"]), (&4.0.into(), &1.0.into()));
    // The first stage ends before the scrape at 2 s.
    assert_eq!(json["serverMetrics"]["stages"][0]["figures"]["generationTokens"], 130.0);
    assert!(json["serverMetrics"].get("clientPromptTokens").is_none());
}

#[test]
fn the_course_of_a_run_has_a_column_for_each_metric() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let json = json(&fixture, &analysed, &server(&analysed, 260, None));
    let series = &json["serverMetrics"]["timeSeries"];
    // The load took five seconds.
    assert_eq!((&series["binMs"], &series["startMs"]), (&1_000.0.into(), &0.0.into()));
    let columns = series.as_object().unwrap().values().filter_map(Value::as_array);
    assert!(columns.clone().count() == 11 && columns.clone().all(|it| it.len() == 5), "{series}");
    assert_eq!(series["runningRequests"], serde_json::json!([2.0, 2.0, 4.0, 4.0, 4.0]));
    assert_eq!(series["gpuUtilization"][2], 0.04);
    // The counter was 1 at the start, 130 at 2 s, and 260 at 6 s.
    assert_eq!(series["generationTokensPerSecond"], serde_json::json!([64.5, 64.5, 32.5, 32.5, 32.5]));
    assert_eq!((&series["prefixCacheHitShare"][0], &series["failedScrapes"][4]), (&1.0.into(), &0.into()));
}

#[test]
fn tokens_that_differ_are_a_remark_in_json_and_markdown() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let same = server(&analysed, 260, Some(tokens_of_client(260, 250)));
    let mismatch = |it: &ServerAnalysis| it.remarks.iter().filter(|it| it.contains("tokens during the run")).count();
    assert_eq!(mismatch(&same), 0, "{:?}", same.remarks);
    let more = server(&analysed, 5_200, Some(tokens_of_client(260, 5_200)));
    assert_eq!(mismatch(&more), 1, "{:?}", more.remarks);
    let page = markdown::render(&fixture.report(&with(&analysed, &more)).document().unwrap());
    for part in [
        "## Server",
        "- vLLM 0.32.0: org/model-8b (up to 2048 tokens), block_size 16, 2 x NVIDIA H100",
        "| run |",
        "| GPU use |",
        "5200 prompt tokens",
        "1 of 5 scrapes of http://vllm.llm-d:8000/metrics (10.0.0.7:8000) failed, mostly: status 503",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn requests_of_other_clients_are_a_remark_in_json_and_markdown() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let shared = server_of(&analysed, 2_000, Some(tokens_of_client(1_000, 1_000)), 1_760);
    let expected =
        "the server finished 240 requests that this run did not send (12 % of its 2000): another client used it";
    let remarks = |it: &ServerAnalysis| it.remarks.iter().filter(|it| it.contains("did not send")).count();
    assert!(shared.remarks.iter().any(|it| it.starts_with(expected)), "{:?}", shared.remarks);
    // Requests of other clients would also explain the difference in tokens, so it is not reported.
    assert!(!shared.remarks.iter().any(|it| it.contains("tokens during the run")), "{:?}", shared.remarks);
    assert_eq!(json(&fixture, &analysed, &shared)["serverMetrics"]["otherRequests"], 240.0);
    let page = markdown::render(&fixture.report(&with(&analysed, &shared)).document().unwrap());
    assert!(page.contains(expected), "{page}");
    let alone = server(&analysed, 2_000, None);
    assert_eq!((remarks(&alone), alone.others.map(|it| it.others)), (0, Some(0.0)));
    assert_eq!(json(&fixture, &analysed, &alone)["serverMetrics"]["otherRequests"], 0.0);
}

#[test]
fn counts_that_cannot_be_compared_say_nothing_about_other_clients() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let like = server(&analysed, 260, None).scraped;
    let others = |scrapes: &[(u64, u64)], most_requests| {
        let mut store = Store::default();
        let index = store.add_address(None);
        for (at, count) in scrapes {
            let (at, text) = (ZERO + ms(*at) - ms(1_000), text(*count, 0));
            let answer = Answer { at, took: ms(3), text: Some(text.as_bytes()), edge: false };
            store.record(index, answer, Keep::Known);
        }
        let scraped = Arc::new(Scraped { store, ..Scraped::clone(&like) });
        let report = ServerAnalysis::new(scraped, ZERO, ms(5_000), &analysed.analysis.stages, None, most_requests);
        assert_eq!(
            json(&fixture, &analysed, &report)["serverMetrics"].get("otherRequests").is_some(),
            report.others.is_some()
        );
        report.others.map(|it| it.others)
    };
    assert_eq!(others(&[(0, 100), (3_000, 300), (7_000, 600)], Some(400)), Some(100.0));
    // If a server may count one request as several, there is no maximum, and nothing is reported.
    assert_eq!(others(&[(0, 100), (3_000, 300), (7_000, 600)], None), None);
    // After a restart, or without a scrape after the run, nothing is known.
    assert_eq!(others(&[(0, 1_000), (3_000, 300), (7_000, 900)], Some(400)), None);
    assert_eq!(others(&[(0, 100), (3_000, 900)], Some(400)), None);
}

/// The line about tokens in `report.md`.
fn line_on_tokens(fixture: &Fixture, analysed: &Analysed, server: &ServerAnalysis) -> String {
    let page = markdown::render(&fixture.report(&with(analysed, server)).document().unwrap());
    let line = page
        .lines()
        .find_map(|it| it.strip_prefix("- tokens counted by the servers and by the usage of the answers: "));
    line.unwrap_or_else(|| panic!("no line in {page}")).to_owned()
}

#[test]
fn report_md_says_whether_the_tokens_of_both_are_equal() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let told = |server: &ServerAnalysis| line_on_tokens(&fixture, &analysed, server);
    let with = |client| server(&analysed, 260, client);
    let equal = with(Some(tokens_of_client(260, 260)));
    assert_eq!(told(&equal), "equal: servers and answers report 260 prompt and 260 output tokens");
    let differ = with(Some(tokens_of_client(250, 260)));
    assert_eq!(
        told(&differ),
        "differ: the servers counted 260 prompt tokens, and the answers report 250 (+10); the servers counted 260 output tokens, and the answers report 260 (+0)"
    );
    assert_eq!(told(&with(None)), "not compared, because 1 requests did not succeed, so their tokens are not known");
    let some = TokenRange { known: 250, most: Some(300) };
    let open = TokenRange { known: 250, most: None };
    assert_eq!(
        told(&with(Some(ClientTokens { prompt: some, output: open }))),
        "not compared, because 1 requests did not succeed, so their tokens are not known: the servers counted 260 prompt tokens, and the answers report 250 to 300; the servers counted 260 output tokens, and the answers report 250 or more"
    );
    let changed = |change: fn(&mut ServerAnalysis)| {
        let mut server = equal.clone();
        change(&mut server);
        told(&server)
    };
    assert!(changed(|it| it.run.resets = 1).contains("a counter of the servers was reset"));
    assert!(changed(|it| it.run.whole = false).contains("do not cover the run"));
    assert!(changed(|it| it.run.prompt_tokens = None).contains("report no prompt and output tokens"));
}

#[test]
fn a_row_whose_counters_are_not_whole_is_marked() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let mut server = server(&analysed, 260, None);
    let page =
        |server: &ServerAnalysis| markdown::render(&fixture.report(&with(&analysed, server)).document().unwrap());
    let legend = "\n\\* not every server was scraped right before";
    server.stages.iter_mut().flatten().for_each(|it| it.whole = true);
    assert!(
        !page(&server).contains(legend)
            && page(&server).contains("It includes up to one scrape interval outside the stage")
    );
    server.stages[1].as_mut().unwrap().whole = false;
    let text = page(&server);
    assert!(text.contains(legend) && text.contains("\n| c2 \\* | ") && text.contains("\n| r10 | "), "{text}");
}

#[test]
fn what_the_servers_cannot_tell_is_left_out_with_a_remark() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let said = |scrapes: &[(u64, u64, u64)]| {
        let mut scraped = Scraped::clone(&server(&analysed, 260, None).scraped);
        scraped.store = Store::default();
        let index = scraped.store.add_address(None);
        for (at, start, tokens) in scrapes {
            let text = text(*tokens, 1).replace("seconds 100\n", &format!("seconds {start}\n"));
            let at = ZERO + ms(*at) - ms(1_000);
            scraped.store.record(
                index,
                Answer { at, took: ms(3), text: Some(text.as_bytes()), edge: false },
                Keep::Known,
            );
        }
        scraped.twins = vec![("http://a/metrics".into(), "http://b/metrics".into())];
        let server = ServerAnalysis::new(Arc::new(scraped), ZERO, ms(5_000), &analysed.analysis.stages, None, Some(0));
        let json = json(&fixture, &analysed, &server);
        assert_eq!((&json["serverMetrics"]["run"]["whole"], server.run.prompt_tokens), (&false.into(), None));
        assert!(json["serverMetrics"]["run"].get("serverTtftMs").is_none());
        server.remarks.join("; ")
    };
    let turns = said(&[(0, 100, 50), (2_000, 200, 9_000), (4_000, 100, 60), (6_500, 200, 9_010)]);
    assert!(
        turns.contains("several servers answered in turn at http://vllm.llm-d:8000/metrics (10.0.0.7:8000)"),
        "{turns}"
    );
    assert!(turns.contains("http://b/metrics is the same server as http://a/metrics"), "{turns}");
    let gap = said(&[(0, 100, 50), (60_000, 100, 90_000)]);
    assert!(gap.contains("2 of 2 stages and the run lack increases"), "{gap}");
}

#[test]
fn every_sample_is_a_row_on_the_clock_of_the_run() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let server = server(&analysed, 260, None);
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(root.path(), "a1").unwrap();
    let analysed = with(&analysed, &server);
    let report = fixture.report(&analysed);
    report::write_report(&mut folder, &report, &report.document().unwrap(), &Attachments::default(), None).unwrap();
    let stored = folder.finish().unwrap();
    assert!(stored.artifacts.iter().any(|it| it.name == "server_metrics.parquet"));
    let reader = SerializedFileReader::new(File::open(stored.path.join("server_metrics.parquet")).unwrap()).unwrap();
    let rows: Vec<(i64, String, String, f64)> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|it| it.unwrap())
        .map(|it| {
            (
                it.get_long(0).unwrap(),
                it.get_string(1).unwrap().clone(),
                it.get_string(2).unwrap().clone(),
                it.get_double(4).unwrap(),
            )
        })
        .collect();
    let of =
        |metric: &str| -> Vec<(i64, f64)> { rows.iter().filter(|it| it.2 == metric).map(|it| (it.0, it.3)).collect() };
    let second = 1_000_000_000;
    assert_eq!(of("up"), [(-second, 1.0), (0, 1.0), (2 * second, 1.0), (6 * second, 1.0), (7 * second, 0.0)]);
    assert_eq!(of("scrape_duration_seconds")[4], (7 * second, 0.009));
    assert_eq!(of("vllm:num_requests_running"), [(-second, 0.0), (0, 2.0), (2 * second, 4.0), (6 * second, 0.0)]);
    assert!(rows.iter().all(|it| it.1 == "http://vllm.llm-d:8000/metrics 10.0.0.7:8000"));
    assert_eq!(reader.metadata().file_metadata().num_rows(), rows.len() as i64);
}
