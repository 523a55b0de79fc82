//! Which server was measured, and whether it was the same before and after the load.

use measurement::server_identity::ServerIdentity;

/// What the target reported about itself. The reports come from the server, or from a gateway in front of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetIdentity {
    /// What it reported when it became ready.
    pub before: ServerIdentity,
    /// What it reported after the load; `None` if it was not probed again.
    pub after: Option<ServerIdentity>,
}

impl TargetIdentity {
    /// A remark if the server changed during the load. Only values that were reported both times are compared.
    pub fn remark(&self) -> Option<String> {
        let after = self.after.as_ref()?;
        let before = &self.before;
        let length = |it: &ServerIdentity| it.max_model_len.map(|it| it.to_string());
        let changes: Vec<String> = [
            ("engine", before.engine.clone(), after.engine.clone()),
            ("version", before.version.clone(), after.version.clone()),
            ("model", before.model.clone(), after.model.clone()),
            ("model root", before.model_root.clone(), after.model_root.clone()),
            ("model revision", before.model_revision.clone(), after.model_revision.clone()),
            ("maximum model length", length(before), length(after)),
        ]
        .into_iter()
        .filter_map(|(what, before, after)| {
            let (before, after) = before.zip(after).filter(|(before, after)| before != after)?;
            Some(format!("{what} {before} before and {after} after"))
        })
        .collect();
        (!changes.is_empty()).then(|| {
            format!(
                "the server changed during the load: {}; the figures mix both states, or replicas that differ",
                changes.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_told_twice_and_differs_is_a_remark() {
        let told = |version: Option<&str>, max_model_len| ServerIdentity {
            version: version.map(Into::into),
            max_model_len,
            server: version.map(|it| format!("proxy {it}")),
            ..ServerIdentity::default()
        };
        let remark = |before, after| TargetIdentity { before, after }.remark();
        assert_eq!(remark(told(Some("1"), Some(8)), None), None);
        assert_eq!(remark(told(Some("1"), Some(8)), Some(told(None, None))), None);
        assert_eq!(remark(told(Some("1"), Some(8)), Some(told(Some("1"), Some(8)))), None);
        let text = remark(told(Some("1"), Some(8)), Some(told(Some("2"), Some(9)))).unwrap();
        assert!(text.contains("version 1 before and 2 after, maximum model length 8 before and 9 after;"), "{text}");
    }
}
