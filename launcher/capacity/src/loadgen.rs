//! Converts the phases of LoadGen tests to loads whose demand is known. Pure.

use crds::units::RequestRate;
use workload_profiles::{
    Workload,
    loadgen::{Effective, Scenario},
    workload::{Arrivals, Load, Rate},
};

/// Replaces each phase with a known rate by a load with the same rate, or with the same number of requests in flight.
pub(super) fn as_plain_loads(workload: &mut Workload) {
    let Some(loadgen) = workload.loadgen.take() else { return };
    for stage in &mut workload.stages {
        let Load::LoadGen { scenario, test, .. } = stage.load else { continue };
        let Some(test) = loadgen.tests.get(test as usize) else { continue };
        let effective = Effective::new(&test.settings, &loadgen.qsl);
        let closed = |concurrency: u64| {
            Load::closed(u32::try_from(concurrency).unwrap_or(u32::MAX), effective.min_sample_count.max(concurrency))
        };
        // With static batches, each request in flight contains a whole batch of samples.
        let max_concurrency = loadgen.max_concurrency.map(|it| it.saturating_mul(loadgen.batch_size.unwrap_or(1)));
        let plain = match scenario {
            Scenario::SingleStream => Some(closed(1)),
            Scenario::MultiStream => Some(closed(effective.samples_per_query)),
            Scenario::Offline => Some(Load::Burst { count: effective.min_sample_count.max(1), max_concurrency }),
            Scenario::Server if loadgen.auto_qps.is_some() => None,
            Scenario::Server => RequestRate::try_from(effective.target_qps).ok().map(|rate| Load::Open {
                arrivals: Arrivals::Poisson,
                rate: Rate::Steady(rate),
                duration: None,
                count: Some(effective.min_query_count.max(1)),
                max_concurrency,
            }),
        };
        if let Some(plain) = plain {
            stage.load = plain;
        }
    }
}

#[cfg(test)]
mod tests {
    use workload_profiles::{
        loadgen::{Qsl, Settings},
        workload::{AutoQps, LoadGen, LoadGenTest, Phase, Stage},
    };

    use super::*;

    /// Checks which load replaces a phase with these settings.
    fn check(settings: Settings, auto_qps: Option<AutoQps>, expected: Option<&str>) {
        let scenario = settings.scenario;
        let load = Load::LoadGen { scenario, test: 0, phase: Phase::Performance };
        let mut workload: Workload = serde_json::from_value(serde_json::json!({
            "api": "OpenAICompletions", "streaming": true, "requests": "mock", "stages": [],
        }))
        .unwrap();
        workload.stages = vec![Stage::new("performance", load.clone())];
        workload.loadgen = Some(LoadGen {
            benchmark: "b".into(),
            round: "v6.1".into(),
            sut_name: "s".into(),
            qsl: Qsl { name: "q".into(), total_sample_count: 100, performance_sample_count: 100 },
            max_concurrency: Some(9),
            batch_size: None,
            tests: vec![LoadGenTest { settings, audited: false, trials_before: Vec::new() }],
            auto_qps,
            user_conf: String::new(),
        });
        as_plain_loads(&mut workload);
        let found = &workload.stages[0].load;
        match expected {
            Some(text) => assert_eq!(serde_json::to_string(found).unwrap(), text),
            None => assert_eq!(*found, load),
        }
    }

    #[test]
    fn each_scenario_has_a_load_as_hard_as_its_own() {
        let settings = |scenario| Settings { scenario, min_query_count: 50, min_duration_ms: 0, ..Settings::default() };
        let single = r#"{"closed":{"concurrency":1,"count":50,"rampUp":"0s"}}"#;
        check(settings(Scenario::SingleStream), None, Some(single));
        let multi = r#"{"closed":{"concurrency":8,"count":400,"rampUp":"0s"}}"#;
        check(settings(Scenario::MultiStream), None, Some(multi));
        check(settings(Scenario::Offline), None, Some(r#"{"burst":{"count":50,"maxConcurrency":9}}"#));
        let server = Settings { server_target_qps: 7.0, ..settings(Scenario::Server) };
        let open = r#"{"open":{"arrivals":"poisson","rate":7.0,"count":50,"maxConcurrency":9}}"#;
        check(server.clone(), None, Some(open));
        check(server, Some(AutoQps::Search), None);
    }
}
