//! Values that both the reading of a request and the writing of its answer need.

/// An endpoint that generates text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
}

/// The API in whose form a request comes and its answer goes.
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

/// Which chunks of a stream carry a usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamUsage {
    #[default]
    Never,
    /// A chunk of its own at the end.
    AtEnd,
    /// That one, and every chunk before it with the counts so far.
    EveryChunk,
}
