//! The processes of a pod, as the kernel of its node sees them. The node must be this machine, so this needs our own cluster and root.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};

/// A process of a pod.
pub struct Process(PathBuf);

impl Process {
    /// The first process in a container of the pod, without the pause container.
    ///
    /// # Errors
    /// There is no such process.
    pub fn of_pod(uid: &str) -> anyhow::Result<Process> {
        let all = fs::read_dir("/proc")?.flatten().map(|it| it.path());
        let of_pod = all.filter(|it| {
            let read = |name: &str| fs::read_to_string(it.join(name)).unwrap_or_default();
            read("cgroup").contains(&format!("pod{uid}")) && !read("comm").starts_with("pause")
        });
        of_pod.map(Process).next().with_context(|| format!("the pod {uid} has no process on this machine"))
    }

    /// Kills the process with SIGKILL.
    ///
    /// # Errors
    /// The process has ended, or the test has no permission.
    pub fn kill(&self) -> anyhow::Result<()> {
        let number = self.0.file_name().and_then(|it| it.to_str()).context("a process has a number")?;
        let done = Command::new("kill").args(["-KILL", number]).status()?;
        ensure!(done.success(), "process {number} was not killed");
        Ok(())
    }

    /// The value of a field in `/proc/PID/status`.
    ///
    /// # Errors
    /// The process has ended.
    pub fn status(&self, field: &str) -> anyhow::Result<String> {
        let status = fs::read_to_string(self.0.join("status"))?;
        let value = status.lines().find_map(|it| it.strip_prefix(field)?.strip_prefix(':'));
        Ok(value.context("the kernel has no such field")?.trim().to_owned())
    }

    /// Whether this file exists in the root file system of the process.
    pub fn sees(&self, path: &str) -> bool {
        self.0.join("root").join(path.trim_start_matches('/')).exists()
    }

    /// Whether the root file system of the process is read-only.
    ///
    /// # Errors
    /// The process has ended.
    pub fn has_read_only_root(&self) -> anyhow::Result<bool> {
        let mounts = fs::read_to_string(self.0.join("mountinfo"))?;
        let root = mounts.lines().map(|it| it.split(' ').collect::<Vec<_>>()).find(|it| it.get(4) == Some(&"/"));
        let options = root.and_then(|it| it.get(5).copied()).context("a process has a root")?;
        Ok(options.split(',').any(|it| it == "ro"))
    }

    /// The arguments and the environment of the process as one text.
    ///
    /// # Errors
    /// The process has ended.
    pub fn arguments_and_environment(&self) -> anyhow::Result<String> {
        let read =
            |name: &str| fs::read(Path::new(&self.0).join(name)).map(|it| String::from_utf8_lossy(&it).into_owned());
        Ok(read("cmdline")? + &read("environ")?)
    }
}
