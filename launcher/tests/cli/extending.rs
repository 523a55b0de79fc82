//! The adapter in docs/extending.md, with a server that has another API.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use crate::common::Folder;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/extending");

/// A substitute for Text Generation Inference. It prints its port.
const FOREIGN: &str = r#"
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200 if self.path == "/generate_stream" else 404)
        self.end_headers()
        for number in range(request["parameters"]["max_new_tokens"]):
            self.wfile.write(b"data:" + json.dumps({"token": {"id": number, "text": " t"}}).encode() + b"\n\n")
        self.wfile.write(b"data:" + json.dumps({"generated_text": request["inputs"]}).encode() + b"\n\n")
    def log_message(self, *about):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"#;

struct Foreign(Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn the_adapter_of_the_documents_measures_a_server_of_another_api() {
    let folder = Folder::new();
    folder.write("foreign.py", FOREIGN);
    folder.write("adapter.py", &fs::read_to_string(format!("{EXAMPLES}/adapter.py")).unwrap());
    let mut program = Command::new("python3");
    program.arg("foreign.py").current_dir(folder.path("")).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut foreign = Foreign(program.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(foreign.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let file = fs::read_to_string(format!("{EXAMPLES}/adapter.yaml")).unwrap();
    let url = format!("http://127.0.0.1:{}", port.trim());
    assert!(file.contains("http://127.0.0.1:8080"), "{file}");
    folder.write("run.yaml", &file.replace("http://127.0.0.1:8080", &url));
    let output = folder
        .benchwright(&["run", "-f", "run.yaml"])
        .env("BENCHWRIGHT_STATE_DIR", folder.path("state"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path("results/latest/report.json")).unwrap()).unwrap();
    let figures = &report["stages"][0]["figures"];
    let counts = ["requests", "succeeded"].map(|it| figures[it].as_u64());
    assert_eq!((counts, figures["outputTokens"].as_u64()), ([Some(20), Some(20)], Some(320)), "{figures}");
    // Each token arrives in its own event.
    assert_eq!(report["stages"][0]["labels"]["events"], "one");
}
