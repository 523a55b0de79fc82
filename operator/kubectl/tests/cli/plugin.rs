//! Runs the plugin's binary as a process.

use std::{path::PathBuf, process::Stdio};

use tokio::{
    io::AsyncReadExt as _,
    process::{Child, Command},
};

use crate::server::Server;

/// A working folder for the plugin, with a kubeconfig for a server.
pub struct Plugin {
    pub folder: tempfile::TempDir,
}

/// The output and the exit code of a process that has ended.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Plugin {
    pub fn new(server: &Server) -> Plugin {
        Plugin::with_url(&server.url())
    }

    pub fn with_url(url: &str) -> Plugin {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: one\nclusters: [{{name: one, cluster: {{server: \"{url}\"}}}}]\n\
             users: [{{name: one, user: {{token: secret}}}}]\n\
             contexts: [{{name: one, context: {{cluster: one, user: one, namespace: bench}}}}]\n"
        );
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig).unwrap();
        Plugin { folder }
    }

    /// Writes a file into the folder, and returns its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        name.to_owned()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a command.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.start_into(arguments, Stdio::piped())
    }

    /// Starts a command with this standard output.
    pub fn start_into(&self, arguments: &[&str], stdout: Stdio) -> Child {
        Command::new(env!("CARGO_BIN_EXE_kubectl-benchwright"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.path("kubeconfig"))
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }

    /// Runs a command to its end.
    pub async fn run(&self, arguments: &[&str]) -> Done {
        done(self.start(arguments)).await
    }
}

/// Waits for the end of a process.
pub async fn done(child: Child) -> Done {
    let output = child.wait_with_output().await.unwrap();
    let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
    Done { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Reads stderr until a line that contains `text`, and returns everything that was read.
pub async fn line_with(child: &mut Child, text: &str) -> String {
    let stderr = child.stderr.as_mut().unwrap();
    let mut read = String::new();
    while !(read.contains(text) && read.ends_with('\n')) {
        let byte = stderr.read_u8().await;
        let byte = byte.unwrap_or_else(|_| panic!("{text:?} is not in {read}"));
        read.push(char::from(byte));
    }
    read
}
