//! Tests the script and the style of a page.

use charts::assets::{SCRIPT, style};

#[test]
fn the_script_is_small_and_makes_no_markup_of_texts() {
    assert!(SCRIPT.len() < 12_600, "{} bytes", SCRIPT.len());
    for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
        assert!(!SCRIPT.contains(way), "{way}");
    }
}

#[test]
fn nothing_is_loaded_and_nothing_ends_the_element_around_an_asset() {
    for asset in [SCRIPT, &style()] {
        for text in ["</", "<!--", "@import", "url(", "fetch(", "XMLHttpRequest", "import("] {
            assert!(!asset.contains(text), "{text}");
        }
        assert!(!asset.replace("http://www.w3.org/", "").contains("http"), "an address");
    }
}
