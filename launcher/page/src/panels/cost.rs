//! Cost per million output tokens against interactivity (tokens per second for one user). The price comes from the user.

use document::{ReportDocument, StageDocument};

use super::{
    Content,
    interactivity::{Better, axis_of_users, points, with_front},
    plot::{figure, quantity},
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let price = document
        .hardware
        .as_ref()
        .and_then(|it| Some((it, it.price_per_accelerator_hour?, it.currency.as_deref().unwrap_or_default())));
    let Some((hardware, price, currency)) = price else {
        return Err(
            "The run has no price: set accelerators, pricePerAcceleratorHour and currency in spec.target.hardware. \
                    No price is guessed."
                .to_owned(),
        );
    };
    let cost = |stage: &StageDocument| {
        let stage = hardware.stages.iter().find(|it| it.name == stage.name)?;
        stage.figures.cost_per_million_output_tokens
    };
    let points = points(document, cost)?;
    let caption = format!(
        "The price of {} accelerators at {price} {currency} per hour each, divided by the output tokens of the \
         stage. Interactivity is the median of 1/TPOT. The stepped line joins the stages that no other stage beats \
         in both figures.",
        hardware.accelerators
    );
    let axis = quantity("Cost of a million output tokens", currency);
    Ok(vec![with_front(
        figure("cost", "Cost against interactivity", caption, axis_of_users(), axis),
        points,
        Better::Lower,
    )])
}
