//! The pages that the launcher writes, in a real browser: Chromium from Debian.
//!
//! With `SCREENSHOTS=FOLDER`, each test writes pictures of its pages into this folder.

use std::path::PathBuf;

use crate::{
    cli::chromium::Browser,
    common::{Folder, simulated},
};

/// Takes a picture of the browser's window, if pictures are requested.
pub fn screenshot(browser: &mut Browser, name: &str) {
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

/// Creates the page of a run with two stages against the embedded simulator. The simulator's metrics are read, so the page has data for every chart
/// except those about GPUs.
fn report_of(folder: &Folder) -> PathBuf {
    let stages = "{load: {type: constant, stages: [{rate: 20, duration: 2}, {rate: 60, duration: 2}]}, \
                  api: {type: completion, streaming: true}, \
                  data: {type: random, input_distribution: {min: 10, max: 30, mean: 20, std_dev: 5}, \
                  output_distribution: {min: 5, max: 15, mean: 10, std_dev: 2}}}";
    let hardware = "hardware: {accelerators: 2, pricePerAcceleratorHour: '3', currency: EUR}";
    let target = format!("  target: {{simulator: {{preset: Tiny}}, {hardware}}}");
    folder.write("run.yaml", &simulated(stages).replace("  target: {simulator: {preset: Tiny}}", &target));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    folder.path("results/latest/report.html")
}

/// Returns the names of the figures on a page for which a JavaScript condition is false.
fn figures_without(browser: &mut Browser, condition: &str) -> String {
    let all = "[...document.querySelectorAll('figure.chart')]";
    let without = browser.evaluate(&format!("{all}.filter(figure => !({condition})).map(it => it.id).join(' ')"));
    without.as_str().unwrap().to_owned()
}

/// Whether the page is wider than its window, so that a reader would have to scroll sideways.
fn is_wider(browser: &mut Browser) -> bool {
    browser.evaluate("document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth") == true
}

#[test]
fn a_report_begins_with_its_answer_and_folds_what_few_look_for() {
    let folder = Folder::new();
    let report = report_of(&folder);
    let mut browser = Browser::start(1280, 800);
    browser.open(&report);
    screenshot(&mut browser, "report-light");
    // The answer, its chart and the matrix must be on the first screen.
    for part in ["h1", ".tags", ".hero .chart-view svg", ".matrix table"] {
        let bottom = browser.evaluate(&format!("document.querySelector('{part}').getBoundingClientRect().bottom"));
        assert!(bottom.as_f64().unwrap() < 800.0, "{part} ends at {bottom}");
    }
    let height = browser.evaluate("document.documentElement.scrollHeight").as_f64().unwrap();
    assert!(height < 3_500.0, "{height} pixels high");
    assert_eq!(browser.evaluate("document.querySelectorAll('details[open]').length"), 0);
    let absent = browser.evaluate("document.getElementById('no-data').innerText");
    assert!(absent.as_str().unwrap().contains("GPU use and power"), "{absent}");

    // One of three charts is visible. This works without a script.
    let shown = "[...document.querySelectorAll('.picked')].filter(it => it.getClientRects().length > 0).map(it => it.querySelector('figure').id).join(' ')";
    assert_eq!(browser.evaluate(shown), "load-ttft");
    browser.evaluate("document.getElementById('pick-1').focus()");
    browser.press("ArrowRight");
    assert_eq!(browser.evaluate(shown), "load-tpot");
    browser.press("ArrowLeft");

    // A point shows its value when it has the focus.
    let note = "getComputedStyle(document.querySelector('#load-ttft .chart-note')).display";
    assert_eq!(browser.evaluate(note), "none");
    browser.evaluate("document.querySelector('#load-ttft .chart-point').focus()");
    assert_eq!(browser.evaluate(note), "block");

    // A click on an info icon opens its text, and Escape closes it.
    browser.evaluate("document.querySelector('#load-output details.info > summary').click()");
    assert_eq!(browser.evaluate("document.querySelectorAll('details.info[open]').length"), 1);
    browser.press("Escape");
    assert_eq!(browser.evaluate("document.querySelectorAll('details.info[open]').length"), 0);

    browser.prefer_dark(true);
    let background = "getComputedStyle(document.body).backgroundColor";
    let dark = browser.evaluate(background);
    screenshot(&mut browser, "report-dark");
    browser.prefer_dark(false);
    assert_ne!(browser.evaluate(background), dark);
    for width in [1440, 1000, 700, 390] {
        browser.resize(width, 844);
        assert!(!is_wider(&mut browser), "the page is wider than {width} pixels");
    }
    screenshot(&mut browser, "report-phone");
    // The font size in drawings does not depend on the width of the page.
    let size = "getComputedStyle(document.querySelector('#load-output .chart-view text')).fontSize";
    assert_eq!(browser.evaluate(size), "11px");
    assert_eq!(browser.faults, Vec::<String>::new());
    let bytes = std::fs::metadata(&report).unwrap().len();
    assert!(bytes < 1_000_000, "report.html has {bytes} bytes");
}

#[test]
fn every_chart_of_a_report_is_drawn_and_answers() {
    let folder = Folder::new();
    let report = report_of(&folder);
    let mut browser = Browser::start(1280, 900);
    browser.open(&report);
    browser.evaluate("document.querySelectorAll('details.fold').forEach(it => { it.open = true; })");
    let drawn = "figure.closest('.picked') || (figure.querySelector('.chart-view svg').getBoundingClientRect().width > 150 && \
                 figure.querySelectorAll('.chart-view svg :is(path, rect, circle)').length > 3)";
    assert_eq!(figures_without(&mut browser, drawn), "", "figures without a drawing");
    screenshot(&mut browser, "report-open");

    // Moving the pointer over a drawing shows values.
    let place = "(() => { const it = document.querySelector('#load-ttft .chart-view svg'); it.scrollIntoView({block: 'center'}); \
                 const place = it.getBoundingClientRect(); return [place.left, place.top, place.width, place.height]; })()";
    let place = browser.evaluate(place);
    let of = |index: usize| place[index].as_f64().unwrap();
    let tip = "(() => { const it = document.querySelector('#load-ttft .chart-tip'); return it.hidden ? '' : it.textContent; })()";
    assert_eq!(browser.evaluate(tip), "");
    let mut tips = Vec::new();
    // The points are at other positions in each run. So the pointer moves over a grid that is finer than the distance at which a point reacts.
    for step in 0..=40 * 20 {
        let (across, down) = (f64::from(step / 20) / 40.0, f64::from(step % 20) / 20.0);
        browser.point(of(0) + of(2) * across, of(1) + of(3) * down);
        tips.push(browser.evaluate(tip).as_str().unwrap().to_owned());
    }
    assert!(tips.iter().any(|it| it.contains("p50") && it.contains("ms")), "{tips:?}");

    // The same values can be reached with the keyboard.
    browser.point(1.0, 1.0);
    browser.evaluate("document.querySelector('#load-ttft .chart-view svg').focus()");
    let mut tips = Vec::new();
    for _ in 0..20 {
        browser.press("ArrowRight");
        tips.push(browser.evaluate(tip).as_str().unwrap().to_owned());
    }
    assert!(tips.iter().any(|it| it.contains("p50")), "{tips:?}");

    // A click on a name in the legend hides its series. Another click shows it again.
    let entry = "document.querySelector('#concurrency .chart-legend button')";
    let shown = "(() => { const key = document.querySelector('#concurrency .chart-legend button').dataset.key; \
                 const all = document.querySelectorAll(`#concurrency .chart-view svg [data-key=\"${key}\"]`); \
                 return [...all].filter(it => getComputedStyle(it).display !== 'none').length; })()";
    let all = browser.evaluate(shown);
    assert!(all.as_u64().unwrap() > 0, "{all}");
    browser.evaluate(&format!("{entry}.focus()"));
    browser.press("Enter");
    assert_eq!(browser.evaluate(&format!("{entry}.getAttribute('aria-pressed')")), "false");
    assert_eq!(browser.evaluate(shown), 0);
    browser.press("Enter");
    assert_eq!(browser.evaluate(shown), all);

    // The data of each chart and each table can be copied.
    let copied = "(() => { window.copied = []; \
                  Object.defineProperty(navigator, 'clipboard', {value: {writeText: it => { copied.push(it); return Promise.resolve(); }}}); \
                  document.querySelectorAll('.chart-copy').forEach(it => it.click()); return copied.length; })()";
    assert_eq!(browser.evaluate(copied), browser.evaluate("document.querySelectorAll('figure.chart').length"));
    let whole = "copied.every(it => it.startsWith('series,') && it.split('\\n').length > 2)";
    assert_eq!(browser.evaluate(whole), true);
    browser.evaluate("document.querySelector('#table-figures .copy-table').click()");
    let table = browser.evaluate("copied.at(-1)");
    let table = table.as_str().unwrap();
    let columns: Vec<usize> = table.lines().map(|it| it.split(',').count()).collect();
    assert!(
        table.starts_with("Offered load (requests/s),Offered load (requests/s) name,Answers,Requests/s,"),
        "{table}"
    );
    assert!(
        table.contains("TTFT (ms) p50,") && columns.len() == 3 && columns.iter().all(|it| *it == columns[0]),
        "{table}"
    );
    assert_eq!(browser.faults, Vec::<String>::new());
}

#[test]
fn no_script_in_the_texts_of_a_report_runs() {
    let folder = Folder::new();
    report_of(&folder);
    let hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'onmouseover=alert(3)";
    let mut report = folder.report();
    report["model"] = hostile.into();
    report["stages"][0]["name"] = hostile.into();
    report["figures"]["errorSamples"] =
        serde_json::json!({"http_500": format!("</script><svg onload=alert(4)>{hostile}")});
    report["selfJudgement"]["remarks"] = serde_json::json!([hostile]);
    folder.write("report.json", &report.to_string());
    folder.benchwright(&["page", "report.json", "-o", "hostile.html"]).assert().success();
    let mut browser = Browser::start(800, 600);
    browser.open(&folder.path("hostile.html"));
    assert!(browser.evaluate("document.body.textContent").as_str().unwrap().contains(hostile));
    assert_eq!(browser.evaluate("document.querySelectorAll('img, [onmouseover], [onerror], [onload]').length"), 0);
    assert_eq!(figures_without(&mut browser, "figure.querySelector('.chart-tip')"), "", "the script of the page ran");
    assert_eq!(browser.faults, Vec::<String>::new());
    // Even if escaping misses a script, the content security policy of the page blocks it.
    let script = "(() => { const it = document.createElement('script'); it.textContent = 'window.ran = 1'; \
                  document.body.append(it); return window.ran ?? 0; })()";
    assert_eq!(browser.evaluate(script), 0);
}

#[test]
fn the_page_of_a_comparison_is_read_without_a_fault() {
    let folder = Folder::new();
    report_of(&folder);
    std::fs::copy(folder.path("results/latest/report.json"), folder.path("first.json")).unwrap();
    report_of(&folder);
    let compare = ["compare", "first.json", "results/latest", "--html", "compare.html"];
    folder.benchwright(&compare).assert().success();
    let mut browser = Browser::start(1280, 900);
    browser.open(&folder.path("compare.html"));
    browser.evaluate("document.querySelectorAll('details.fold').forEach(it => { it.open = true; })");
    let text = browser.evaluate("document.body.innerText");
    let text = text.as_str().unwrap();
    assert!(text.contains("B against A") && text.contains("TTFT p50") && text.contains("r60"), "{text}");
    let drawn = "figure.querySelectorAll('.chart-view svg :is(path, rect, circle)').length > 3";
    assert_eq!(figures_without(&mut browser, drawn), "", "figures without a drawing");
    screenshot(&mut browser, "comparison");
    browser.resize(390, 844);
    assert!(!is_wider(&mut browser), "the page is wider than a phone");
    assert_eq!(browser.faults, Vec::<String>::new());
}
