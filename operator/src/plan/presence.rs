//! Whether an object is there, and whose it is.

/// Whether an object whose name this run needs exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It does not exist.
    #[default]
    Absent,
    /// It exists and belongs to this run.
    Ours,
    /// It exists and belongs to somebody else.
    Foreign,
    /// It could not be read.
    Unknown,
}
