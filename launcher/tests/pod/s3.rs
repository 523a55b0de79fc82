//! Results in a bucket, with a real S3 server in its own process (versitygw, which `S3_SERVER` must name), and with a server that denies every
//! request.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crds::{
    Outcome, ResolvedRun,
    resolve::{Egress, Upload},
    units::Span,
};

use crate::pod::fixture::{Pod, Server, blocked_as_in_a_cluster, files, json_answer};

const BUCKET: &str = "bench";
const ACCESS_KEY: &str = "the-access-key";
const SECRET_KEY: &str = "c4n4ry-secret-key";
/// Maximum number of checks until the server listens. It is more than a start takes on a busy machine.
const LOOKS: u32 = 600;

/// A versitygw server on loopback, with one bucket in a temporary folder.
struct Gateway {
    process: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Gateway {
    fn start() -> Gateway {
        let program = std::env::var_os("S3_SERVER").expect("S3_SERVER names the program versitygw: e2e/run sets it");
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("data").join(BUCKET)).unwrap();
        fs::create_dir_all(folder.path().join("sidecar")).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let process = Command::new(program)
            .args(["--quiet", "--access", ACCESS_KEY, "--secret", SECRET_KEY])
            .args(["--port", &format!("127.0.0.1:{port}"), "posix", "--sidecar"])
            .args([folder.path().join("sidecar"), folder.path().join("data")])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let listens = |_: &u32| {
            thread::sleep(Duration::from_millis(50));
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        };
        let gateway = Gateway { process, folder, port };
        assert!((0..LOOKS).any(|look| listens(&look)), "versitygw does not listen");
        gateway
    }

    /// Returns the folder in which the server stores the results of an attempt.
    fn of_attempt(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(BUCKET).join("runs/bench").join(name)
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Configures a run to upload its results.
fn to_bucket(pod: &Pod, url: &str, run: &mut ResolvedRun) {
    let credentials = pod.path("s3");
    fs::create_dir_all(&credentials).unwrap();
    fs::write(credentials.join("accessKeyId"), ACCESS_KEY).unwrap();
    fs::write(credentials.join("secretAccessKey"), SECRET_KEY).unwrap();
    run.upload = Some(Upload {
        endpoint: url.into(),
        path_style: true,
        bucket: BUCKET.into(),
        region: "us-east-1".into(),
        prefix: "runs/bench".into(),
        credentials,
        timeout: Span(Duration::from_secs(60)),
    });
}

/// Returns the names and contents of all files below a folder.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all: Vec<_> = files(folder)
        .into_iter()
        .map(|it| (it.strip_prefix(folder).unwrap().to_owned(), fs::read(&it).unwrap()))
        .collect();
    all.sort();
    all
}

fn assert_no_secret(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    assert!(!text.contains(SECRET_KEY) && !text.contains("X-Amz-Signature"), "{what}: {text}");
}

#[test]
#[ignore = "needs a server of S3: make e2e"]
fn the_bucket_has_the_folder_as_it_was_written() {
    let (pod, model, gateway) = (Pod::new(), Server::model(), Gateway::start());
    pod.mount_url(&model.url(), |run| to_bucket(&pod, &gateway.url(), run));
    let output = pod.command().env("BENCHWRIGHT_LOG", "debug").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let core = pod.envelope().core;
    let folder = core.folder.unwrap();
    assert_eq!(core.outcome, Outcome::Passed);
    let (here, there) = (contents(&pod.path("results").join(&folder)), contents(&gateway.of_attempt(&folder)));
    assert!(here.len() > 10 && here == there, "{:?}", there.iter().map(|it| &it.0).collect::<Vec<_>>());
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains(&format!("report: s3://bench/runs/bench/{folder}/report.md")), "{stdout}");
    assert_no_secret("stderr", &output.stderr);
    assert_no_secret("stdout", &output.stdout);
    assert_no_secret("message", pod.message().as_bytes());
    there.iter().for_each(|(name, bytes)| assert_no_secret(&name.display().to_string(), bytes));
}

#[test]
#[ignore = "needs a server of S3: make e2e"]
fn a_file_of_several_parts_is_whole_in_the_bucket() {
    let (pod, model, gateway) = (Pod::new(), Server::model(), Gateway::start());
    pod.mount_url(&model.url(), |run| to_bucket(&pod, &gateway.url(), run));
    // The launcher's own files of a one-second run are too small to be sent in parts. So the test puts a large file into the folder before the
    // upload.
    let large: Vec<u8> = (0..20_000_000_u32).map(|it| u8::try_from(it % 251).unwrap()).collect();
    let mut child = pod.command().stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let begun = (0..LOOKS).find_map(|_| {
        thread::sleep(Duration::from_millis(10));
        let mut folders = fs::read_dir(pod.path("results")).ok()?.flatten().map(|it| it.path());
        folders.find(|it| it.to_string_lossy().ends_with(".partial"))
    });
    fs::write(begun.unwrap().join("large.bin"), &large).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let folder = pod.envelope().core.folder.unwrap();
    assert!(fs::read(gateway.of_attempt(&folder).join("large.bin")).unwrap() == large);
}

#[test]
#[ignore = "needs a server of S3: make e2e"]
fn figures_of_a_finished_attempt_are_reported_from_the_bucket_without_a_load() {
    let (mut pod, model, gateway) = (Pod::new(), Server::model(), Gateway::start());
    pod.mount_url(&model.url(), |run| to_bucket(&pod, &gateway.url(), run));
    assert_eq!(pod.run().status.code(), Some(0));
    let (first, prompts) = (pod.envelope(), model.prompts());
    // The folder of a pod is deleted with the pod.
    fs::remove_dir_all(pod.path("results")).unwrap();
    pod.next_attempt();
    pod.mount_url(&model.url(), |run| {
        to_bucket(&pod, &gateway.url(), run);
        run.finished_attempts = vec![1];
    });
    let output = pod.run();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let second = pod.envelope();
    assert_eq!((model.prompts(), second.core.attempt), (prompts, 2));
    assert_eq!((&second.core.summary, &second.core.folder), (&first.core.summary, &first.core.folder));
    assert_eq!(contents(&pod.path("results")), [], "what was read of the first attempt is gone");

    // An upload without the marker file is incomplete, so it is not used.
    fs::remove_file(gateway.of_attempt(&first.core.folder.unwrap()).join("termination-message.txt")).unwrap();
    let output = pod.run();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(model.prompts() >= prompts + 10);
    assert!(pod.envelope().core.folder.unwrap().ends_with("-a2"));
}

#[test]
#[ignore = "needs a server of S3: make e2e"]
fn a_series_lies_in_the_bucket_with_all_its_runs() {
    let (pod, model, gateway) = (Pod::new(), Server::model(), Gateway::start());
    pod.mount_url(&model.url(), |run| {
        to_bucket(&pod, &gateway.url(), run);
        run.repeat = 2;
    });
    let output = pod.run();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let folder = pod.envelope().core.folder.unwrap();
    let there: Vec<PathBuf> = contents(&gateway.of_attempt(&folder)).into_iter().map(|it| it.0).collect();
    for name in ["repeats.json", "repeats.md", "r1/report.json", "r2/report.json"] {
        assert!(there.contains(&PathBuf::from(name)), "{name}: {there:?}");
    }
}

#[test]
#[ignore = "needs a server of S3: make e2e"]
fn what_is_wrong_with_the_bucket_ends_the_run_before_its_load() {
    let (pod, model, gateway) = (Pod::new(), Server::model(), Gateway::start());
    type Change = fn(&mut Upload);
    let wrong: [(Change, &str); 3] = [
        (|it| it.bucket = "no-such-bucket".into(), "NoSuchBucket"),
        (|it| fs::write(it.credentials.join("secretAccessKey"), "other").unwrap(), "SignatureDoesNotMatch"),
        (|it| fs::write(it.credentials.join("accessKeyId"), "other").unwrap(), "the Secret's accessKeyId"),
    ];
    for (change, code) in wrong {
        pod.mount_url(&model.url(), |run| {
            to_bucket(&pod, &gateway.url(), run);
            run.upload.as_mut().map(change).unwrap();
        });
        let output = pod.run();
        let core = pod.envelope().core;
        assert_eq!(output.status.code(), Some(12), "{code}: {output:?}");
        assert!(core.reason == "StorageFailed" && core.message.contains(code), "{code}: {core:?}");
        assert_eq!(model.prompts(), 0, "{code}");
    }
}

#[test]
#[ignore = "needs a server of S3: make e2e"]
fn a_server_that_is_gone_after_the_load_leaves_the_figures() {
    for required in [true, false] {
        let (pod, model) = (Pod::new(), Server::model());
        let mut gateway = Gateway::start();
        pod.mount_url(&model.url(), |run| {
            to_bucket(&pod, &gateway.url(), run);
            run.storage_required = required;
            run.upload.as_mut().unwrap().timeout = Span(Duration::from_secs(2));
        });
        let mut child = pod.command().stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        // Wait until the load has begun. The bucket has been checked by then.
        while model.prompts() < 3 {
            thread::yield_now();
        }
        gateway.process.kill().unwrap();
        let (code, core) = (child.wait().unwrap().code(), pod.envelope().core);
        assert!(core.summary.is_some() && core.folder.is_none(), "{core:?}");
        match required {
            true => assert_eq!((code, core.reason.as_str()), (Some(12), "StorageFailed"), "{core:?}"),
            false => assert_eq!((code, core.outcome), (Some(0), Outcome::Passed), "{core:?}"),
        }
    }
}

/// A server that denies every request, with an error in its own words.
fn denying() -> Server {
    Server::start(|_, _| {
        json_answer("403 Forbidden", "<Error><Code>AccessDenied</Code><Message>c4n4ry words</Message></Error>")
    })
}

#[test]
fn a_bucket_that_denies_ends_the_run_before_its_load() {
    let (pod, model, denying) = (Pod::new(), Server::model(), denying());
    pod.mount_url(&model.url(), |run| to_bucket(&pod, &denying.url(), run));
    assert_eq!(pod.run().status.code(), Some(12));
    let core = pod.envelope().core;
    assert!(core.reason == "StorageFailed" && core.summary.is_none(), "{core:?}");
    assert!(core.message.contains("s3:PutObject") && !core.message.contains("c4n4ry"), "{}", core.message);
    assert_eq!(model.prompts(), 0);
    let heads = denying.heads();
    assert!(heads.len() == 1 && heads[0].starts_with("PUT /bench/runs/bench/chat-"), "{heads:?}");
}

#[test]
fn results_that_need_not_be_kept_are_left_out_where_the_bucket_denies() {
    let (pod, model, denying) = (Pod::new(), Server::model(), denying());
    pod.mount_url(&model.url(), |run| {
        to_bucket(&pod, &denying.url(), run);
        run.storage_required = false;
    });
    assert_eq!(pod.run().status.code(), Some(0));
    let core = pod.envelope().core;
    assert!(core.outcome == Outcome::Passed && core.folder.is_none() && core.artifacts.is_empty(), "{core:?}");
    assert!(model.prompts() >= 10);
}

#[test]
fn an_endpoint_that_may_not_be_called_is_a_fault_of_the_run() {
    let (pod, model, denying) = (Pod::new(), Server::model(), denying());
    let loopback = format!("http://localhost:{}", denying.port);
    for endpoint in [loopback.as_str(), "http://169.254.169.254"] {
        pod.mount_url(&model.url(), |run| {
            blocked_as_in_a_cluster(run);
            run.egress = run.egress.take().map(|it| Egress { allowed_hosts: vec!["127.0.0.1/32".into()], ..it });
            to_bucket(&pod, endpoint, run);
            if endpoint == loopback {
                run.egress.as_mut().unwrap().allowed_hosts.clear();
            }
        });
        assert_eq!(pod.run().status.code(), Some(10), "{endpoint}");
        let message = pod.envelope().core.message;
        assert!(message.contains("storage.s3"), "{endpoint}: {message}");
    }
    assert_eq!((model.prompts(), denying.heads().len()), (0, 0));
}
