//! Checks links between pages, to headings, and to other files in the repository.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use super::{Page, pages, prose, root};

/// Returns the targets of the links and pictures in a line, except for those in code.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let prose = line.match_indices("](").filter(|(at, _)| line[..*at].matches('`').count().is_multiple_of(2));
    prose.filter_map(|(at, _)| line[at + 2..].split([')', ' ']).next())
}

/// Returns the anchor of a heading, as GitHub and mdBook generate it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim();
    let text = text.chars().filter(|it| it.is_alphanumeric() || [' ', '-', '_'].contains(it));
    text.map(|it| if it == ' ' { '-' } else { it.to_ascii_lowercase() }).collect()
}

/// Returns the anchors of a page. If a heading occurs several times, its later anchors have a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::new();
    let headings = prose(text).map(|(_, it)| it).filter(|it| it.starts_with('#'));
    headings
        .map(|heading| {
            let anchor = anchor(heading);
            let count = seen.entry(anchor.clone()).or_insert(0);
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

/// Resolves `..` in a path that is relative to the root of the repository.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, it| {
        match it {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
        plain
    })
}

/// Returns the file and the anchor of a link. `None` if it links to another site.
fn target<'a>(page: &Page, link: &'a str) -> Option<(PathBuf, Option<&'a str>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { page.path.clone() } else { plain(&page.path.with_file_name("").join(path)) };
    Some((path, anchor))
}

#[test]
fn every_link_leads_to_a_file_and_to_a_heading() {
    let pages = pages();
    let anchors: BTreeMap<&Path, BTreeSet<String>> =
        pages.iter().map(|it| (it.path.as_path(), anchors(&it.text))).collect();
    let mut faults = Vec::new();
    let mut checked = 0;
    for page in &pages {
        for (line, link) in prose(&page.text).flat_map(|(line, text)| links(text).map(move |it| (line, it))) {
            let Some((path, anchor)) = target(page, link) else { continue };
            checked += 1;
            let place = format!("{}:{line}: {link}", page.path.display());
            match (anchors.get(path.as_path()), anchor) {
                (Some(anchors), Some(anchor)) if !anchors.contains(anchor) => {
                    faults.push(format!("{place}: the page has no such heading; write the anchor of one that it has"));
                }
                (Some(_), _) => {}
                (None, _) if root().join(&path).exists() => {}
                (None, _) => faults.push(format!("{place}: there is no such file; correct the path")),
            }
        }
    }
    assert!(checked > 100, "only {checked} links were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_summary_lists_every_page() {
    let pages = pages();
    let summary = pages.iter().find(|it| it.path == Path::new("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> =
        summary.text.lines().flat_map(links).filter_map(|it| Some(target(summary, it)?.0)).collect();
    let is_page = |it: &&Page| it.path.starts_with("docs") && it.path != summary.path;
    let missing: Vec<_> = pages.iter().filter(is_page).map(|it| &it.path).filter(|it| !listed.contains(*it)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lists each page of the site; add a line for {missing:?}");
}
