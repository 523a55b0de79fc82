//! Measures the memory and the time needed for reading a large data set: `make bench-data`.
//!
//! Writes a file like ShareGPT's, with the size in MB from the argument. Reads its first turns and its whole conversations, each in a separate
//! process. Prints the peak resident memory, the file size and the size of the kept data. Then does the same with a file like MLPerf's for Llama 3.1
//! 8B: 13,368 rows with a text and its token ids, of which only the ids are sent.

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::Path,
    process::Command,
};

use crds::{benchmark_run::Api, units::Seed};
use workload_profiles::{
    Workload,
    workload::{
        ConversationUse, DataSet, DataSetFormat, OutputLength, PromptColumn, PromptForm, RequestSource, RowContent,
    },
};

const WORDS: &str = "amber basin cedar delta ember fjord gravel harbor island juniper ";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [path, send] => read(Path::new(path), send),
        [megabytes] => measure(megabytes.parse()?),
        _ => measure(700),
    }
}

/// Writes the file, and reads it in child processes.
fn measure(megabytes: u64) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sharegpt.json");
    write(&path, megabytes * 1_000_000)?;
    let ids = folder.path().join("cnn_eval.json");
    write_ids(&ids)?;
    for (path, send) in [(&path, "first"), (&path, "all"), (&ids, "ids")] {
        Command::new(env::current_exe()?).arg(path).arg(send).status()?;
    }
    Ok(())
}

/// Writes 13,368 rows with 100 to 1,700 token ids each, on average 900.
fn write_ids(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    for row in 0_u32..13_368 {
        let length = 100 + row.wrapping_mul(7_919) % 1_601;
        let ids: Vec<u32> = (0..length).map(|it| it.wrapping_mul(row).wrapping_mul(2_654_435_761) % 128_000).collect();
        let text: String = WORDS.chars().cycle().take(4 * length as usize).collect();
        let begin = if row == 0 { "[" } else { ",\n" };
        write!(file, "{begin}{}", serde_json::json!({"input": text, "tok_input": ids, "output": &text[..200]}))?;
    }
    file.write_all(b"]\n")?;
    Ok(file.flush()?)
}

/// Writes conversations with four turns of varying length, until the file has this many bytes.
fn write(path: &Path, bytes: u64) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut written = 1;
    file.write_all(b"[")?;
    for row in 0_usize.. {
        let turn = |from: &str, words: usize| {
            let text: String = WORDS.chars().cycle().skip(row % 50).take(6 * words).collect();
            serde_json::json!({"from": from, "value": text})
        };
        let turns = [
            turn("human", 10 + row % 90),
            turn("gpt", 50 + row % 400),
            turn("human", 5 + row % 40),
            turn("gpt", 80 + row % 300),
        ];
        let comma = if row == 0 { "" } else { ",\n" };
        let text = format!("{comma}{}", serde_json::json!({"id": format!("c{row}"), "conversations": turns}));
        file.write_all(text.as_bytes())?;
        written += text.len() as u64;
        if written >= bytes {
            break;
        }
    }
    file.write_all(b"]\n")?;
    file.flush()?;
    Ok(())
}

/// Reads the file, and prints one line.
fn read(path: &Path, send: &str) -> Result<(), Box<dyn Error>> {
    let conversation = |send| RowContent::Conversation { column: "conversations".into(), send };
    let ids = PromptColumn::from_form(PromptForm::TokenIds);
    let (row, output, what) = match send {
        "first" => (conversation(ConversationUse::FirstTurn), OutputLength::Answer, "first turns"),
        "ids" => (RowContent::Prompt(ids.clone()), OutputLength::Fixed(128), "token ids"),
        _ => (conversation(ConversationUse::AllButLast), OutputLength::Answer, "all turns but the last"),
    };
    let set = DataSet { row, output, count: None, ..DataSet::new(path.to_owned(), DataSetFormat::Json, ids, 1, 1) };
    let workload = Workload::new(Api::Chat, RequestSource::DataSet(set), Vec::new());
    let begun = clock::monotonic();
    let rows = data_sets::read(&workload, Seed(1))?;
    let seconds = clock::monotonic().saturating_sub(begun).as_secs_f64();
    let size = fs::metadata(path)?.len() as f64 / 1e6;
    let (kept, peak) = (rows.bytes() as f64 / 1e6, peak_mb()?);
    println!(
        "{what}: {} rows of a file of {size:.0} MB in {seconds:.1} s, {:.0} MB/s; kept {kept:.0} MB; peak memory {peak:.0} MB, {:.2} of the file",
        rows.len(),
        size / seconds,
        peak / size
    );
    Ok(())
}

/// The largest resident set of this process so far, in MB.
fn peak_mb() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).ok_or("/proc/self/status has no VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0 / 1e6)
}
