//! Classifies why a connection could not be opened: a fault of the target, or of the launcher's machine. Pure.

use std::io;

use rustix::io::Errno;

use super::{failure::Failure, tls};
use measurement::record::Cause;

/// Returns the failure: a fault of the launcher's machine if the error shows one, else a fault of the target.
pub(super) fn connect_failure(url: &str, error: &io::Error) -> Failure {
    match own_failure(error) {
        Some(failure) => failure,
        None => {
            let cause = if tls::is_tls_error(error) { Cause::Tls } else { Cause::from_io(error) };
            // The remedy comes before the library's long error text, because the end of the message can be cut.
            let why = tls::remedy(error).map_or_else(String::new, |it| format!("{it}: "));
            Failure::connection(cause, &format!("cannot connect to {url}: {why}{error}"))
        }
    }
}

/// Returns the failure for a target whose name does not resolve to a usable address.
pub(super) fn no_address(url: &str, error: &io::Error) -> Failure {
    own_failure(error)
        .unwrap_or_else(|| Failure::connection(Cause::Address, &format!("cannot connect to {url}: {error}")))
}

/// Returns the failure if the launcher's machine is at fault; `None` for any other error.
fn own_failure(error: &io::Error) -> Option<Failure> {
    Some(match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            Failure::connection(Cause::Files, "too many open files; raise the limit of the launcher (ulimit -n)")
        }
        Some(Errno::ADDRNOTAVAIL) => Failure::connection(
            Cause::Ports,
            "no free port is left on this machine for another connection; lower the load, or use several machines",
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measurement::record::RequestOutcome;

    #[test]
    fn what_this_machine_lacks_is_not_the_targets_fault() {
        for (errno, outcome) in [
            (Errno::MFILE, RequestOutcome::ClientError),
            (Errno::ADDRNOTAVAIL, RequestOutcome::ClientError),
            (Errno::CONNREFUSED, RequestOutcome::ConnectError),
            (Errno::HOSTUNREACH, RequestOutcome::ConnectError),
        ] {
            let failure = connect_failure("http://server", &io::Error::from_raw_os_error(errno.raw_os_error()));
            assert_eq!(failure.outcome, outcome, "{failure:?}");
        }
    }

    #[test]
    fn each_kind_of_error_has_its_cause() {
        for (errno, cause) in [
            (Errno::CONNREFUSED, Cause::Refused),
            (Errno::CONNRESET, Cause::Reset),
            (Errno::HOSTUNREACH, Cause::Unreachable),
            (Errno::TIMEDOUT, Cause::TimedOut),
            (Errno::MFILE, Cause::Files),
            (Errno::ADDRNOTAVAIL, Cause::Ports),
            (Errno::NOENT, Cause::Other),
        ] {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            assert_eq!(connect_failure("http://server", &error).cause, Some(cause), "{error}");
        }
        let tls = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::HandshakeNotComplete);
        assert_eq!(connect_failure("https://server", &tls).cause, Some(Cause::Tls));
        assert_eq!(no_address("http://server", &io::Error::other("no such name")).cause, Some(Cause::Address));
    }
}
