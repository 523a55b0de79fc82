//! Builds the entries of the accuracy log from the outputs that were kept. Pure.

use workload_profiles::loadgen::{Scenario, Settings};

use loadgen::{logs::accuracy_log::AccuracyEntry, queries::PhaseQueries, results::completion::counted_tokens};
use measurement::{output::Output, recorder::KeptOutput};

/// Returns the accuracy log entries of a phase, in order of completion.
pub fn answers(settings: &Settings, queries: &PhaseQueries, kept: &[&KeptOutput]) -> Vec<AccuracyEntry> {
    let streams = settings.use_token_latencies && settings.scenario != Scenario::Offline;
    let mut kept = kept.to_vec();
    kept.sort_by_key(|it| it.ended);
    let entry = |it: &&KeptOutput| {
        let qsl_idx = usize::try_from(it.number).ok().and_then(|place| queries.sample(place))?;
        let Output { token_ids, first, text, .. } = &it.output;
        let bytes = |ids: &[u32]| {
            let mut bytes = Vec::with_capacity(size_of_val(ids));
            ids.iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
            bytes
        };
        let tokens = i64::try_from(token_ids.len()).unwrap_or(i64::MAX);
        Some(AccuracyEntry {
            seq_id: queries.first_sample + it.number,
            qsl_idx: u64::from(qsl_idx),
            // If the server reports no token ids, its text is logged.
            data: if token_ids.is_empty() { text.as_bytes().to_vec() } else { bytes(token_ids) },
            token_data: streams.then(|| bytes(token_ids.get(..*first).unwrap_or_default())),
            token_count: settings.use_token_latencies.then(|| counted_tokens(tokens)),
        })
    };
    kept.iter().filter_map(entry).collect()
}
