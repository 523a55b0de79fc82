//! Whether an object exists, and whom it belongs to.

/// Whether an object exists under a name that this run needs, and whom it belongs to.
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
