//! A Git repository on this machine that pods in our own cluster can read over HTTP. It is served by git's own HTTP backend and busybox's httpd.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use crate::host_server::HostServer;

/// A repository with the branch main. On drop, the server is stopped and the files are deleted.
pub struct GitServer {
    folder: TempDir,
    server: HostServer,
}

impl GitServer {
    /// Creates an empty repository, and serves it.
    ///
    /// # Errors
    /// git or busybox is missing, or this machine does not have the address of our own cluster.
    pub fn start() -> anyhow::Result<GitServer> {
        let folder = tempfile::tempdir()?;
        let repository = folder.path().join("repository");
        let scripts = folder.path().join("web/cgi-bin");
        fs::create_dir_all(&scripts)?;
        let script = scripts.join("git");
        let project_root = folder.path().display();
        fs::write(
            &script,
            format!("#!/bin/sh\nGIT_PROJECT_ROOT='{project_root}' GIT_HTTP_EXPORT_ALL=1 exec git http-backend\n"),
        )?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        let path = repository.to_str().context("the temporary folder's path is no UTF-8")?;
        git(folder.path(), &["init", "--quiet", "--initial-branch=main", path])?;

        let web = folder.path().join("web");
        let server = HostServer::start(|address| {
            let mut command = Command::new("busybox");
            command.args(["httpd", "-f", "-p", &address.to_string(), "-h"]).arg(web);
            command
        });
        let server = server.context("`e2e/cluster/cluster install` installs busybox")?;
        Ok(GitServer { folder, server })
    }

    /// The URL of the repository for pods.
    pub fn url(&self) -> String {
        format!("http://{}/cgi-bin/git/repository", self.server.address())
    }

    /// The absolute path of a file in the working tree.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join("repository").join(inside)
    }

    /// Writes a file, and commits all changes of the working tree. Returns the hash of the commit.
    ///
    /// # Errors
    /// Nothing has changed, or the file cannot be written.
    pub fn commit(&self, file: &str, content: &str) -> anyhow::Result<String> {
        let path = self.path(file);
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        fs::write(path, content)?;
        let repository = self.path("");
        git(&repository, &["add", "--all"])?;
        git(
            &repository,
            &["-c", "user.name=e2e", "-c", "user.email=e2e@example.com", "commit", "--quiet", "--message", file],
        )?;
        Ok(git(&repository, &["rev-parse", "HEAD"])?.trim().to_owned())
    }
}

fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").args(arguments).current_dir(folder).output().context("cannot start git")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(
        output.status.success(),
        "git {arguments:?} ended with {}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    Ok(text(&output.stdout))
}
