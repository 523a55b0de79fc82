//! The environment variable that marks the processes of a server.

/// The environment variable that every process of a server inherits. Its value is the name of the server.
pub const MARK: &str = "BENCHWRIGHT_SERVER";
