use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crds::{benchmark_run::Api, resolve::Egress};
use workload_profiles::workload::{
    DataSet, DataSetFormat, PromptColumn, PromptForm, RecordedFiles, RecordedSessions, RequestSource,
};

use super::*;
use crate::test_server::{answer, path, serve};

/// A server with a different response for each path. It counts the requests.
fn server() -> (String, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let address = serve("127.0.0.1:0", move |head| {
        counted.fetch_add(1, Ordering::Relaxed);
        match path(head).split('?').next().unwrap() {
            "/d.json" => answer("200 OK", "abc"),
            "/moved" => answer("302 Found\r\nlocation: /d.json", ""),
            "/away" => answer("302 Found\r\nlocation: http://169.254.169.254/", ""),
            "/round" => answer("302 Found\r\nlocation: /round", ""),
            "/short" => "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nabc".to_owned(),
            "/huge" => format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", MAX_BYTES + 1),
            _ => answer("404 Not Found", ""),
        }
    });
    (format!("http://{address}"), requests)
}

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn workload(url: &str, sha256: Option<&str>) -> Workload {
    let prompt = PromptColumn::from_form(PromptForm::Text);
    let mut set = DataSet::new("d", DataSetFormat::Json, prompt, 1, 1);
    set.file = FileSource::Url(RemoteFile { url: url.into(), sha256: sha256.map(str::to_owned) });
    Workload::new(Api::Completions, RequestSource::DataSet(set), Vec::new())
}

fn check(folder: &Path, url: &str, sha256: Option<&str>) -> Result<PathBuf, String> {
    let (mut workload, downloaded) =
        download(workload(url, sha256), folder, &Resolver::default()).map_err(|error| error.to_string())?;
    let path = workload.files_mut().next().unwrap().clone();
    assert_eq!(downloaded, [Downloaded { url: url.split('?').next().unwrap().to_owned(), path: path.clone() }]);
    Ok(path)
}

/// Number of files below a folder, without lock files.
fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    entries.filter(|it| !it.ends_with(LOCK)).map(|it| if it.is_dir() { files(&it) } else { 1 }).sum()
}

#[test]
fn a_file_is_downloaded_once_and_kept_under_a_name_that_tells_its_format() {
    let (base, requests) = server();
    let folder = tempfile::tempdir().unwrap();
    let path = check(folder.path(), &format!("{base}/d.json?token=secret"), None).unwrap();
    assert_eq!(
        (fs::read(&path).unwrap().as_slice(), path.file_name().unwrap().to_str()),
        (b"abc".as_slice(), Some("d.json"))
    );
    assert_eq!(
        check(folder.path(), &format!("{base}/d.json?token=secret"), Some(&ABC.to_uppercase())),
        Ok(path.clone())
    );
    assert_eq!(requests.load(Ordering::Relaxed), 1);
    // A file that was changed after its download is downloaded again.
    fs::write(&path, "other").unwrap();
    check(folder.path(), &format!("{base}/d.json?token=secret"), Some(ABC)).unwrap();
    assert_eq!((fs::read(&path).unwrap().as_slice(), requests.load(Ordering::Relaxed)), (b"abc".as_slice(), 2));
    check(folder.path(), &format!("{base}/moved"), Some(ABC)).unwrap();
}

#[test]
fn a_file_that_is_not_the_wanted_one_is_not_kept() {
    let (base, _) = server();
    let folder = tempfile::tempdir().unwrap();
    let wanted = "0".repeat(64);
    let error = check(folder.path(), &format!("{base}/d.json"), Some(&wanted)).unwrap_err();
    assert!(error.contains(ABC) && error.contains(&wanted) && error.starts_with("the data set at http://"), "{error}");
    for (path, problem) in [
        ("/none?token=secret", "its server answered with the status 404"),
        ("/away", "link-local"),
        ("/round", "redirects too often"),
        ("/short", "cannot be downloaded"),
        ("/huge", "more than 4294967296 bytes"),
    ] {
        let error = check(folder.path(), &format!("{base}{path}"), None).unwrap_err();
        assert!(error.contains(problem) && !error.contains("secret"), "{path}: {error}");
    }
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn in_a_cluster_nothing_is_downloaded_from_a_blocked_address() {
    let (base, requests) = server();
    let port = base.rsplit(':').next().unwrap().to_owned();
    let away = server_that_redirects(format!("http://localhost:{port}/d.json"));
    let folder = tempfile::tempdir().unwrap();
    let blocked = Egress::cluster_default().rules("egress").unwrap();
    let excepted = Egress { allowed_hosts: vec!["127.0.0.2".into()], ..Egress::cluster_default() };
    let [blocked, excepted] = [blocked, excepted.rules("egress").unwrap()].map(Resolver::in_cluster);
    for (resolver, url) in [
        (&blocked, base.clone()),
        (&blocked, format!("http://localhost:{port}")),
        (&blocked, format!("http://2130706433:{port}")),
        (&blocked, format!("http://%31%32%37.0.0.1:{port}")),
        (&blocked, format!("http://[::ffff:127.0.0.1]:{port}")),
        (&blocked, away.clone()),
        // Redirects from an allowed address to a name that is not allowed.
        (&excepted, away),
    ] {
        let error =
            download(workload(&format!("{url}/d.json"), None), folder.path(), resolver).unwrap_err().to_string();
        assert!(error.contains("loopback"), "{url}: {error}");
    }
    assert_eq!((requests.load(Ordering::Relaxed), files(folder.path())), (0, 0));
}

/// A server at another loopback address that redirects every request to a URL.
fn server_that_redirects(to: String) -> String {
    let address = serve("127.0.0.2:0", move |_| answer(&format!("302 Found\r\nlocation: {to}"), ""));
    format!("http://{address}")
}

#[test]
fn a_file_is_downloaded_by_one_at_a_time_and_half_a_file_does_not_stay() {
    let (base, requests) = server();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{base}/d.json");
    let half = folder.path().join(hex(&Sha256::digest(url.as_bytes()))).join(".abc.tmp");
    fs::create_dir_all(half.parent().unwrap()).unwrap();
    fs::write(&half, "a").unwrap();
    thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| check(folder.path(), &url, None))).collect();
        all.into_iter().for_each(|it| drop(it.join().unwrap().unwrap()));
    });
    assert_eq!((files(folder.path()), half.exists(), requests.load(Ordering::Relaxed)), (1, false, 1));
}

#[test]
fn the_proxy_of_the_environment_is_not_used() {
    let test = "remote_files::tests::a_file_is_downloaded_once_and_kept_under_a_name_that_tells_its_format";
    // No server listens at this proxy address, so a request through the proxy fails.
    let proxies = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].map(|it| (it, "http://127.0.0.1:1"));
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .envs(proxies)
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
}

#[test]
fn recordings_are_read_from_where_they_were_downloaded() {
    let (base, _) = server();
    let folder = tempfile::tempdir().unwrap();
    let sources = ["a", "b"].map(|it| serde_json::json!({ "url": format!("{base}/d.json?{it}") }));
    let recorded: RecordedSessions = serde_json::from_value(serde_json::json!({
        "files": { "files": sources }, "format": "openTelemetry", "maxWait": "1s", "waits": "all", "answers": "server",
        "defaultOutput": 1, "unique": false, "toolCalls": {}, "includeErrors": true, "skipInvalidFiles": false, "acrossStages": "restart",
    }))
    .unwrap();
    let of_url = Workload::new(Api::Chat, RequestSource::Recorded(recorded), Vec::new());
    let (workload, downloaded) = download(of_url, folder.path(), &Resolver::default()).unwrap();
    let RequestSource::Recorded(RecordedSessions { files: RecordedFiles::Files(files), .. }) = workload.requests else {
        panic!("the source is another one");
    };
    let paths: Vec<FileSource> = downloaded.iter().map(|it| it.path.clone().into()).collect();
    assert_eq!((files.len(), files), (2, paths));
}

#[test]
fn what_is_not_downloaded_is_named_without_secrets() {
    let note = "the data set at https://server/d.json is downloaded when a run starts; this command does not check it";
    assert_eq!(not_read(workload("https://me:secret@server/d.json?token=secret", None)), [note]);
}

#[test]
fn a_path_needs_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let mut of_path = workload("http://server/", None);
    *of_path.sources_mut().remove(0).1 = FileSource::Path("/d.json".into());
    let (same, downloaded) = download(of_path.clone(), folder.path(), &Resolver::default()).unwrap();
    assert!(same == of_path && downloaded.is_empty());
}

#[test]
fn a_name_is_plain_and_keeps_its_end() {
    for (from, to) in [
        ("d.json.gz", "d.json.gz"),
        ("", "file"),
        ("..", "file"),
        ("a b%20ü.csv", "ab20.csv"),
        (&format!("{}.jsonl", "x".repeat(300)), &format!("{}.jsonl", "x".repeat(MAX_NAME - 6))),
    ] {
        assert_eq!(name(from), to);
    }
}
