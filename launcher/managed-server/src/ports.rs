//! [I/O] Chooses and checks ports for servers.

use std::{
    collections::BTreeSet,
    fs, io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
};

/// The reason why a port cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Another process listens on the port.
    #[error(
        "is {port}, and {holder} listens there; end it, write another port, or take the field out for one that is free"
    )]
    InUse {
        /// The port.
        port: u16,
        /// A description of that process.
        holder: String,
    },
    /// The system does not allow this user to open the port.
    #[error(
        "is {port}, which this user may not open: {source}; write a port from 1024 on, or take the field out for one that is free"
    )]
    Refused {
        /// The port.
        port: u16,
        /// The error of the system.
        source: io::Error,
    },
    /// No free port was found.
    #[error("has no free port: {0}; end programs that hold ports open")]
    None(io::Error),
}

/// Chooses ports for replicas: consecutive ports from `first` on, or any free ports. Another process can take a port before the server opens it.
///
/// # Errors
/// A port is in use, or no port is free.
pub fn choose(first: Option<u16>, count: u32) -> Result<Vec<u16>, PortError> {
    let Some(first) = first else {
        // All sockets stay open while ports are chosen, so that no port is chosen twice.
        let held: Result<Vec<TcpListener>, io::Error> =
            (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect();
        let ports = held.and_then(|held| held.iter().map(|it| it.local_addr().map(|it| it.port())).collect());
        return ports.map_err(PortError::None);
    };
    let ports = (0..count).map(|index| first.saturating_add(u16::try_from(index).unwrap_or(u16::MAX)));
    ports.map(|port| check(port).map(|()| port)).collect()
}

fn check(port: u16) -> Result<(), PortError> {
    // The socket is closed first, because `listens` would find it.
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(drop) {
        // The bind also succeeds if another server listens on all addresses, so this is checked too.
        Ok(()) if !listens(port) => Ok(()),
        Ok(()) => Err(PortError::InUse { port, holder: holder(port) }),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(PortError::InUse { port, holder: holder(port) }),
        Err(source) => Err(PortError::Refused { port, source }),
    }
}

/// Whether a process listens on a port of this machine.
pub(crate) fn listens(port: u16) -> bool {
    !inodes(port).is_empty()
        || [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))]
            .into_iter()
            .any(|it| TcpListener::bind(it).is_err_and(|it| it.kind() == io::ErrorKind::AddrInUse))
}

/// The inode numbers of the sockets that listen on a port.
fn inodes(port: u16) -> BTreeSet<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|it| fs::read_to_string(it).unwrap_or_default());
    let listening = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let local = fields.get(1)?.rsplit_once(':')?.1;
        // 0A is the state LISTEN.
        let found = fields.get(3) == Some(&"0A") && u16::from_str_radix(local, 16) == Ok(port);
        found.then(|| fields.get(9).map(|it| (*it).to_owned()))?
    };
    tables.iter().flat_map(|it| it.lines().filter_map(listening)).collect()
}

/// Describes the process that listens on a port, as far as this user can see it.
pub(crate) fn holder(port: u16) -> String {
    let wanted: BTreeSet<String> = inodes(port).iter().map(|it| format!("socket:[{it}]")).collect();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
    let has = |pid: &i32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.into_iter()
            .filter_map(|it| fs::read_link(it.path()).ok())
            .any(|it| it.to_str().is_some_and(|it| wanted.contains(it)))
    };
    let found = pids.into_iter().find(has).and_then(crate::processes::Process::find);
    found.map_or_else(|| "another process".to_owned(), |it| format!("process {}", it.shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_refused_and_its_holder_named() {
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let held = TcpListener::bind(address).unwrap();
            let port = held.local_addr().unwrap().port();
            let error = choose(Some(port), 1).unwrap_err().to_string();
            let own = std::process::id().to_string();
            assert!(error.contains(&format!("is {port}, and process {own} (")), "{address}: {error}");
            drop(held);
            assert_eq!(choose(Some(port), 1).unwrap(), [port]);
        }
    }

    #[test]
    fn free_ports_differ() {
        let ports = choose(None, 8).unwrap();
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 8);
        assert!(ports.iter().all(|it| !listens(*it)));
    }
}
