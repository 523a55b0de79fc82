//! Reads recorded exchanges from files. `NAME.json` contains the request, and the status line, headers, frames and end of the response.
//! `NAME.body` contains the bytes of its body. Alternatively, `NAME.http` contains head and body as they were read, including chunked
//! coding.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// A recorded exchange.
pub struct Case {
    /// Folder and file name.
    pub name: String,
    /// The requested path; `None` in a file that contains only the response.
    pub path: Option<String>,
    /// Whether a stream was requested.
    pub streaming: bool,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// The body without chunked coding.
    pub body: Vec<u8>,
    /// The offsets at which the recorded pieces of the body end. The last one is the length of the body.
    pub frames: Vec<usize>,
    /// Whether the body ended as HTTP specifies, rather than being broken off by the client or the server.
    pub ended: bool,
    /// The response as it was read, including the head.
    pub raw: Option<Vec<u8>>,
}

/// The content of a folder.
#[derive(Default)]
pub struct Folder {
    pub cases: Vec<Case>,
    /// Number of folders with at least one case.
    pub folders: usize,
    /// Number of files that are not cases, by reason.
    pub skipped: BTreeMap<&'static str, usize>,
}

impl Case {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Whether it is a response of `/v1/chat/completions` or `/v1/completions`. If the path is unknown, the form of the response decides.
    pub fn is_generation(&self) -> bool {
        match self.path.as_deref().map(|it| it.split('?').next().unwrap_or(it)) {
            Some(path) => ["/v1/chat/completions", "/v1/completions"].contains(&path),
            None => {
                let text = String::from_utf8_lossy(&self.body);
                self.status >= 400 || text.is_empty() || text.contains("\"choices\"") || text.contains("\"error\"")
            }
        }
    }

    /// Returns the pieces in which the body was recorded.
    pub fn pieces(&self) -> Vec<&[u8]> {
        let starts = [0].into_iter().chain(self.frames.iter().copied());
        starts.zip(&self.frames).map(|(start, end)| &self.body[start..*end]).collect()
    }
}

/// Reads all cases in a folder and its subfolders.
pub fn read(root: &Path) -> Folder {
    let mut all = Folder::default();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let before = all.cases.len();
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let case = match path.extension().and_then(|it| it.to_str()) {
                Some("json") => of_json(&path),
                Some("http") => of_http(&path),
                // Such a file belongs to the JSON file with the same name.
                Some("body") => continue,
                _ => Err("it is no exchange"),
            };
            match case {
                Ok(case) => all.cases.push(case),
                Err(reason) => *all.skipped.entry(reason).or_default() += 1,
            }
        }
        all.folders += usize::from(all.cases.len() > before);
    }
    all
}

fn name(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// Reads the case in a JSON file.
pub fn of_json(path: &Path) -> Result<Case, &'static str> {
    let exchange: Value = serde_json::from_slice(&fs::read(path).unwrap()).map_err(|_| "it is no JSON")?;
    let (request, response) = (&exchange["request"], &exchange["response"]);
    if !request.is_object() || !response.is_object() {
        return Err("it is no exchange");
    }
    if response.get("error").is_some() {
        return Err("no answer was recorded");
    }
    let status_line = response["status_line"].as_str().ok_or("it has no status line")?;
    let texts = response["frames"].as_array().map(Vec::as_slice).unwrap_or_default();
    let frames: Vec<&str> = texts.iter().map(|it| it["text"].as_str().unwrap_or_default()).collect();
    let joined = frames.concat().into_bytes();
    let body = fs::read(path.with_extension("body")).unwrap_or_else(|_| joined.clone());
    // If a frame was not valid UTF-8, its recorded text differs from the bytes that were read, but the body is exact.
    let ends = frames.iter().scan(0, |end, it| {
        *end += it.len();
        Some(*end)
    });
    let frames = if joined == body { ends.collect() } else { vec![body.len()] };
    let headers = response["headers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    Ok(Case {
        name: name(path),
        path: Some(text(&request["path"])),
        streaming: request["body"]["stream"] == true,
        status: status(status_line)?,
        headers: headers.iter().map(|it| (text(&it[0]), text(&it[1]))).collect(),
        body,
        frames,
        ended: response["end"] == "complete",
        raw: None,
    })
}

fn status(line: &str) -> Result<u16, &'static str> {
    line.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or("its status line has no status")
}

fn of_http(path: &Path) -> Result<Case, &'static str> {
    let raw = fs::read(path).unwrap();
    let end = raw.windows(4).position(|it| it == b"\r\n\r\n").ok_or("its head is cut off")?;
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = status(lines.next().unwrap_or_default())?;
    let fields = lines.filter_map(|it| it.split_once(':'));
    let headers: Vec<_> = fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
    let rest = &raw[end + 4..];
    let mut case = Case {
        name: name(path),
        path: None,
        streaming: true,
        status,
        headers,
        body: Vec::new(),
        frames: Vec::new(),
        ended: true,
        raw: None,
    };
    if case.header("transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked")) {
        case.ended = dechunk(rest, &mut case.body, &mut case.frames);
    } else if let Some(length) = case.header("content-length").and_then(|it| it.parse::<usize>().ok()) {
        case.ended = rest.len() >= length;
        case.body = rest[..length.min(rest.len())].to_vec();
    } else {
        case.body = rest.to_vec();
    }
    if case.frames.last() != Some(&case.body.len()) {
        case.frames.push(case.body.len());
    }
    case.raw = Some(raw);
    Ok(case)
}

/// Removes the chunked coding. Returns whether the last chunk was present.
fn dechunk(mut rest: &[u8], body: &mut Vec<u8>, frames: &mut Vec<usize>) -> bool {
    loop {
        let Some(end) = rest.windows(2).position(|it| it == b"\r\n") else { return false };
        let size = String::from_utf8_lossy(&rest[..end]);
        let size = size.split(';').next().unwrap_or_default().trim();
        let Ok(size) = usize::from_str_radix(size, 16) else { return false };
        rest = &rest[end + 2..];
        if size == 0 {
            return true;
        }
        body.extend_from_slice(&rest[..size.min(rest.len())]);
        frames.push(body.len());
        if rest.len() < size + 2 {
            return false;
        }
        rest = &rest[size + 2..];
    }
}
