//! The pages that the launcher writes, in a real browser: Debian's Chromium.
//!
//! With `SCREENSHOTS=FOLDER` each test leaves pictures of its pages there.

use std::path::PathBuf;

use crate::{chromium::Browser, common::Folder};

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

#[test]
fn the_browser_does_what_a_reader_does() {
    let folder = Folder::new();
    let page = "<style>body { margin: 0; height: 2000px }</style><button>seen</button><script>
        const seen = []; const button = document.querySelector('button');
        button.addEventListener('mousemove', () => seen.push('hover'));
        button.addEventListener('click', () => seen.push('click'));
        </script>";
    folder.write("page.html", page);
    let mut browser = Browser::start(800, 600);
    browser.open(&folder.path("page.html"));
    browser.point(5.0, 5.0);
    browser.evaluate("button.focus()");
    browser.press("Enter");
    assert_eq!(browser.evaluate("seen.join(' ')"), "hover click");
    for dark in [true, false] {
        browser.prefer_dark(dark);
        assert_eq!(browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"), dark);
    }
    browser.resize(390, 844);
    assert_eq!(browser.evaluate("innerWidth"), 390);
    let picture = folder.path("page.png");
    browser.screenshot(&picture);
    assert_eq!(std::fs::read(picture).unwrap()[..8], *b"\x89PNG\r\n\x1a\n");
    screenshot(&mut browser, "page");
    assert_eq!(browser.faults, Vec::<String>::new());
}
