//! The variable by which processes of a server are recognised.

/// The variable that every process of a server inherits; its value is the name of the server.
pub const MARK: &str = "BENCHWRIGHT_SERVER";
