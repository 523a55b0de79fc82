//! The steps of an analysis, in their order.

use std::sync::Arc;

use crds::Met;
use measurement::recorder::{StageTally, TimeSeries};

use crate::{
    Analysis, Contamination, DistributionFunctions, Evidence, Figures, Labels, LatencyOrigin, Objectives,
    SelfJudgement, SeriesFigures, SessionFigures, StageAnalysis, backlog, class, labels, rates::Plateaus, remarks,
    search::SearchResult, servers::ServerAnalysis, timings::Timings, uncertainty, validity,
};

/// Computes figures from counts and histograms, and judges them. The same evidence gives the same analysis.
pub fn analyse(evidence: &Evidence<'_>) -> Analysis {
    let Evidence { workload, .. } = *evidence;
    let mut analysis = figures(evidence);
    analysis.judgement.remarks.extend(evidence.doubts.iter().cloned());
    if let Some(why) = &evidence.lost_target {
        analysis.verdict.explain_lost_target(why);
    }
    if let Some(tests) = evidence.loadgen {
        analysis.verdict.add_loadgen(tests.verdicts());
    }
    if let Some(accuracy) = &evidence.accuracy {
        accuracy.judge(&mut analysis.verdict);
        analysis.judgement.remarks.extend(accuracy.remarks());
    }
    if let Some(profiling) = &evidence.profiling {
        analysis.judgement.remarks.extend(profiling.remarks());
    }
    if let Some(scraped) = &evidence.scraped {
        let servers = ServerAnalysis::of_load(Arc::clone(scraped), &evidence.measured, workload, &analysis.stages);
        analysis.contamination.add_servers(&servers.run);
        analysis.servers = Some(servers);
    }
    if let Some((hits, looked_up)) = evidence.cache_counts {
        analysis.contamination.add_counts(hits, looked_up);
    }
    // This is the last step, because objectives stay undecided if the measurement is invalid.
    match (&evidence.run.slo, evidence.search) {
        (Some(slo), Some(search)) => {
            match search.objectives(slo) {
                Some(at_answer) => analysis.judge_objectives(&at_answer, None),
                None if search.answer.is_some() => {
                    let reason = "an earlier search, from which this one went on, confirmed the answer";
                    analysis.objectives = Some(Objectives::without_figures(slo, Met::True, reason));
                }
                None => analysis.objectives = Some(Objectives::undecided(slo, "the search confirmed no load")),
            }
            search.judge(&mut analysis.verdict);
        }
        (Some(slo), None) => analysis.judge_objectives(slo, evidence.baseline),
        (None, _) => {}
    }
    analysis.search = evidence.search.cloned();
    analysis
}

/// Computes the figures of the load, and a verdict that does not yet take objectives and accuracy into account.
fn figures(evidence: &Evidence<'_>) -> Analysis {
    let Evidence { ref measured, workload, run, model, .. } = *evidence;
    let tallies = &measured.recorder.stages;
    let (probes, sessions, series) =
        (&measured.recorder.probes, &measured.recorder.sessions, &measured.recorder.series);
    let (timings, of_all) = Timings::of_run(measured.recorder, workload);
    let plateaus = Plateaus::new(measured.recorder, workload);
    let all = Figures::of_run(workload, tallies, &of_all, plateaus.of_run(tallies).as_ref());
    let of_run = labels::OfRun::new(workload, run, all.cached);
    let of_stage = |(index, (((stage, tally), timings), uncertainty))| {
        let delay = measured.receive_delay(Some(index));
        let result = measured.stages.get(index);
        let course = series.get(index).and_then(|it| SeriesFigures::new(it, workload.streaming));
        let queue = course.as_ref().and_then(|it| backlog::of_stage(stage, it));
        // In a run of one stage, the time series of the run is also that of the stage. So only the run stores it.
        let beside = (probes.get(index), sessions.get(index), course.filter(|_| tallies.len() > 1), queue);
        let plateau = plateaus.stages.get(index).and_then(Option::as_ref);
        StageAnalysis::new(stage, result, tally, (timings, plateau), uncertainty, delay, beside, workload, of_run)
    };
    let uncertainties = uncertainty::of_stages(measured.recorder, workload, &plateaus);
    let stages = workload.stages.iter().zip(tallies).zip(&timings).zip(uncertainties).enumerate();
    let mut stages: Vec<StageAnalysis> = stages.map(of_stage).collect();
    let excused = evidence.search.map(SearchResult::limited_by_client).unwrap_or_default();
    let mut judgement = SelfJudgement::new(measured, &all, &stages, &excused);
    let course = SeriesFigures::new(&TimeSeries::sum(series), workload.streaming);
    let findings = validity::Findings {
        stopped: measured.stopped,
        run,
        workload,
        all: &all,
        stages: &stages,
        judgement: &judgement,
    };
    let judged = validity::judge(&findings);
    judgement.remarks = remarks::remarks(&findings, &judged);
    let validity::Judged { verdict, stages: invalid } = judged;
    for (stage, invalid) in stages.iter_mut().zip(invalid) {
        stage.invalid = invalid;
    }
    judgement.remarks.extend(remarks::records(measured.recorder));
    let origins: Vec<LatencyOrigin> = stages.iter().map(|it| it.latency_origin).collect();
    let distributions = match &stages[..] {
        // In a run of one stage, the run has the same distributions as the stage.
        [only] => only.distributions.clone(),
        _ => {
            let with_origins = tallies.iter().zip(origins.iter().copied());
            DistributionFunctions::new(with_origins, workload.streaming, None)
        }
    };
    let classes = class::classes(&measured.recorder.classes, &plateaus.classes, workload, &origins);
    let labels = Labels::of_run(&stages, of_run, &all);
    let contamination = Contamination::new(&all, workload, run, measured.rows);
    let sessions = SessionFigures::of_run(sessions, all.duration, workload.streaming);
    Analysis {
        model: model.to_owned(),
        started: measured.started,
        partial: measured.stopped.is_some() && all.is_cut_off(),
        verdict,
        all,
        stages,
        classes,
        probes: (!probes.is_empty()).then(|| Figures::of_probes(&StageTally::sum(probes), workload)),
        sessions,
        series: course,
        distributions,
        sample: measured.recorder.sample.clone(),
        judgement,
        labels,
        objectives: None,
        accuracy: evidence.accuracy.clone(),
        contamination,
        profiling: evidence.profiling.clone(),
        servers: None,
        search: None,
    }
}
