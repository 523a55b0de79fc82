//! Runs the operator as a process on this machine.

use std::{net::TcpListener, path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use super::ControlPlane;

/// Time limit for a response of the admin server.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// The unit in which Linux reports CPU times: hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process of the operator. It is killed on drop.
pub struct Operator {
    child: Child,
    pid: u32,
    port: u16,
}

/// The memory of a process, in KiB.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Current resident memory.
    pub resident: u64,
    /// Peak resident memory since the start.
    pub peak: u64,
}

/// The path of the binary under test, from the environment variable `OPERATOR`.
///
/// # Errors
/// `OPERATOR` is not set.
pub fn binary() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("OPERATOR").context("OPERATOR is not set; name the binary of the operator")?;
    Ok(path.into())
}

/// The flag that disables leader election. Empty if this binary does not have it.
///
/// # Errors
/// The binary does not start.
pub fn alone() -> anyhow::Result<Vec<String>> {
    let help = std::process::Command::new(binary()?).arg("--help").output()?;
    let flag = "--no-leader-election";
    let known = String::from_utf8_lossy(&help.stdout).contains(flag);
    Ok(known.then(|| flag.to_owned()).into_iter().collect())
}

/// The allocator settings of the operator in the chart. They are used because the memory of the operator depends on them.
fn allocator() -> anyhow::Result<Vec<(&'static str, &'static str)>> {
    let template = include_str!("../../../charts/benchwright/templates/deployment.yaml");
    let setting = |line: &'static str| {
        let (name, value) = line.trim().strip_prefix("- {name: ")?.split_once(", value: \"")?;
        Some((name, value.strip_suffix("\"}")?)).filter(|_| name.starts_with("MALLOC_"))
    };
    let settings: Vec<_> = template.lines().filter_map(setting).collect();
    anyhow::ensure!(!settings.is_empty(), "the chart's deployment.yaml has no lines `- {{name: MALLOC_...` any more");
    Ok(settings)
}

impl Operator {
    /// Starts the operator with the client certificate of a user, `operator-a` or `operator-b`. Its log is appended to `log/<log>` of the control
    /// plane.
    ///
    /// # Errors
    /// The binary does not start.
    pub fn start(plane: &ControlPlane, user: &str, log: &str, flags: &[String]) -> anyhow::Result<Operator> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = std::fs::File::options().create(true).append(true).open(plane.folder.join("log").join(log))?;
        let child = Command::new(binary()?)
            .args(["--launcher-image", "localhost/benchwright:scale"])
            .args(["--admin-address", &format!("127.0.0.1:{port}")])
            .args(flags)
            .env("KUBECONFIG", plane.folder.join(format!("{user}.kubeconfig")))
            .envs(allocator()?)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().context("a process that has just started has an id")?;
        Ok(Operator { child, pid, port })
    }

    /// Requests a path of the admin server. Returns the status code and the body.
    ///
    /// # Errors
    /// The admin server does not respond within ten seconds.
    pub async fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let answer = async {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
            stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await?;
            let code = text.split(' ').nth(1).and_then(|it| it.parse().ok()).context("no HTTP status")?;
            let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
            anyhow::Ok((code, body))
        };
        timeout(ANSWER_LIMIT, answer).await?
    }

    /// The sum of all series whose line begins with `series`. 0 if there are none.
    ///
    /// # Errors
    /// The admin server does not respond.
    pub async fn metric(&self, series: &str) -> anyhow::Result<f64> {
        let (_, text) = self.get("/metrics").await?;
        let lines = text.lines().filter(|it| it.starts_with(series));
        Ok(lines.filter_map(|it| it.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// Waits until `/readyz` responds with 200.
    ///
    /// # Errors
    /// That takes longer than `limit`, or the process ends.
    pub async fn wait_ready(&mut self, limit: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            if matches!(self.get("/readyz").await, Ok((200, _))) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the operator ended with {status}");
            }
            if Instant::now() > deadline {
                bail!("the operator is not ready after {limit:?}");
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// The current memory of the process.
    ///
    /// # Errors
    /// The process has ended.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let value = |name: &str| {
            let line = text.lines().find_map(|it| it.strip_prefix(name));
            line.and_then(|it| it.trim_end_matches("kB").trim().parse::<u64>().ok()).context("no such line in /proc")
        };
        Ok(Memory { resident: value("VmRSS:")?, peak: value("VmHWM:")? })
    }

    /// The CPU time that the process has used so far, in seconds.
    ///
    /// # Errors
    /// The process has ended.
    pub fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The process name is in parentheses and may contain spaces. The user and system times are the fields 14 and 15 of the line.
        let (_, fields) = text.rsplit_once(')').context("no process name in /proc")?;
        let mut fields = fields.split_whitespace().skip(11).map(str::parse::<f64>);
        let [user, system] = [fields.next().context("no user time")??, fields.next().context("no system time")??];
        Ok((user + system) / TICKS_PER_SECOND)
    }

    /// Sends a signal to the process.
    ///
    /// # Errors
    /// The process has ended.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.pid)?).context("0 is no process")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Kills the process, and waits until it has ended.
    ///
    /// # Errors
    /// The error of the operating system.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Waits until the process has ended, and returns its exit code.
    ///
    /// # Errors
    /// That takes longer than `limit`.
    pub async fn wait_end(&mut self, limit: Duration) -> anyhow::Result<Option<i32>> {
        Ok(timeout(limit, self.child.wait()).await.context("the operator does not end")??.code())
    }
}
