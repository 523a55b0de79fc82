//! The pages that the launcher writes, in a real browser: Debian's Chromium.
//!
//! With `SCREENSHOTS=FOLDER` each test leaves pictures of its pages there.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "browser/chromium.rs"]
mod chromium;
mod common;

use std::path::PathBuf;

use chromium::Browser;
use common::{Folder, profile, simulated};

/// A picture of what the browser shows, where pictures are asked for.
fn screenshot(browser: &mut Browser, name: &str) {
    if let Some(folder) = std::env::var_os("SCREENSHOTS") {
        browser.screenshot(&PathBuf::from(folder).join(format!("{name}.png")));
    }
}

#[test]
fn the_browser_reports_what_a_page_must_not_do() {
    let folder = Folder::new();
    let bad =
        "<script>console.log('hello'); fetch('http://127.0.0.1:1/').catch(() => {}); throw new Error('bad')</script>";
    folder.write("bad.html", bad);
    let mut browser = Browser::start(800, 600);
    browser.open(&folder.path("bad.html"));
    browser.evaluate("new Promise(done => setTimeout(done, 0))");
    let faults = browser.faults.join("\n");
    for part in ["the console", "a request: http://127.0.0.1:1/", "an exception"] {
        assert!(faults.contains(part), "{part} is missing in: {faults}");
    }
    assert_eq!(browser.evaluate("1 + 1"), 2);
}
