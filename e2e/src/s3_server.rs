//! An S3 server on this machine for pods in our own cluster. It is versitygw, built from its Go module.

use std::{fs, path::PathBuf, process::Command};

use anyhow::Context;

use crate::{host_server::HostServer, tools};

/// The access key of the server's only user.
pub const ACCESS_KEY: &str = "the-access-key";
/// The secret key for [`ACCESS_KEY`].
pub const SECRET_KEY: &str = "canary-0b51d07a6c2e4f93";
/// The name of the server's bucket.
pub const BUCKET: &str = "bench";
/// A server with one bucket. It is stopped when the test ends.
pub struct S3Server {
    folder: tempfile::TempDir,
    server: HostServer,
}

impl S3Server {
    /// Starts the server, and waits until it listens.
    ///
    /// # Errors
    /// It has not been built (`e2e/cluster/cluster build versitygw`), or does not listen within a minute.
    pub fn start() -> anyhow::Result<S3Server> {
        let program = tools::cluster_folder().join("parts/bin/versitygw");
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join("data").join(BUCKET))?;
        fs::create_dir_all(folder.path().join("sidecar"))?;
        let server = HostServer::start(|address| {
            let mut command = Command::new(program);
            command.args(["--quiet", "--access", ACCESS_KEY, "--secret", SECRET_KEY]);
            command.args(["--port", &address.to_string(), "posix", "--sidecar"]);
            command.args([folder.path().join("sidecar"), folder.path().join("data")]);
            command
        });
        let server = server.context("`e2e/cluster/cluster build versitygw` builds the server")?;
        Ok(S3Server { folder, server })
    }

    /// The URL of the server for pods.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// The file in which the server stores an object.
    pub fn object(&self, key: &str) -> PathBuf {
        self.folder.path().join("data").join(BUCKET).join(key)
    }
}
