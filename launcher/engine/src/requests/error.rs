//! The reason why requests cannot be prepared.

/// The reason why requests cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum RequestsError {
    /// There are more prompts than the launcher can shuffle.
    #[error(
        "the shared prefixes have {groups} groups of {prompts_per_group} prompts; at most {most} prompts can be shuffled, so lower one of the two"
    )]
    TooManyPrompts { groups: u32, prompts_per_group: u32, most: u32 },
    /// There are more prefixes than the launcher can keep apart.
    #[error("there are {prefixes} distinct prefixes, and {most} are possible; lower their number")]
    TooManyPrefixes {
        /// Total number of prefixes in all buckets.
        prefixes: u32,
        /// Maximum number of distinct prefixes.
        most: u32,
    },
    /// The workload sets no output length, but Anthropic's Messages API requires one.
    #[error("no output length is set, but the Messages API requires max_tokens; set an output length")]
    NoOutputLength,
    /// The workload has images, but its prompts cannot contain images.
    #[error(
        "there are images, which only the prompts of a chat of one turn can hold; call chats, or take the images out"
    )]
    ImagesOutsideOfChat,
    /// The workload has images, but no image size.
    #[error("images have no size; give at least one")]
    NoImageSize,
    /// The encoder rejected an image.
    #[error("an image of {width} x {height} pixels cannot be encoded: {cause}; choose sizes from 1 to 8192")]
    Image {
        /// Width, in pixels.
        width: u32,
        /// Height, in pixels.
        height: u32,
        /// The encoder's error.
        cause: String,
    },
    /// The load starts whole sessions, but the sessions of users never end.
    #[error("the users of multi-turn shared prefixes have no last turn; let the load start requests, not sessions")]
    EndlessSessions,
    /// The load starts single requests instead of whole sessions, but there is no fixed number of sessions to assign them to.
    #[error(
        "the load starts requests, and the number of conversations is not set; set their count, or let the load start sessions"
    )]
    UncountedSessions,
    /// The load starts single requests, but the recording determines the order of a recorded session's requests.
    #[error("recorded sessions are started as a whole; set sessions.unit to session")]
    RequestsOfRecorded,
    /// The load simulates users, who send requests, but `sessions.unit` is not `request`.
    #[error(
        "a load of users sends the turns of each user at its times, and so starts requests; set sessions.unit to request"
    )]
    UsersOfSessions,
    /// The name of the session header is not a valid header name.
    #[error("sessions.header is {name:?}, no name of a header field; use letters, digits and dashes")]
    SessionHeader { name: String },
    /// The stage is a LoadGen phase, which sends samples, but the requests are turns of sessions.
    #[error(
        "the phases of a LoadGen test send samples, and the requests here are turns of sessions; choose another request source"
    )]
    SessionsOfPhase,
    /// A chat message holds text, but the prompts are token ids.
    #[error("the prompts are token ids, which a chat cannot hold; call completions, or make the prompts of words")]
    TokenIdsInChat,
    /// A stage needs more rows than the data set has.
    #[error(
        "the stage {stage} sends {wanted}, each with a row of its own, and the data set has {rows} rows; set a count of at most {rows}"
    )]
    TooFewRows { stage: String, wanted: String, rows: u64 },
    /// A stage needs more recorded sessions than remain.
    #[error(
        "the stage {stage} needs {wanted} recorded sessions, and {left} are left; lower its count, name more files, or add copies with duplicateTo"
    )]
    TooFewSessions { stage: String, wanted: u64, left: u64 },
    /// A stage ends with the rows of the data set, but the index of its first row is unknown before the load.
    #[error(
        "the stage {stage} ends with the last row of the data set, but its first row is unknown, because earlier stages send as many requests as their time allows; set a count for each earlier stage"
    )]
    UnknownFirstRow { stage: String },
    /// A stage replays no block hashes, but the requests are built from blocks.
    #[error(
        "the stage {stage} replays no trace with hashes of blocks, from which the requests are made; replay such a trace, and set hashesColumn"
    )]
    NoHashes { stage: String },
    /// The sample library (QSL) is larger than the data set.
    #[error(
        "the sample library has {samples} samples, and {rows} rows of the data set are used; make both numbers equal"
    )]
    TooFewSamples {
        /// Number of samples in the library.
        samples: u64,
        /// Number of usable rows in the data set.
        rows: u64,
    },
}
