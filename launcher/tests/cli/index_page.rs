//! `benchwright index`: the page that lists all runs of a results folder, in a browser.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    cli::{chromium::Browser, pages::screenshot},
    common::Folder,
};

/// Writes a report with the values that the page shows.
fn report(root: &Path, folder: &str, name: &str, day: u32, ttft: f64) {
    let mut report: Value = serde_json::from_str(include_str!("../../page/fixtures/report.json")).unwrap();
    let with = |mut figures: Value, ttft: f64| {
        figures["ttftMs"]["p50"] = ttft.into();
        figures["ttftMs"]["p99"] = (2.0 * ttft).into();
        figures
    };
    let stage = report["stages"][0].clone();
    let stages = [("c1", ttft), ("c2", 2.0 * ttft)].map(|(name, ttft)| {
        let mut stage = stage.clone();
        stage["name"] = name.into();
        stage["figures"] = with(stage["figures"].take(), ttft);
        stage
    });
    report["stages"] = json!(stages);
    report["figures"] = with(report["figures"].take(), ttft);
    report["run"]["name"] = name.into();
    report["model"] = if day.is_multiple_of(2) { "org/even" } else { "org/odd" }.into();
    report["started"] = format!("2026-01-{day:02}T03:04:05Z").into();
    report["outcome"] = if day.is_multiple_of(3) { "SLOViolated" } else { "Passed" }.into();
    report["timeSeries"] = json!({
        "binMs": 500.0, "startMs": 0.0, "firstEventMs": 0.0, "lastEventMs": 3_500.0, "due": [], "sent": [], "ended": {},
        "underWay": [], "outputTokens": [0, 5, 10, 12, 9, 11, 10],
    });
    report["resolvedRun"]["endpoint"] = json!({"url": "http://gateway:80"});
    report["resolvedRun"]["profileSource"] = "sanity_random.yaml".into();
    fs::create_dir_all(root.join(folder)).unwrap();
    fs::write(root.join(folder).join("report.json"), report.to_string()).unwrap();
    fs::write(root.join(folder).join("report.md"), "# A report").unwrap();
}

/// Creates a results folder with its page.
fn index(runs: impl Fn(&Path)) -> Folder {
    let folder = Folder::new();
    let root = folder.path("results");
    fs::create_dir(&root).unwrap();
    runs(&root);
    folder.benchwright(&["index"]).assert().success();
    folder
}

fn open(browser: &mut Browser, folder: &Folder) {
    browser.open(&folder.path("results/index.html"));
}

/// Returns the names in the visible rows.
fn names(browser: &mut Browser) -> Vec<String> {
    let names = browser.evaluate("[...document.querySelectorAll('tbody td.name a')].map(it => it.textContent)");
    serde_json::from_value(names).unwrap()
}

#[test]
fn runs_are_sorted_and_filtered_by_mouse_and_keyboard() {
    let folder = index(|root| {
        for (day, name, ttft) in [(1, "chat", 50.0), (2, "rag", 20.0), (3, "code", 1_500.0), (4, "chat 2", 30.0)] {
            report(root, &format!("2026010{day}-{name}"), name, day, ttft);
        }
    });
    let mut browser = Browser::start(1_280, 900);
    open(&mut browser, &folder);
    assert_eq!(names(&mut browser), ["chat 2", "code", "rag", "chat"], "the newest first");
    assert_eq!(browser.evaluate("document.querySelectorAll('tbody svg polyline').length"), 4);
    let head = "[...document.querySelectorAll('thead button')].find(it => it.textContent === 'TTFT p50')";
    browser.evaluate(&format!("{head}.click()"));
    assert_eq!(names(&mut browser), ["code", "chat", "chat 2", "rag"], "the largest first");
    browser.evaluate(&format!("{head}.focus()"));
    browser.press("Enter");
    assert_eq!(names(&mut browser), ["rag", "chat 2", "chat", "code"]);
    assert_eq!(browser.evaluate("document.querySelector('th[aria-sort]').ariaSort"), "ascending");

    let set = |id: &str, value: &str| {
        format!(
            "(it => {{ it.value = '{value}'; it.dispatchEvent(new Event('input')); }})(document.getElementById('{id}'))"
        )
    };
    browser.evaluate(&set("text", "CHAT sanity"));
    assert_eq!(names(&mut browser), ["chat 2", "chat"]);
    browser.evaluate(&set("model", "org/odd"));
    assert_eq!(names(&mut browser), ["chat"]);
    assert_eq!(browser.evaluate("document.getElementById('count').textContent"), "1 of 4 folders");
    browser.evaluate(&set("outcome", "SLOViolated"));
    assert_eq!(names(&mut browser), Vec::<String>::new());
    browser.evaluate("document.querySelector('button[type=reset]').click()");
    // The page updates itself after the event handler, so wait for the next task.
    browser.evaluate("new Promise(done => setTimeout(done, 0))");
    assert_eq!(names(&mut browser).len(), 4);
    screenshot(&mut browser, "index");
    assert_eq!(browser.faults, Vec::<String>::new());
}

#[test]
fn a_row_leads_to_its_report_whatever_its_folder_is_called() {
    let hostile = "<img src=x onerror=alert(1)>";
    let folders = ["javascript:alert(1)", "a b#c?d%41", "\"><script>alert(1)", "x..%2e%2e", "\u{fc}ml"];
    let folder = index(|root| {
        for (day, name) in (1..).zip(folders) {
            report(root, name, hostile, day, 10.0);
        }
        fs::create_dir(root.join("killed.partial")).unwrap();
        fs::create_dir(root.join("half")).unwrap();
        fs::write(root.join("half/report.json"), "{\"format\": ").unwrap();
    });
    let mut browser = Browser::start(1_280, 900);
    open(&mut browser, &folder);
    assert_eq!(names(&mut browser), [hostile; 5]);
    assert_eq!(browser.evaluate("document.querySelectorAll('img, tbody script').length"), 0);
    assert_eq!(browser.evaluate("document.querySelectorAll('tbody tr').length"), 7);
    screenshot(&mut browser, "index-hostile");
    let links = browser
        .evaluate("[...document.querySelectorAll('tbody a')].map(it => decodeURIComponent(new URL(it.href).pathname))");
    let links: Vec<String> = serde_json::from_value(links).unwrap();
    for link in &links {
        assert_eq!(fs::read_to_string(link).unwrap(), "# A report", "{link}");
    }
    assert_eq!(links.len(), folders.len());
    assert_eq!(browser.faults, Vec::<String>::new());
}

#[test]
fn a_long_page_shows_some_rows_at_a_time_and_fits_a_phone() {
    let folder = index(|root| {
        for number in 0..450 {
            let name = format!("a run with a long name, number {number}");
            report(root, &format!("run-{number:03}"), &name, 1 + number % 28, f64::from(number + 1));
        }
    });
    let mut browser = Browser::start(390, 844);
    open(&mut browser, &folder);
    assert_eq!(names(&mut browser).len(), 200);
    let width = browser.evaluate("document.documentElement.scrollWidth").as_f64().unwrap();
    assert!(width <= 390.0, "{width} pixels wide");
    for shown in [400, 450] {
        browser.evaluate("document.getElementById('more').click()");
        assert_eq!(names(&mut browser).len(), shown);
    }
    assert_eq!(browser.evaluate("document.getElementById('more').hidden"), true);
    assert_eq!(browser.faults, Vec::<String>::new());
}
