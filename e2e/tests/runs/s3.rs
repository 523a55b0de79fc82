//! Tests of results in a bucket of an S3 server on this machine.

use crds::{
    Outcome,
    status::{ConditionStatus, Phase},
};
use e2e::{
    Cluster, Namespace,
    s3_server::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY},
    tools,
};
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::runs::{SOON, simulated};

/// Creates the Secret with the bucket's credentials.
async fn create_secret(namespace: &Namespace) -> anyhow::Result<()> {
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": "bucket-key"}, "stringData": {"accessKeyId": ACCESS_KEY, "secretAccessKey": SECRET_KEY},
    }))?;
    namespace.api::<Secret>().create(&PostParams::default(), &secret).await?;
    Ok(())
}

fn storage(server: &S3Server, bucket: &str) -> String {
    let url = server.url();
    format!("storage: {{s3: {{bucket: {bucket}, prefix: runs, endpoint: '{url}', secretRef: {{name: bucket-key}}}}}}")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn results_lie_in_a_bucket_and_the_status_says_where() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    let namespace = Namespace::new(&cluster, "bucket").await?;
    let server = S3Server::start()?;
    create_secret(&namespace).await?;
    namespace.create_run("stored", &simulated(5.0, 3, &storage(&server, BUCKET))).await?;
    let status = namespace.wait_finished("stored", SOON).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Succeeded), Some(Outcome::Passed)), "{status:?}");
    let job = &status.attempts[0].job_name;
    let prefix = format!("runs/{}/{job}", namespace.name);
    let stored = status.conditions.iter().find(|it| it.kind == "ResultsStored").unwrap();
    assert_eq!(stored.status, ConditionStatus::True);
    assert_eq!(stored.message, format!("in s3://{BUCKET}/{prefix}"));
    assert!(status.artifacts.len() >= 10, "{:?}", status.artifacts);
    for artifact in &status.artifacts {
        assert_eq!(artifact.uri, format!("s3://{BUCKET}/{prefix}/{}", artifact.name));
        let bytes = std::fs::read(server.object(&format!("{prefix}/{}", artifact.name)))?;
        assert_eq!(crds::hex(&Sha256::digest(&bytes)), artifact.sha256, "{}", artifact.name);
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SECRET_KEY) && !text.contains("X-Amz-Signature"), "{}", artifact.name);
    }
    assert!(server.object(&format!("{prefix}/termination-message.txt")).is_file());
    assert!(!server.object(&format!("{prefix}/write-test.txt")).exists());
    // With results in a bucket, no claim is created.
    let claims = tools::kubectl(&["get", "persistentvolumeclaims", "--namespace", &namespace.name, "-o", "json"])?;
    assert_eq!(serde_json::from_str::<Value>(&claims)?["items"], json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_without_its_place_in_a_bucket_ends_before_the_load() -> anyhow::Result<()> {
    let cluster = Cluster::with_operator().await?;
    let namespace = Namespace::new(&cluster, "no-bucket").await?;
    let server = S3Server::start()?;
    create_secret(&namespace).await?;
    namespace.create_run("nowhere", &simulated(5.0, 3, &storage(&server, "no-such-bucket"))).await?;
    let status = namespace.wait_finished("nowhere", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "StorageFailed"), "{status:?}");
    let ready = status.conditions.iter().find(|it| it.kind == "Ready").unwrap();
    assert!(ready.message.contains("NoSuchBucket") && ready.message.contains("storage.s3.bucket"), "{}", ready.message);
    assert!(status.summary.is_none() && status.load_start_time.is_none());
    Ok(())
}
