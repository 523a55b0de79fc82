//! Each API against the simulator, with a profile that a user could write.

use serde_json::Value;

use crate::common::{Folder, Sim};

/// Returns the report of a short run with this API. `keys` are additional keys of the profile.
fn run(server: &Sim, api: &str, keys: &str) -> Value {
    let folder = Folder::new();
    let profile = format!(
        "api: {api}\n{keys}\nrequests: {{random: {{input: 20, output: 6}}}}\n\
         stages: [{{load: {{closed: {{concurrency: 2, count: 8}}}}}}]\n"
    );
    folder.write("profile.yaml", &profile);
    let arguments = ["run", "--url", &server.url, "-l", "benchwright", "-w", "profile.yaml"];
    folder.benchwright(&arguments).assert().success();
    folder.report()
}

#[test]
fn every_api_is_measured_alike_streamed_and_whole() {
    let server = Sim::start(&["--preset", "tiny", "--enable-prompt-tokens-details"]);
    for api in ["completions", "chat", "responses", "messages"] {
        for keys in ["streaming: true", "streaming: false"] {
            let report = run(&server, api, keys);
            let summary = &report["summary"];
            assert_eq!((&summary["requests"], &summary["failed"]), (&8.into(), &0.into()), "{api} {keys}");
            assert_eq!(report["figures"]["oslTokens"]["mean"], 6.0, "{api} {keys}");
        }
    }
}
