use std::collections::BTreeSet;

use super::*;

fn rows() -> impl Iterator<Item = &'static Row> {
    ServerEngine::ALL.into_iter().map(ServerEngine::row)
}

#[test]
fn the_name_of_an_engine_is_the_one_of_the_api() {
    for engine in ServerEngine::ALL {
        assert_eq!(serde_json::to_value(engine).unwrap(), engine.name());
    }
}

#[test]
fn names_are_different() {
    let count = |name: fn(&Row) -> &'static str| rows().map(name).collect::<BTreeSet<_>>().len();
    let counts = [count(|it| it.name), count(|it| it.title), count(|it| it.managed_title), count(|it| it.id)];
    assert_eq!(counts, [ServerEngine::ALL.len(); 4]);
}

#[test]
fn ignored_fields_have_a_remedy_and_are_fields() {
    for row in rows() {
        let options = &row.options;
        assert_eq!(options.remedy.is_empty(), options.of_fields.len() == 7 && options.ignored_fields.is_empty());
        let is_field = |it: &&str| options.of_fields.iter().any(|(field, _)| field == it);
        assert!(options.ignored_fields.iter().all(is_field), "{}", row.name);
    }
}

#[test]
fn metrics_lead_to_the_engine_that_has_them() {
    assert_eq!(MetricsKind::Vllm.engine(), Some(ServerEngine::Vllm));
    assert_eq!((MetricsKind::Auto.engine(), MetricsKind::Dcgm.engine()), (None, None));
    for row in rows().filter(|it| it.metrics.is_some()) {
        assert_eq!(row.metrics_kind.name(), row.title);
        let metrics = row.metrics.unwrap();
        let is_own = |it: &&metric_names::Family| metrics.prefixes.iter().any(|prefix| it.0.starts_with(prefix));
        assert!(metrics.families.iter().all(|it| is_own(&it)), "{}", row.name);
    }
}
