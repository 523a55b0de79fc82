//! The location of a run's results, according to the run's status.

use std::collections::BTreeMap;

use crds::{
    ArtifactRef, BenchmarkRun, BenchmarkRunStatus,
    benchmark_run::Toleration,
    resolve::effective::S3,
    status::{Attempt, ConditionStatus},
    wording::{one_line, quoted},
};
use kube::ResourceExt as _;

use crate::{failure::Failure, follow::message_of};

/// The results folder of a finished run, and the settings of its launcher's pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    /// The run's name and UID.
    pub(crate) run: String,
    pub(crate) uid: String,
    /// The claim, and the folder on it.
    pub(crate) claim: String,
    pub(crate) folder: String,
    /// The launcher's image, and its pull policy.
    pub(crate) image: String,
    pub(crate) pull_policy: String,
    /// The launcher's service account, if the spec has one. Its secrets can be needed to pull the image.
    pub(crate) service_account: Option<String>,
    pub(crate) node_selector: BTreeMap<String, String>,
    pub(crate) tolerations: Vec<Toleration>,
    /// The Job and the node of the attempt that stored the folder.
    pub(crate) job: String,
    pub(crate) node: String,
    /// The files that the status lists, with their checksums. The list can be incomplete.
    pub(crate) artifacts: Vec<ArtifactRef>,
}

impl Source {
    /// Reads the location from a run. `image` is the value of `--image`.
    pub(crate) fn from_run(run: &BenchmarkRun, namespace: &str, image: Option<&str>) -> Result<Source, Failure> {
        let name = run.name_any();
        let status = run.status.as_ref().filter(|_| run.is_finished()).ok_or_else(|| {
            Failure::error(format!(
                "{name} has not ended, and its results folder is not complete; `kubectl benchwright wait {name} -n {namespace}` waits for its end"
            ))
        })?;
        let none = |why: &str| Failure::error(format!("{name} has no results folder: {why}"));
        let (Some(effective), Some(last)) = (&status.effective_spec, status.attempts.last()) else {
            return Err(none(&format!("no launcher was started; {}", message_of(run))));
        };
        if let Some(s3) = &effective.storage.s3 {
            return Err(in_bucket(&name, namespace, s3, status, last));
        }
        let Some(claim) = &effective.storage.pvc else {
            return Err(none(&format!(
                "spec.storage is none, so only its status and log contain the figures; `kubectl benchwright logs {name} -n {namespace}` prints the \
                 log; set storage.pvc in the next run"
            )));
        };
        let stored = status.conditions.iter().find(|it| it.kind == "ResultsStored");
        if stored.is_none_or(|it| it.status != ConditionStatus::True) {
            let why = stored.map(|it| one_line(&it.message)).unwrap_or_else(|| message_of(run));
            return Err(none(&format!("the launcher stored none; {why}")));
        }
        let attempt = stored_by(status).unwrap_or(last);
        // A run with `spec.execution.collect` uses the results folder of another run.
        let collected = run.spec.execution.collect.as_ref().map(|it| &it.folder);
        let folder = collected.unwrap_or(&attempt.job_name);
        if !is_folder(folder) {
            return Err(no_folder(&name, folder));
        }
        let image = image.unwrap_or(&effective.launcher.image);
        if image.is_empty() {
            return Err(Failure::error(format!(
                "the status of {name} names no image of the launcher; give one with --image"
            )));
        }
        Ok(Source {
            uid: run.uid().unwrap_or_default(),
            claim: claim.claim_name.clone(),
            folder: folder.clone(),
            image: image.to_owned(),
            pull_policy: effective.launcher.image_pull_policy.clone(),
            service_account: run.spec.launcher.service_account_name.clone().filter(|it| !it.is_empty()),
            node_selector: run.spec.launcher.scheduling.node_selector.clone(),
            tolerations: run.spec.launcher.scheduling.tolerations.clone(),
            job: attempt.job_name.clone(),
            node: attempt.node_name.clone(),
            artifacts: status.artifacts.clone(),
            run: name,
        })
    }
}

/// Whether a text is a valid name of a results folder.
fn is_folder(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '-')
}

fn no_folder(name: &str, folder: &str) -> Failure {
    Failure::error(format!(
        "{name} has no results folder: its status names the folder {}, which is not a valid name",
        quoted(folder)
    ))
}

/// The error for results in a bucket, with the command that copies them. This plugin cannot copy them, because this machine can reach the bucket by
/// another route than the cluster, and with other credentials.
fn in_bucket(name: &str, namespace: &str, s3: &S3, status: &BenchmarkRunStatus, last: &Attempt) -> Failure {
    let prefix = s3.prefix.as_ref().map_or_else(String::new, |it| format!("{it}/"));
    let base = format!("s3://{}/{prefix}{namespace}", s3.bucket);
    let stored = status.conditions.iter().find(|it| it.kind == "ResultsStored");
    if stored.is_none_or(|it| it.status != ConditionStatus::True) {
        let why = stored.map(|it| one_line(&it.message)).unwrap_or_default();
        return Failure::error(format!("{name} has no results folder in {base}: the launcher stored none; {why}"));
    }
    let said = status.artifacts.iter().find_map(|it| it.uri.strip_prefix(&base)?.split('/').nth(1));
    let attempt = status.attempts.iter().find(|it| Some(it.job_name.as_str()) == said).unwrap_or(last);
    let folder = &attempt.job_name;
    if !is_folder(folder) {
        return no_folder(name, folder);
    }
    let uri = format!("{base}/{folder}");
    let command = format!("aws s3 cp --recursive --endpoint-url {} --region {} {uri} {folder}", s3.endpoint, s3.region);
    Failure::error(format!(
        "the results of {name} are in bucket {}, which this command does not read; copy {uri} with a tool for S3 and a key that may read it: {command}",
        s3.bucket
    ))
}

/// The attempt that stored the folder. It can be earlier than the attempt that reported the result.
fn stored_by(status: &BenchmarkRunStatus) -> Option<&Attempt> {
    let folder = status.artifacts.iter().find_map(|it| it.uri.strip_prefix("pvc://")?.split('/').nth(1))?;
    status.attempts.iter().find(|it| it.job_name == folder)
}
