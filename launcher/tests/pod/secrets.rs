//! A token and a certificate authority do not appear in any result.

use std::{fs, process::Stdio};

use crate::pod::fixture::{Pod, Server, files};

const TOKEN: &str = "c4n4ry-bearer-t0ken";
const AUTHORITY: &str = "c4n4ry-auth0rity";

fn assert_absent(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    assert!(!text.contains(TOKEN) && !text.contains(AUTHORITY), "{what}: {text}");
}

#[test]
fn a_token_and_an_authority_are_sent_or_used_and_written_nowhere() {
    let (pod, server) = (Pod::new(), Server::model());
    pod.mount_url(&server.url(), |run| {
        run.token_file = Some(pod.path("token"));
        run.ca_file = Some(pod.path("ca.crt"));
    });
    fs::write(pod.path("token"), format!("{TOKEN}\n")).unwrap();
    fs::write(pod.path("ca.crt"), AUTHORITY).unwrap();
    let mut command = pod.command();
    let child = command.env("RUST_LOG", "trace").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Wait until the load has begun. The process is still running then.
    while server.prompts() < 3 {
        std::thread::yield_now();
    }
    for file in ["cmdline", "environ"] {
        let bytes = fs::read(format!("/proc/{}/{file}", child.id())).unwrap();
        assert!(!bytes.is_empty());
        assert_absent(file, &bytes);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), pod.envelope().core.outcome), (Some(0), crds::Outcome::Passed), "{output:?}");
    let sent = format!("Bearer {TOKEN}");
    assert!(server.heads().iter().filter(|it| it.starts_with("POST ")).all(|it| it.contains(&sent)));
    assert_absent("stdout", &output.stdout);
    assert_absent("stderr", &output.stderr);
    assert_absent("termination message", pod.message().as_bytes());
    let written = files(&pod.path("results"));
    assert!(written.len() > 10, "{written:?}");
    for file in &written {
        assert_absent(&file.display().to_string(), &fs::read(file).unwrap());
    }
    println!(
        "figure 23: a token and a CA are absent from trace logs, {} result files, termination message, cmdline and environ",
        written.len()
    );
}

#[test]
fn a_token_that_a_server_repeats_is_not_in_the_termination_message() {
    let pod = Pod::new();
    let echoes = Server::start(|_, head| {
        let token = head.lines().find(|it| it.to_lowercase().starts_with("authorization")).unwrap_or_default();
        crate::pod::fixture::json_answer("401 Unauthorized", &format!(r#"{{"error":"{token}"}}"#))
    });
    pod.mount_url(&echoes.url(), |run| run.token_file = Some(pod.path("token")));
    fs::write(pod.path("token"), TOKEN).unwrap();
    assert_eq!(pod.run().status.code(), Some(10));
    assert!(pod.envelope().core.message.contains("401"));
    assert_absent("termination message", pod.message().as_bytes());
}
