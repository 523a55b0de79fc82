//! Tests figures in a real browser. Needs Debian's package `chromium`, which `make unit` installs.

use std::{fs, path::PathBuf, process::Command};

use charts::{Size, assets, csv, html};

/// Tests as (figure, position of the pointer, text that must appear there). If the text is `None`, none may appear.
const TIPS: [(&str, (f64, f64), Option<&str>); 9] = [
    ("ttft-over-time", (300.0, 150.0), Some("Time since start · steady 320 s p50 189 ms p90 333 ms p99 636 ms")),
    ("distributions", (300.0, 150.0), Some("Latency 278 ms TTFT 69% (58.3% to 79.7%) E2E 0% (0% to 0%)")),
    ("interactivity", (174.0, 127.0), Some("this run 32 users: 28 tok/s, 896 tok/s (833 tok/s to 950 tok/s)")),
    ("outcomes", (300.0, 150.0), Some("Time since start 128 s completed 43 cancelled 3 timeout 6")),
    ("itl-heat", (300.0, 196.0), Some("Time since start 214 s gaps 5 from 31.7 ms to 39.9 ms")),
    (
        "requests",
        (300.0, 150.0),
        Some(
            "Time since start 14.9 s stage 0, request 38 success due at 9.59 s waited 0 s to the first token 698 ms then to the end 4.8 s",
        ),
    ),
    ("load", (300.0, 150.0), Some("Time since start 480 s sent 19.3 req/s planned 20 req/s")),
    (
        "stages",
        (300.0, 150.0),
        Some(
            "Time in the stage 21 s stage 1 1360 tok/s stage 2 2609 tok/s stage 3 4218 tok/s stage 4 6086 tok/s stage 5 7875 tok/s stage 6 9319 tok/s stage 7 10470 tok/s stage 8 11648 tok/s",
        ),
    ),
    ("empty", (300.0, 150.0), None),
];

fn quoted(text: &str) -> String {
    format!("{text:?}").replace('<', "\\u003c").replace("\\'", "'")
}

fn page() -> String {
    let figures: String =
        crate::samples::all().iter().map(|it| html::figure(it, Size { width: 560.0, height: 300.0 })).collect();
    let wanted = crate::samples::all().into_iter().map(|figure| {
        let (_, at, tip) = TIPS.into_iter().find(|it| it.0 == figure.id).expect("each figure has a line in the table");
        let (csv, tip) = (quoted(&csv::write(&figure)), tip.map_or("null".to_owned(), quoted));
        format!("{}:{{\"csv\":{csv},\"at\":[{},{}],\"tip\":{tip}}}", quoted(&figure.id), at.0, at.1)
    });
    let wanted = wanted.collect::<Vec<_>>().join(",");
    format!(
        concat!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">",
            // The policy blocks all requests, and also event handlers and styles in markup.
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-a'; style-src 'nonce-a'\">",
            "<style nonce=\"a\">{style}</style><body>",
            "<button class=\"theme-switch\" hidden>Theme</button>{figures}<pre id=\"result\">not run</pre>",
            "<script type=\"application/json\" id=\"wanted\">{{{wanted}}}</script><script nonce=\"a\">{script}</script><script nonce=\"a\">{check}</script>"
        ),
        style = assets::style(),
        figures = figures,
        wanted = wanted,
        script = assets::SCRIPT,
        check = include_str!("check.js")
    )
}

#[test]
fn figures_answer_to_pointer_keyboard_and_buttons() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("figures.html");
    fs::write(&path, page()).expect("the page is written");
    let url = format!("file://{}", path.display());
    let arguments =
        ["--headless=new", "--no-sandbox", "--window-size=1000,4000", "--virtual-time-budget=5000", "--dump-dom", &url];
    let run = Command::new("chromium").args(arguments).output().expect("Chromium runs");
    let page = String::from_utf8_lossy(&run.stdout);
    let result = page.split("<pre id=\"result\">").nth(1).and_then(|it| it.split("</pre>").next());
    assert_eq!(result, Some("PASSED"));
}
