//! A server of S3 on this machine, which pods of our own cluster reach: versitygw, from its Go module.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, bail};
use tokio::time::sleep;

use crate::tools;

/// The credentials of the server's only user.
pub const ACCESS_KEY: &str = "the-access-key";
/// The secret of [`ACCESS_KEY`].
pub const SECRET_KEY: &str = "canary-0b51d07a6c2e4f93";
/// The bucket that it has.
pub const BUCKET: &str = "bench";
/// How this machine is called by pods of our own cluster: `HOST_ADDRESS` of `e2e/cluster/lib/common.sh`.
const HOST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 254, 1);

/// A server with one bucket. It ends with the test.
pub struct S3Server {
    process: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl S3Server {
    /// Starts the server, and waits until it listens.
    ///
    /// # Errors
    /// It is not built (`e2e/cluster/cluster build versitygw`), or does not listen within a minute.
    pub async fn start() -> anyhow::Result<S3Server> {
        let program = tools::cluster_folder().join("parts/bin/versitygw");
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join("data").join(BUCKET))?;
        fs::create_dir_all(folder.path().join("sidecar"))?;
        let port = TcpListener::bind((HOST_ADDRESS, 0))?.local_addr()?.port();
        let process = Command::new(&program)
            .args(["--quiet", "--access", ACCESS_KEY, "--secret", SECRET_KEY])
            .args(["--port", &format!("{HOST_ADDRESS}:{port}"), "posix", "--sidecar"])
            .args([folder.path().join("sidecar"), folder.path().join("data")])
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}: e2e/cluster/cluster build versitygw", program.display()))?;
        let server = S3Server { process, folder, port };
        for _ in 0..600 {
            if TcpStream::connect((HOST_ADDRESS, port)).is_ok() {
                return Ok(server);
            }
            sleep(Duration::from_millis(100)).await;
        }
        bail!("versitygw does not listen on {HOST_ADDRESS}:{port}")
    }

    /// The URL by which pods call it.
    pub fn url(&self) -> String {
        format!("http://{HOST_ADDRESS}:{}", self.port)
    }

    /// Where the server keeps an object.
    pub fn object(&self, key: &str) -> PathBuf {
        self.folder.path().join("data").join(BUCKET).join(key)
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        // It may have ended already; there is nothing more to do then.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
