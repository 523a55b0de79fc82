use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use crds::units::Span;

use super::*;

/// A request as the server received it.
#[derive(Clone, Debug, Default)]
struct Got {
    method: String,
    /// The path of the URL, without the query.
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// The status and the body of a response. `etag` is one of its headers.
struct Reply(u16, String);

/// A server that stores nothing, on loopback.
struct Server {
    port: u16,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Server {
    /// Starts the server. `answer` gets the number of each request, counted from 0, and the request.
    fn start(answer: impl Fn(usize, &Got) -> Reply + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server { port: listener.local_addr().unwrap().port(), got: Arc::default() };
        let all = Arc::clone(&server.got);
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(got) = read(&mut stream) else { continue };
                let number = {
                    let mut all = all.lock().unwrap();
                    all.push(got.clone());
                    all.len() - 1
                };
                let Reply(status, body) = answer(number, &got);
                let length = match got.method.as_str() {
                    "HEAD" => body.clone(),
                    _ => body.len().to_string(),
                };
                let body = if got.method == "HEAD" { String::new() } else { body };
                let head = format!(
                    "HTTP/1.1 {status} x\r\netag: \"e{number}\"\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                // The client may disconnect early, which is no error.
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        server
    }

    /// A server that accepts every request. For every object, it reports the size of the object that was stored last.
    fn willing() -> Server {
        let last = Mutex::new(0);
        Server::start(move |_, got| taken(&last, got))
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    fn place(&self, folder: &Path) -> Upload {
        for (key, text) in [(ACCESS_KEY, "key\n"), (SECRET_KEY, "c4n4ry-secret")] {
            fs::write(folder.join(key), text).unwrap();
        }
        Upload {
            endpoint: format!("http://127.0.0.1:{}", self.port),
            path_style: true,
            bucket: "bench".into(),
            region: "us-east-1".into(),
            prefix: "runs/team-a".into(),
            credentials: folder.to_owned(),
            timeout: Span(Duration::from_secs(30)),
        }
    }
}

/// The response of a server that accepts every request. `last` is the size of the object that was stored last.
fn taken(last: &Mutex<usize>, got: &Got) -> Reply {
    let mut last = last.lock().unwrap();
    match (got.method.as_str(), got.query.contains("uploadId")) {
        ("HEAD", _) => Reply(200, last.to_string()),
        ("POST", false) => {
            *last = 0;
            Reply(200, "<X><UploadId>u1</UploadId></X>".into())
        }
        ("POST", true) => Reply(200, "<X><ETag>\"e\"</ETag></X>".into()),
        ("PUT", true) => {
            *last += got.body.len();
            Reply(200, String::new())
        }
        ("PUT", false) => {
            *last = got.body.len();
            Reply(200, String::new())
        }
        _ => Reply(204, String::new()),
    }
}

fn read(stream: &mut TcpStream) -> Option<Got> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        match stream.read(&mut piece).ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&piece[..read]),
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: BTreeMap<String, String> =
        lines.filter_map(|it| it.split_once(": ")).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let length: usize = headers.get("content-length").map_or(0, |it| it.parse().unwrap());
    let mut body = bytes[end + 4..].to_vec();
    while body.len() < length {
        match stream.read(&mut piece).ok()? {
            0 => return None,
            read => body.extend_from_slice(&piece[..read]),
        }
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Got { method, path: path.to_owned(), query: query.to_owned(), headers, body })
}

fn open(place: &Upload) -> Result<Bucket, BucketError> {
    Bucket::open(place, &Resolver::default())
}

/// A results folder with a marker file, and other files.
fn results(files: &[(&str, usize)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, size) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![b'x'; *size]).unwrap();
    }
    folder
}

#[test]
fn every_file_is_sent_with_its_checksum_and_the_mark_last() {
    let (server, secrets) = (Server::willing(), tempfile::tempdir().unwrap());
    let folder = results(&[("mark.txt", 3), ("a.json", 5), ("zz/b.json", 0), ("zz.md", 7)]);
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
    let bucket = open(&server.place(secrets.path())).unwrap();
    let uploaded = bucket.upload(folder.path(), "chat-a1", "mark.txt").unwrap();
    assert_eq!((uploaded.files, uploaded.bytes), (4, 15));
    let got = server.got();
    let puts: Vec<&str> = got.iter().filter(|it| it.method == "PUT").map(|it| it.path.as_str()).collect();
    let names = ["a.json", "zz.md", "zz/b.json", "mark.txt"];
    assert_eq!(puts, names.map(|it| format!("/bench/runs/team-a/chat-a1/{it}")));
    for put in got.iter().filter(|it| it.method == "PUT") {
        assert_eq!(put.headers["content-md5"], md5_of(&put.body), "{}", put.path);
        assert!(put.query.contains("X-Amz-SignedHeaders=content-md5%3Bhost"), "{}", put.query);
    }
    assert_eq!(bucket.uri("chat-a1"), "s3://bench/runs/team-a/chat-a1");
}

#[test]
fn a_large_file_goes_in_parts_and_no_part_is_larger_than_said() {
    let (server, secrets) = (Server::willing(), tempfile::tempdir().unwrap());
    let size = usize::try_from(2 * transfer::PART).unwrap() + 5;
    let folder = results(&[("requests.parquet", size)]);
    open(&server.place(secrets.path())).unwrap().upload(folder.path(), "chat-a1", "none").unwrap();
    let got = server.got();
    let parts: Vec<usize> = got.iter().filter(|it| it.method == "PUT").map(|it| it.body.len()).collect();
    assert_eq!(parts, [8 << 20, 8 << 20, 5]);
    let last = got.iter().rfind(|it| it.method == "POST").unwrap();
    let body = String::from_utf8(last.body.clone()).unwrap();
    assert!(body.contains("<PartNumber>3</PartNumber>") && body.contains("e1"), "{body}");
}

#[test]
fn a_file_that_fails_late_leaves_no_parts() {
    let secrets = tempfile::tempdir().unwrap();
    let last = Mutex::new(0);
    let server = Server::start(move |_, got| match taken(&last, got) {
        Reply(200, body) if body.contains("<ETag>") => {
            Reply(200, "<Error><Code>EntityTooLarge</Code><Message>words</Message></Error>".into())
        }
        reply => reply,
    });
    let folder = results(&[("requests.parquet", (8 << 20) + 1), ("mark.txt", 1)]);
    let error = open(&server.place(secrets.path())).unwrap().upload(folder.path(), "a1", "mark.txt").unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("s3://bench/runs/team-a/a1/requests.parquet") && error.contains("EntityTooLarge"),
        "{error}"
    );
    let got = server.got();
    let aborted = got.last().unwrap();
    assert!(aborted.method == "DELETE" && aborted.query.contains("uploadId=u1"), "{aborted:?}");
    assert!(!got.iter().any(|it| it.path.ends_with("mark.txt")));
}

#[test]
fn what_may_pass_is_tried_again_and_what_cannot_pass_is_not() {
    for (status, code, tries) in
        [(503, "SlowDown", 2), (400, "BadDigest", 2), (403, "AccessDenied", 1), (404, "NoSuchBucket", 1)]
    {
        let secrets = tempfile::tempdir().unwrap();
        let last = Mutex::new(0);
        let server = Server::start(move |number, got| match number {
            0 => Reply(status, format!("<Error><Code>{code}</Code><Message>c4n4ry words</Message></Error>")),
            _ => taken(&last, got),
        });
        let folder = results(&[("mark.txt", 1)]);
        let done = open(&server.place(secrets.path())).unwrap().upload(folder.path(), "a1", "mark.txt");
        assert_eq!(server.got().iter().filter(|it| it.method == "PUT").count(), tries, "{code}");
        assert_eq!(done.is_ok(), tries == 2, "{code}: {done:?}");
        if let Err(error) = done {
            let error = error.to_string();
            assert!(error.contains(code) && !error.contains("c4n4ry") && !error.contains("Signature"), "{error}");
        }
    }
}

#[test]
fn a_server_that_never_recovers_ends_the_upload_after_its_time() {
    let secrets = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| Reply(500, "<Error><Code>Whatever-c4n4ry</Code></Error>".into()));
    let place = Upload { timeout: Span(Duration::from_secs(2)), ..server.place(secrets.path()) };
    let folder = results(&[("mark.txt", 1)]);
    let error = open(&place).unwrap().upload(folder.path(), "a1", "mark.txt").unwrap_err().to_string();
    assert!(error.contains("answered 500;") && !error.contains("c4n4ry"), "{error}");
    assert!(server.got().len() >= 2);
}

#[test]
fn an_object_of_another_size_fails_the_upload() {
    let secrets = tempfile::tempdir().unwrap();
    let server = Server::start(|_, got| Reply(200, if got.method == "HEAD" { "7".into() } else { String::new() }));
    let folder = results(&[("mark.txt", 1)]);
    let error = open(&server.place(secrets.path())).unwrap().upload(folder.path(), "a1", "mark.txt").unwrap_err();
    assert!(error.to_string().contains("has 7 bytes in the bucket, but the uploaded file has 1"), "{error}");
}

#[test]
fn a_redirect_is_not_followed_and_names_the_region() {
    let (secrets, other) = (tempfile::tempdir().unwrap(), Server::willing());
    let server = Server::start(|_, _| Reply(301, "<Error><Code>PermanentRedirect</Code></Error>".into()));
    let error = open(&server.place(secrets.path())).unwrap().check("a1").unwrap_err().to_string();
    assert!(error.contains("storage.s3.region"), "{error}");
    assert!(other.got().is_empty());
}

#[test]
fn the_check_writes_reads_and_deletes_one_object() {
    let (server, secrets) = (Server::willing(), tempfile::tempdir().unwrap());
    open(&server.place(secrets.path())).unwrap().check("chat-a1").unwrap();
    let got = server.got();
    let calls: Vec<&str> = got.iter().map(|it| it.method.as_str()).collect();
    assert_eq!(calls, ["PUT", "HEAD", "DELETE"]);
    assert!(got.iter().all(|it| it.path == "/bench/runs/team-a/chat-a1/write-test.txt"), "{got:?}");
}

#[test]
fn a_bucket_that_keeps_all_objects_can_be_used() {
    let secrets = tempfile::tempdir().unwrap();
    let last = Mutex::new(0);
    let server = Server::start(move |_, got| match got.method.as_str() {
        "DELETE" => Reply(403, "<Error><Code>AccessDenied</Code></Error>".into()),
        _ => taken(&last, got),
    });
    open(&server.place(secrets.path())).unwrap().check("chat-a1").unwrap();
}

#[test]
fn files_are_read_back_whole_or_not_at_all() {
    let (secrets, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(|_, got| match (got.method.as_str(), got.path.ends_with("there.txt")) {
        ("HEAD", true) => Reply(200, "5".into()),
        ("GET", true) => Reply(200, "hello".into()),
        _ => Reply(404, "0".into()),
    });
    let bucket = open(&server.place(secrets.path())).unwrap();
    assert!(bucket.fetch("a1", &[("there.txt", 5)], to.path()).unwrap());
    assert_eq!(fs::read_to_string(to.path().join("there.txt")).unwrap(), "hello");
    assert!(!bucket.fetch("a1", &[("there.txt", 5), ("gone.txt", 5)], to.path()).unwrap());
    let error = bucket.fetch("a1", &[("there.txt", 4)], to.path()).unwrap_err().to_string();
    assert!(error.contains("more than 4 bytes"), "{error}");
}

#[test]
fn a_credential_that_cannot_be_used_is_named_by_its_key_alone() {
    let (server, secrets) = (Server::willing(), tempfile::tempdir().unwrap());
    let place = server.place(secrets.path());
    let error = |text: Option<&str>| {
        let path = secrets.path().join(SECRET_KEY);
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        open(&place).err().map(|it| it.to_string())
    };
    assert_eq!(error(Some("c4n4ry\n")), None);
    for text in ["", "  \n", "c4n4ry c4n4ry", "c4n4ry\u{7f}"] {
        let found = error(Some(text)).unwrap();
        assert!(found.contains("secretAccessKey is empty") && !found.contains("c4n4ry"), "{found}");
    }
    let found = error(None).unwrap();
    assert!(found.contains("give the Secret the key secretAccessKey"), "{found}");
    fs::write(secrets.path().join(SECRET_KEY), "s").unwrap();
    fs::write(secrets.path().join(TOKEN), "t0ken").unwrap();
    open(&place).unwrap().check("a1").unwrap();
    assert!(server.got()[0].query.contains("X-Amz-Security-Token=t0ken"));
}

#[test]
fn an_address_that_no_launcher_calls_is_refused_before_any_request() {
    let (server, secrets) = (Server::willing(), tempfile::tempdir().unwrap());
    let place = Upload { endpoint: "http://169.254.169.254".into(), ..server.place(secrets.path()) };
    let error = open(&place).err().unwrap();
    assert!(error.is_refused_address() && error.to_string().contains("storage.s3.endpoint"), "{error}");
    assert!(error.to_string().contains("link-local"), "{error}");
}
