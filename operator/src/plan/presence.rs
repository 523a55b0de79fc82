//! Whether an object exists, and who owns it.

/// Whether an object with a name that this run needs exists.
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
