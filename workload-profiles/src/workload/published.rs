//! Data sets with a well-known file name.

/// A published data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The file name that profiles use.
    pub file: &'static str,
    /// How to get the file, worded as the end of a sentence.
    pub get: &'static str,
}

impl Published {
    /// Conversations of people with a chatbot.
    pub const SHAREGPT: Published = Published {
        file: "ShareGPT_V3_unfiltered_cleaned_split.json",
        get: "download it by `hf download anon8231489123/ShareGPT_Vicuna_unfiltered ShareGPT_V3_unfiltered_cleaned_split.json \
              --repo-type dataset`",
    };
    /// Newspaper articles with summaries.
    pub const CNN_DAILYMAIL: Published = Published {
        file: "cnn_dailymail.parquet",
        get: "download the Parquet files of 3.0.0 by `hf download abisee/cnn_dailymail --repo-type dataset`",
    };

    /// Returns the published data set with this file name.
    pub fn by_file(name: &str) -> Option<Published> {
        [Published::SHAREGPT, Published::CNN_DAILYMAIL].into_iter().find(|it| it.file == name)
    }
}
