//! [I/O] The memory of this process.

use std::{fs, io};

/// Returns the peak resident memory of this process so far, in bytes.
///
/// # Errors
/// The system does not report it.
pub fn peak() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    field(&status, "VmHWM:").ok_or_else(|| io::Error::other("/proc/self/status has no VmHWM"))
}

/// Parses a size in `/proc/self/status`, and returns it in bytes.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_read_by_its_name() {
        let status = "Name:\tbenchwright\nVmPeak:\t  9000 kB\nVmHWM:\t    1234 kB\nThreads:\t2\n";
        assert_eq!(field(status, "VmHWM:"), Some(1_234 * 1_024));
        assert_eq!(field(status, "VmSwap:"), None);
        assert_eq!(field("VmHWM:\tmany\n", "VmHWM:"), None);
    }

    #[test]
    fn this_process_has_memory() {
        assert!(peak().unwrap() > 100_000);
    }
}
