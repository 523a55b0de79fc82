//! Whether an object exists, and whom it belongs to.

/// Whether an object exists under a name that this run needs, and whom it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// The object does not exist.
    #[default]
    Absent,
    /// The object exists and belongs to this run.
    Ours,
    /// The object exists and belongs to somebody else.
    Foreign,
    /// The object could not be read.
    Unknown,
}
