//! Rules that end the load early because requests fail.

use crate::{
    formats::common::bounds::{MAX_PAUSE_SECONDS, MAX_STAGE_SECONDS},
    reader::Section,
    workload::{Hit, HitLimit, MAX_REQUESTS, StopRule, StopScope},
};

/// Maximum number of rules. Each rule is evaluated for every request.
const MAX_RULES: usize = 100;

/// Reads the list `stopRules`. Returns an empty list if it is absent. Returns `None` if at least one problem was reported.
pub(super) fn read(root: &Section, streaming: bool) -> Option<Vec<StopRule>> {
    if root.value("stopRules").is_none() {
        return Some(Vec::new());
    }
    let items = root.list("stopRules")?;
    let wanted = items.len();
    if wanted > MAX_RULES {
        root.problem("stopRules", format!("holds {wanted} rules; write at most {MAX_RULES}"));
        return None;
    }
    let mut rules = Vec::with_capacity(wanted);
    for (path, value) in items {
        let Some(section) = root.element(value, path) else { continue };
        rules.extend(rule(&section, streaming));
        section.finish();
    }
    (rules.len() == wanted).then_some(rules)
}

fn rule(section: &Section, streaming: bool) -> Option<StopRule> {
    section.require("name", "write a name, which the report shows when the rule ends the load");
    section.require(
        "hit",
        "write which requests count: failed, timedOut, {status: 503}, {ttftAbove: 10s} or {latencyAbove: 60s}",
    );
    section.require("limit", "write when the load ends, such as {inARow: 10} or {shareOfLast: {share: 0.5, of: 100}}");
    let name = section.text("name").map(str::to_owned);
    let hit = hit(section, streaming);
    let limit = limit(section);
    let scopes = [("stage", StopScope::Stage), ("load", StopScope::Load)];
    let scope = section.or_default("scope", StopScope::Load, |it, key| it.choice(key, &scopes));
    Some(StopRule { name: name?, hit: hit?, limit: limit?, scope: scope? })
}

fn hit(section: &Section, streaming: bool) -> Option<Hit> {
    let (name, holder) = section.variant("hit", &["failed", "status", "timedOut", "ttftAbove", "latencyAbove"])?;
    if let "failed" | "timedOut" = name {
        if holder.is_some() {
            section.problem("hit", format!("takes no settings for {name}; write hit: {name}"));
        }
        return Some(if name == "failed" { Hit::Failed } else { Hit::TimedOut });
    }
    let holder = section.with_value("hit", name, holder)?;
    match name {
        "status" => holder.count("status", 100..=599).and_then(|it| u16::try_from(it).ok()).map(Hit::Status),
        "ttftAbove" => {
            if !streaming {
                holder.problem("ttftAbove", "is measured in streams only, and streaming is off; write latencyAbove");
            }
            holder.positive_span("ttftAbove", MAX_PAUSE_SECONDS).map(Hit::TtftAbove)
        }
        _ => holder.positive_span("latencyAbove", MAX_PAUSE_SECONDS).map(Hit::LatencyAbove),
    }
}

fn limit(section: &Section) -> Option<HitLimit> {
    let names = ["count", "inARow", "shareOfLast", "shareWithin", "shareOfAll"];
    let (name, holder) = section.variant_with_value("limit", &names)?;
    match name {
        "count" => holder.count("count", 1..=MAX_REQUESTS).map(HitLimit::Count),
        "inARow" => holder.count("inARow", 1..=MAX_REQUESTS).map(HitLimit::InARow),
        _ => {
            let settings = holder.section(name)?;
            let limit = share(name, &settings);
            settings.finish();
            limit
        }
    }
}

fn share(name: &str, section: &Section) -> Option<HitLimit> {
    section.require("share", "write the share of hits that ends the load, above 0 and at most 1");
    let share = section.positive_number("share", 1.0);
    let requests = |key| section.count_u32(key, 1..=MAX_REQUESTS);
    match name {
        "shareOfLast" => {
            section.require("of", "write how many of the latest requests count for the share");
            let of = requests("of");
            Some(HitLimit::ShareOfLast { share: share?, of: of? })
        }
        "shareWithin" => {
            section.require("within", "write the length of the period whose requests count for the share, such as 30s");
            let within = section.positive_span("within", MAX_STAGE_SECONDS);
            let least = section.or_default("least", 1, |_, key| requests(key));
            Some(HitLimit::ShareWithin { share: share?, within: within?, least: least? })
        }
        _ => {
            let least = section.or_default("least", 1, |_, key| requests(key));
            Some(HitLimit::ShareOfAll { share: share?, least: least? })
        }
    }
}
