//! Where the keys of a scenario are written.

/// Where the flat form comes from.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::formats::guidellm) enum Origin {
    /// A file, in which the original ignores unknown keys.
    File,
    /// A command line.
    Options,
}
