//! `hardware` in `report.json`: rates per accelerator and costs, if the user described the hardware.

use analysis::{Analysis, CostFigures};
use crds::resolve::Hardware;
use serde::{Deserialize, Serialize};

/// What the user described, and the figures derived from it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HardwareDocument {
    /// The field of the spec that the number of accelerators and the price come from.
    pub source: String,
    pub accelerator: Option<String>,
    /// The number by which every rate per accelerator is divided.
    pub accelerators: u32,
    pub price_per_accelerator_hour: Option<f64>,
    pub currency: Option<String>,
    /// The figures of the run.
    pub figures: CostDocument,
    pub stages: Vec<StageCostDocument>,
}

/// Rates per accelerator, and costs.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostDocument {
    pub output_tokens_per_second_per_accelerator: Option<f64>,
    pub total_tokens_per_second_per_accelerator: Option<f64>,
    pub cost_per_million_output_tokens: Option<f64>,
    pub cost_per_million_total_tokens: Option<f64>,
}

/// Rates per accelerator and costs of one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageCostDocument {
    pub name: String,
    pub figures: CostDocument,
}

impl HardwareDocument {
    pub(super) fn new(hardware: &Hardware, analysis: &Analysis) -> Self {
        let Hardware { accelerator, accelerators, price } = hardware;
        HardwareDocument {
            source: "spec.target.hardware".to_owned(),
            accelerator: accelerator.clone(),
            accelerators: *accelerators,
            price_per_accelerator_hour: price.as_ref().map(|it| it.per_accelerator_hour),
            currency: price.as_ref().map(|it| it.currency.clone()),
            figures: CostFigures::new(&analysis.all, hardware).into(),
            stages: analysis
                .stages
                .iter()
                .map(|it| StageCostDocument {
                    name: it.stage.name.clone(),
                    figures: CostFigures::new(&it.figures, hardware).into(),
                })
                .collect(),
        }
    }
}

impl From<CostFigures> for CostDocument {
    fn from(it: CostFigures) -> Self {
        let CostFigures {
            output_tokens_per_second_per_accelerator,
            total_tokens_per_second_per_accelerator,
            cost_per_million_output_tokens,
            cost_per_million_total_tokens,
        } = it;
        CostDocument {
            output_tokens_per_second_per_accelerator,
            total_tokens_per_second_per_accelerator,
            cost_per_million_output_tokens,
            cost_per_million_total_tokens,
        }
    }
}
