//! Types for reading a request and for writing its answer.

/// An endpoint that generates text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
}

/// The API that determines the format of a request and its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's completions and chats.
    #[default]
    OpenAi,
    /// `/v1/responses`, a chat in OpenAI's newer form.
    Responses,
    /// `/v1/messages`, a chat in Anthropic's form.
    Messages,
}

/// Which chunks of a stream contain the usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamUsage {
    #[default]
    Never,
    /// A separate chunk at the end.
    AtEnd,
    /// The chunk at the end, and every chunk before it, each with the counts so far.
    EveryChunk,
}
