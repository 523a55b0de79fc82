//! Describes whether the servers and the client counted the same tokens.

use analysis::{Analysis, servers::ServerAnalysis};

/// Describes the counts as equal or different, or why they were not compared.
pub(crate) fn words(server: &ServerAnalysis, analysis: &Analysis) -> String {
    compared(server, analysis).unwrap_or_else(|why| format!("not compared, because {why}"))
}

/// Compares the counts. Returns the reason as an error if they cannot be compared.
fn compared(server: &ServerAnalysis, analysis: &Analysis) -> Result<String, String> {
    let run = &server.run;
    if run.resets > 0 {
        return Err("a counter of the servers was reset during the run".to_owned());
    }
    if !run.whole {
        return Err("the scrapes of the servers do not cover the run".to_owned());
    }
    let (Some(prompt), Some(output)) = (run.prompt_tokens, run.generation_tokens) else {
        return Err("the servers report no prompt and output tokens of the run".to_owned());
    };
    let client = server.client.ok_or_else(|| unknown(analysis))?;
    let parts = [("prompt", prompt, client.prompt), ("output", output, client.output)];
    let (Some(our_prompt), Some(our_output)) = (client.prompt.whole(), client.output.whole()) else {
        let parts = parts.map(|(what, server, range)| {
            let more = range.most.map_or_else(|| " or more".to_owned(), |most| format!(" to {most}"));
            format!("the servers counted {server:.0} {what} tokens, and the answers report {}{more}", range.known)
        });
        return Err(format!("{}: {}", unknown(analysis), parts.join("; ")));
    };
    if prompt == our_prompt as f64 && output == our_output as f64 {
        return Ok(format!("equal: servers and answers report {our_prompt} prompt and {our_output} output tokens"));
    }
    let differ = parts.map(|(what, server, range)| {
        let more = server - range.known as f64;
        format!("the servers counted {server:.0} {what} tokens, and the answers report {} ({more:+.0})", range.known)
    });
    Ok(format!("differ: {}", differ.join("; ")))
}

/// Explains why the usage of some requests is unknown.
fn unknown(analysis: &Analysis) -> String {
    let all = &analysis.all;
    let unsuccessful = all.requests.saturating_sub(all.succeeded);
    match (analysis.probes.is_some(), unsuccessful, all.without_usage) {
        (true, ..) => "the load has probes, and the usage of their tokens was not kept".to_owned(),
        (_, 1.., _) => format!("{unsuccessful} requests did not succeed, so their tokens are not known"),
        (_, _, 1..) => format!("{} answers had no usage", all.without_usage),
        _ => "the usage of some requests that are in no figure is not known".to_owned(),
    }
}
