//! Neither text from a server that provides a file, nor text from the file, appears in the termination message.

use std::{net::TcpListener, sync::Arc, thread};

use crds::hex;
use rustls::{
    ServerConfig, ServerConnection,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use sha2::{Digest as _, Sha256};

use crate::pod::{
    fixture::{Pod, Server, blocked_as_in_a_cluster},
    leaks::{CANARY, assert_message_without_words},
};

/// Certificates that were made for this test. They are valid for a hundred years. The server's certificate is for a host with the name [`CANARY`].
/// The private key of the authority was deleted.
const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pod/tls/ca.crt");
const CERTIFICATE: &[u8] = include_bytes!("tls/server.crt");
const KEY: &[u8] = include_bytes!("tls/server.key");

/// A run against the simulator. The profiles of its harness can name every kind of file.
const SPEC: &str = "harness: benchwright\ntarget: {simulator: {preset: Tiny}}";
const STAGES: &str = "stages: [{load: {burst: {count: 1}}}]";

/// A server that answers every request with this body.
fn server_of(body: impl Into<String>) -> Server {
    let body = body.into();
    Server::start(move |_, _| {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
    })
}

/// A server whose certificate is for another host. Returns its URL.
fn server_of_another_name() -> String {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()],
            PrivateKeyDer::from_pem_slice(KEY).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The thread ends with the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            // Errors are ignored, because the client refuses the certificate.
            connection.complete_io(&mut stream.unwrap()).ok();
        }
    });
    format!("https://localhost:{port}")
}

/// A profile with a data set at a URL. `more` contains additional keys of the file.
fn data_set(url: &str, more: &str) -> String {
    format!("{{requests: {{dataSet: {{file: {{url: '{url}'{more}}}, row: {{prompt: q}}, output: 1}}}}, {STAGES}}}")
}

/// Runs a profile. Checks that the termination message contains all `parts` and none of the `words`. Returns the log.
fn assert_status(name: &str, profile: &str, parts: &[&str], words: &[&str]) -> String {
    let pod = Pod::new();
    pod.mount_profile(profile, SPEC, |_| {});
    let mut command = pod.command();
    let log = assert_message_without_words(name, &pod, command.env("SSL_CERT_FILE", AUTHORITY), words);
    let core = pod.envelope().core;
    assert_eq!(core.reason.as_str(), "ConfigInvalid", "{name}: {core:?}");
    assert!(parts.iter().all(|it| core.message.contains(it)), "{name}: {}", core.message);
    log
}

#[test]
fn a_download_that_fails_is_described_without_words_of_its_server() {
    let head = |head: &str| format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let answers = [
        ("a reason phrase", head(&format!("403 {CANARY}")), "its server answered with the status 403"),
        (
            "a redirect",
            head(&format!("302 Found\r\nlocation: ftp://{CANARY}/")),
            "redirects to a URL that may not be called",
        ),
        (
            "a redirect to a host",
            head(&format!("302 Found\r\nlocation: http://{CANARY}.invalid/")),
            "the connection to its server failed",
        ),
        ("half a body", format!("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{CANARY}"), "sent an incomplete answer"),
        ("no HTTP", format!("{CANARY}\r\n\r\n"), "sent an incomplete answer"),
        ("a wrong header", format!("HTTP/1.1 200 OK\r\n{CANARY}\r\n\r\n"), "sent an incomplete answer"),
    ];
    for (name, answer, wanted) in answers {
        let server = Server::start(move |_, _| answer.clone());
        let shown = format!("the data set at {}/d.csv cannot be downloaded: ", server.url());
        let url = format!("{}/d.csv?token={CANARY}", server.url());
        assert_status(name, &data_set(&url, ""), &[&shown, wanted], &[CANARY]);
    }
}

#[test]
fn the_name_in_a_certificate_is_only_in_the_log() {
    let url = format!("{}/d.csv", server_of_another_name());
    let wanted = [url.as_str(), "the connection to its server failed", "the launcher's log has the rest"];
    let log = assert_status("a certificate", &data_set(&url, ""), &wanted, &[CANARY, "ertificate"]);
    assert!(log.contains(CANARY), "{log}");
}

#[test]
fn the_digest_of_a_file_is_only_in_the_log() {
    let url = format!("{}/d.csv", server_of(CANARY).url());
    let found = hex(&Sha256::digest(CANARY));
    let wanted = [url.as_str(), "has another SHA-256 than the profile requires"];
    let profile = data_set(&url, &format!(", sha256: '{}'", "0".repeat(64)));
    let log = assert_status("a digest", &profile, &wanted, &[CANARY, &found]);
    assert!(log.contains(&found), "{log}");
}

#[test]
fn the_address_behind_a_name_is_only_in_the_log() {
    let pod = Pod::new();
    let server = server_of(CANARY);
    let url = format!("http://localhost:{}/d.csv", server.port);
    pod.mount_profile(&data_set(&url, ""), SPEC, blocked_as_in_a_cluster);
    let log = assert_message_without_words("a name", &pod, &mut pod.command(), &["127.0.0.1", "::1", "loopback"]);
    let message = pod.envelope().core.message;
    assert!(
        message.contains(&url) && message.contains("its host resolves to an address that may not be called"),
        "{message}"
    );
    assert!(log.contains("loopback"), "{log}");
    assert_eq!(server.heads(), [""; 0]);
}

#[test]
fn a_file_that_cannot_be_read_is_described_without_its_words() {
    let of_data = |url: &str| data_set(url, "");
    let of_tokenizer = |url: &str| format!("{{requests: mock, tokenizer: '{url}', {STAGES}}}");
    let of_trace = |url: &str| {
        format!("{{requests: mock, stages: [{{load: {{trace: {{trace: {{file: {{path: '{url}'}}}}}}}}}}]}}")
    };
    let of_recording = |url: &str| {
        format!(
            "{{requests: {{recorded: {{files: {{files: ['{url}']}}, format: {{weka: {{blockSize: 64}}}}, answers: recorded, \
             defaultOutput: 1}}}}, {STAGES}}}"
        )
    };
    let weka = format!(r#"{{"hash_id_scope": "{CANARY}", "id": "{CANARY}", "requests": []}}"#);
    /// The parts of a case: its name, the name and the content of the file, the profile for the file's URL, and the position in the message.
    type Case<'a> = (&'a str, &'a str, String, &'a dyn Fn(&str) -> String, &'a str);
    let cases: [Case<'_>; 8] = [
        ("columns", "d.csv", format!("{CANARY},b\n1,2\n"), &of_data, ", line 1: cannot be read as the profile wants"),
        ("keys", "d.jsonl", format!("{{\"{CANARY}\": 1}}\n"), &of_data, ", line 1: cannot be read"),
        (
            "a value",
            "d.json",
            format!("[{{\"q\": [\"{CANARY}\"]}}]"),
            &of_data,
            ", row 0, counted from 0: cannot be read",
        ),
        ("no JSON", "d.json", CANARY.to_owned(), &of_data, ", line 1, column 1: cannot be read"),
        ("no Parquet", "d.parquet", CANARY.to_owned(), &of_data, ", row 0, counted from 0: cannot be read"),
        (
            "a tokenizer",
            "t.json",
            format!("{{\"model\": {{\"type\": \"{CANARY}\"}}}}"),
            &of_tokenizer,
            " cannot be used",
        ),
        ("a trace", "t.csv", format!("timestamp\n{CANARY}\n"), &of_trace, ", line "),
        ("a recording", "r.json", weka, &of_recording, ": cannot be read as the profile wants"),
    ];
    for (name, file, body, profile, place) in cases {
        let url = format!("{}/{file}", server_of(body).url());
        let wanted = format!("{url}{place}");
        assert_status(name, &profile(&url), &[&wanted], &[CANARY, ".downloads"]);
    }
}
