//! Sessions: how requests that belong together are sent.

use crate::{
    formats::common::headers::header_name,
    reader::Section,
    workload::{AfterFailure, Sessions, Unit},
};

/// Reads the section `sessions`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<Sessions> {
    let units = [("request", Unit::Request), ("session", Unit::Session)];
    let unit = section.or_default("unit", Unit::default(), |it, key| it.choice(key, &units));
    let header = header_name(&section, "header");
    let keep_connection = section.bool("keepConnection").unwrap_or(false);
    let after = [("continue", AfterFailure::Continue), ("end", AfterFailure::End)];
    let after_failure = section.or_default("afterFailure", AfterFailure::default(), |it, key| it.choice(key, &after));
    section.finish();
    Some(Sessions { unit: unit?, header, keep_connection, after_failure: after_failure? })
}
