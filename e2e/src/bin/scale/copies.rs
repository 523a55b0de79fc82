//! Creates thousands of finished runs within seconds. One real run finishes, and its copies are written directly into etcd, from where the API server
//! reads them like its own objects. Creating them through the API server would take an hour on a small machine.

use std::time::Duration;

use anyhow::Context as _;
use e2e::control_plane::{
    ControlPlane,
    runs::{create, runs_path, short},
};
use k8s_openapi::{
    ByteString,
    api::{batch::v1::Job, core::v1::Pod},
};
use kube::{Api, ResourceExt as _, api::ListParams};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    bench::{Bench, steady_since},
    transitions::Observer,
};

/// The namespace of the finished runs.
pub const NAMESPACE: &str = "done";
/// Prefix of the names of all finished runs and of their children.
const PREFIX: &str = "done-";
/// The name of the run that is copied. The names of its copies have the same length.
const ORIGINAL: &str = "done-00000";
/// Maximum number of finished runs, with the original.
const MOST: usize = 100_000;
/// Number of objects per transaction. etcd accepts 1.5 MiB per transaction, and a run has 10 KiB.
const AT_ONCE: usize = 48;

/// An object as it is stored in etcd. The names and UIDs of copies have the same length as those of the original, so they can replace its bytes in
/// any encoding.
struct Stored {
    key: String,
    value: Vec<u8>,
}

/// Writes `count` finished runs, each with its Job and its pod.
pub async fn write(bench: &Bench, count: usize) -> anyhow::Result<()> {
    anyhow::ensure!(
        count <= MOST,
        "--finished is {count}; write at most {MOST}, because names of copies have five digits"
    );
    let client = &bench.plane.client;
    bench.plane.create_namespace(NAMESPACE).await?;
    let observer = Observer::start(client, NAMESPACE);
    let (operator, _) = bench.start_steady().await?;
    let run = create(client, &runs_path(NAMESPACE), &short(ORIGINAL, 1)).await?;
    observer.wait(1, Duration::from_secs(300), |it| it.finished.is_some() && it.pod_ended.is_some()).await?;
    steady_since(&operator).await?;
    operator.kill().await?;

    let job = Api::<Job>::namespaced(client.clone(), NAMESPACE).list(&ListParams::default()).await?.items.pop();
    let pod = Api::<Pod>::namespaced(client.clone(), NAMESPACE).list(&ListParams::default()).await?.items.pop();
    let (job, pod) = (job.context("the original has no Job")?, pod.context("the original has no pod")?);
    let uid = run.pointer("/metadata/uid").and_then(Value::as_str).context("a run has a UID")?;
    let uids = [uid.to_owned(), job.uid().unwrap_or_default(), pod.uid().unwrap_or_default()];
    let etcd = Etcd::from_plane(&bench.plane)?;
    let mut originals = Vec::new();
    for key in [
        format!("/registry/benchwright.dev/benchmarkruns/{NAMESPACE}/{ORIGINAL}"),
        format!("/registry/jobs/{NAMESPACE}/{}", job.name_any()),
        format!("/registry/pods/{NAMESPACE}/{}", pod.name_any()),
    ] {
        let value = etcd.read(&key).await?;
        originals.push(Stored { key, value });
    }
    let all: Vec<Stored> = (1..count)
        .flat_map(|number| originals.iter().map(move |it| (number, it)))
        .map(|(number, it)| copy(it, number, &uids))
        .collect();
    for some in all.chunks(AT_ONCE) {
        etcd.write(some).await?;
    }
    Ok(())
}

fn copy(original: &Stored, number: usize, uids: &[String; 3]) -> Stored {
    let name = format!("{PREFIX}{number:05}");
    let mut value = replace(&original.value, ORIGINAL.as_bytes(), name.as_bytes());
    for uid in uids {
        // The first characters of the UID must not change, because the names of Jobs contain them.
        let other = format!("{}{number:012x}", &uid[..uid.len() - 12]);
        value = replace(&value, uid.as_bytes(), other.as_bytes());
    }
    Stored { key: original.key.replace(ORIGINAL, &name), value }
}

/// Replaces all occurrences of `old` by `new`, which has the same length.
fn replace(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    let mut at = 0;
    while at + old.len() <= text.len() {
        if &text[at..at + old.len()] == old {
            text[at..at + old.len()].copy_from_slice(new);
            at += old.len();
        } else {
            at += 1;
        }
    }
    text
}

/// A client for the HTTP gateway of a control plane's etcd.
struct Etcd {
    port: u16,
}

impl Etcd {
    fn from_plane(plane: &ControlPlane) -> anyhow::Result<Etcd> {
        let ports = std::fs::read_to_string(plane.folder.join("ports"))?;
        Ok(Etcd { port: ports.lines().next().context("no port of etcd")?.parse()? })
    }

    async fn read(&self, key: &str) -> anyhow::Result<Vec<u8>> {
        let answer = self.ask("/v3/kv/range", &json!({"key": text(key.as_bytes())})).await?;
        let value = answer.pointer("/kvs/0/value").with_context(|| format!("etcd has no {key}"))?;
        Ok(serde_json::from_value::<ByteString>(value.clone())?.0)
    }

    async fn write(&self, objects: &[Stored]) -> anyhow::Result<()> {
        let put = |it: &Stored| json!({"requestPut": {"key": text(it.key.as_bytes()), "value": text(&it.value)}});
        let puts: Vec<_> = objects.iter().map(put).collect();
        let answer = self.ask("/v3/kv/txn", &json!({"success": puts})).await?;
        anyhow::ensure!(answer["succeeded"] == true, "etcd did not write: {answer}");
        Ok(())
    }

    async fn ask(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let head =
            format!("POST {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (_, body) = answer.split_once("\r\n\r\n").context("etcd's answer is no HTTP")?;
        Ok(serde_json::from_str(body)?)
    }
}

/// Encodes bytes as base64.
fn text(bytes: &[u8]) -> Value {
    serde_json::to_value(ByteString(bytes.to_vec())).expect("bytes serialize as base64")
}
