//! Where a scenario in the flat form comes from.

#[derive(Clone, Copy, PartialEq)]
pub(in crate::formats::guidellm) enum Origin {
    /// A file. GuideLLM ignores unknown keys in it.
    File,
    /// A command line.
    Options,
}
