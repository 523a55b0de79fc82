//! [I/O] `measurement.bin`: the measurement of a run, so that it can be analysed again later. [`measurement::kept_run`] defines the format. Only the
//! release that wrote a file can read it.

use std::{
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use files::user_file;
use measurement::{kept_run::KeptRun, wire::StreamError};

/// The name of the file in a results folder.
pub const NAME: &str = "measurement.bin";
/// Maximum size of a file that is read, in bytes. Enough for about 200 million requests.
pub const MAX_BYTES: u64 = 16 << 30;
/// Approximate bytes of memory per byte of the file. Values need more space in memory than in the file.
const MEMORY_PER_BYTE: u64 = 8;
/// Memory for histograms, in bytes. They need much more space in memory than in the file.
const MEMORY: u64 = 1 << 30;

/// The reason why the measurement of a run is not available.
#[derive(Debug, thiserror::Error)]
pub enum MeasurementError {
    #[error(
        "{path} does not exist: the run kept no measurement (spec.storage.perRequestRecords: None, LoadGen tests, too little memory for records, or \
         an earlier release), or this is the folder of an analysis; give the results folder of a run that kept it",
        path = path.display()
    )]
    Missing { path: PathBuf },
    #[error("{path}: {source}; give the results folder of a run that lies on this machine", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} has {bytes} bytes, more than the maximum of {MAX_BYTES}, and is not read", path = path.display())]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error(
        "{path}: {source}; benchwright {tool_version} wrote this folder: analyse it with that release, or copy the file again",
        path = path.display()
    )]
    Content { path: PathBuf, source: StreamError, tool_version: String },
}

/// Reads the measurement from the results folder of a run. `tool_version` is the release that wrote it.
///
/// # Errors
/// The file is missing, too large, truncated or changed, or another release wrote it.
pub fn read(folder: &Path, tool_version: &str) -> Result<KeptRun, MeasurementError> {
    let path = folder.join(NAME);
    let found = user_file::open_regular(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (bytes, file) = match found {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(MeasurementError::Missing { path }),
        Err(source) => return Err(MeasurementError::Read { path, source }),
    };
    if bytes > MAX_BYTES {
        return Err(MeasurementError::TooLarge { path, bytes });
    }
    let memory = usize::try_from(bytes * MEMORY_PER_BYTE + MEMORY).unwrap_or(usize::MAX);
    KeptRun::read(&mut BufReader::new(file), memory).map_err(|source| match source {
        StreamError::Io(source) => MeasurementError::Read { path, source },
        source @ StreamError::Wire(_) => {
            MeasurementError::Content { path, source, tool_version: tool_version.to_owned() }
        }
    })
}
