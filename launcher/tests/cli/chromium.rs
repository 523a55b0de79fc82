//! A headless Chromium that is controlled over the DevTools protocol. Each browser has one page.
//!
//! <https://chromedevtools.github.io/devtools-protocol/>

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, stream::MaybeTlsStream};

/// The maximum time for a response. No response takes this long, even on a busy machine. If the browser hangs, the test fails.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The names of the browser, in Debian and elsewhere.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page.
pub struct Browser {
    child: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    next: u64,
    /// Things that the page of a report must not do, such as requests.
    pub faults: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Returns the browser that `CHROMIUM` names, or one from `PATH`.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).flat_map(|it| NAMES.map(|name| it.join(name))).find(|it| it.exists());
    found.expect("install Debian's package chromium, or name a browser in CHROMIUM")
}

impl Browser {
    /// Starts a browser with a window of `width` x `height` and an empty page.
    pub fn start(width: u32, height: u32) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new(program())
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--remote-debugging-port=0", &format!("--window-size={width},{height}")])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| line.unwrap().strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("the browser ended before it listened");
        // Keep reading, because the browser continues to write, and a full pipe would block it.
        std::thread::spawn(move || lines.for_each(drop));
        let (socket, _) = tungstenite::connect(&address).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        }
        let session = String::new();
        let mut browser = Browser { child, socket, session, next: 0, faults: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = text(&attached["sessionId"]);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.resize(width, height);
        browser
    }

    /// Sets the size of the page in CSS pixels.
    pub fn resize(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Sets whether the page is asked to use dark colours.
    pub fn prefer_dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Opens a file and waits until it is loaded, with its scripts.
    pub fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.canonicalize().unwrap().display());
        self.call("Page.navigate", json!({"url": url}));
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))",
        );
    }

    /// Returns the value of a JavaScript expression. For a promise, returns the resolved value.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Moves the pointer to a position in the window, in CSS pixels.
    pub fn point(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
    }

    /// Presses a key and releases it, such as `Enter` or `ArrowRight`.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            other => panic!("no code is known for the key {other}"),
        };
        let down = if key == "Enter" { "keyDown" } else { "rawKeyDown" };
        let text = if key == "Enter" { "\r" } else { "" };
        for (kind, text) in [(down, text), ("keyUp", "")] {
            let event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Writes a PNG picture of the whole page.
    pub fn screenshot(&mut self, to: &Path) {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        let shot = self.call("Page.captureScreenshot", json!({"format": "png", "captureBeyondViewport": true}));
        let bytes = BASE64_STANDARD.decode(text(&shot["data"])).unwrap();
        std::io::Write::write_all(&mut File::create(to).unwrap(), &bytes).unwrap();
    }

    /// Calls a method and returns its result. Events that arrive meanwhile are checked for faults.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let Message::Text(answer) = self.socket.read().unwrap() else { continue };
            let answer: Value = serde_json::from_str(&answer).unwrap();
            if answer["id"] == self.next {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    /// Records an event that is a fault: a console message, an exception, a dialog, or a request for anything but a file.
    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        let fault = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => format!("an exception: {}", params["exceptionDetails"]),
            "Runtime.consoleAPICalled" => format!("the console: {}", params["args"]),
            "Log.entryAdded" => format!("the log: {}", params["entry"]["text"]),
            "Page.javascriptDialogOpening" => format!("a dialog: {}", params["message"]),
            "Network.requestWillBeSent" => {
                let url = text(&params["request"]["url"]);
                if ["file:", "data:", "about:", "blob:"].iter().any(|it| url.starts_with(it)) {
                    return;
                }
                format!("a request: {url}")
            }
            _ => return,
        };
        self.faults.push(fault);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
