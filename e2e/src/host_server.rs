//! A server on this machine that pods in our own cluster can call.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, bail};

/// The address of this machine for pods in our own cluster. It must equal `HOST_ADDRESS` of `e2e/cluster/lib/common.sh`.
const HOST: Ipv4Addr = Ipv4Addr::new(198, 18, 254, 1);
/// Maximum number of checks whether the server listens. They are a tenth of a second apart.
const LOOKS: u32 = 600;

/// A server process that listens on a free port. It is killed on drop.
pub struct HostServer {
    process: Child,
    address: SocketAddr,
}

impl HostServer {
    /// Starts the command that `command` returns for an address, and waits until it listens there.
    ///
    /// # Errors
    /// This machine does not have the address of our own cluster, the command cannot be started, or it does not listen within a minute.
    pub fn start(command: impl FnOnce(SocketAddr) -> Command) -> anyhow::Result<HostServer> {
        let free = TcpListener::bind((HOST, 0))
            .with_context(|| format!("{HOST} is no address of this machine; run `make cluster` first"))?;
        let address = free.local_addr()?;
        drop(free);
        let mut command = command(address);
        let program = command.get_program().to_owned();
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let process = process.with_context(|| format!("cannot start {}", program.display()))?;
        let server = HostServer { process, address };
        for _ in 0..LOOKS {
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("{} does not listen on {address}", program.display())
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HostServer {
    fn drop(&mut self) {
        if let Err(error) = self.process.kill().and_then(|()| self.process.wait()) {
            eprintln!("the server on {} was not ended: {error}", self.address);
        }
    }
}
