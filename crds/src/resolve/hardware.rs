//! The hardware behind the target, converted from the user's description into the form that the launcher receives.

use serde::{Deserialize, Serialize};

use super::Errors;
use crate::{benchmark_run as written, wording::quoted};

/// Maximum number of accelerators. Also the maximum price per accelerator and hour.
const MOST: f64 = 1e6;
/// Maximum length of an accelerator's name, in characters.
const MAX_NAME: usize = 64;

/// The accelerators behind the target.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hardware {
    /// The kind of accelerator. `None` if the user does not set it.
    pub accelerator: Option<String>,
    /// Number of accelerators, at least 1.
    pub accelerators: u32,
    /// The price. It is absent if it is unknown, and costs are then not reported.
    pub price: Option<Price>,
}

/// The price of accelerator time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Price of one accelerator for one hour; finite and above 0.
    pub per_accelerator_hour: f64,
    /// The currency as three capital letters, such as USD.
    pub currency: String,
}

/// Checks the hardware in the spec, and returns it with its price as a number.
pub(super) fn hardware(written: Option<&written::Hardware>, errors: &mut Errors) -> Option<Hardware> {
    const PATH: &str = "spec.target.hardware";
    let written = written?;
    if written.accelerators == 0 || f64::from(written.accelerators) > MOST {
        let found = written.accelerators;
        let problem = format!("is {found}; write the number of accelerators behind the target, from 1 to 1000000");
        errors.add(&format!("{PATH}.accelerators"), &problem);
    }
    if let Some(name) = &written.accelerator
        && (name.trim().is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control))
    {
        let problem =
            format!("is {}; write a name of 1 to {MAX_NAME} characters on one line, such as H100", quoted(name));
        errors.add(&format!("{PATH}.accelerator"), &problem);
    }
    let price = written.price_per_accelerator_hour.as_ref().and_then(|it| {
        let text = it.text();
        let price = text.parse::<f64>().ok().filter(|it| *it > 0.0 && *it <= MOST);
        if price.is_none() {
            let problem = format!("is {}; write a number above 0 and up to 1000000, such as \"2.50\"", quoted(&text));
            errors.add(&format!("{PATH}.pricePerAcceleratorHour"), &problem);
        }
        price
    });
    let currency = written.currency.as_deref();
    if let Some(found) = currency.filter(|it| it.len() != 3 || !it.bytes().all(|it| it.is_ascii_uppercase())) {
        let problem = format!("is {}; write the three capital letters of ISO 4217, such as USD", quoted(found));
        errors.add(&format!("{PATH}.currency"), &problem);
    }
    match (&written.price_per_accelerator_hour, currency) {
        (Some(_), None) => {
            let problem =
                "is missing, and pricePerAcceleratorHour is set; write the currency of the price, such as USD";
            errors.add(&format!("{PATH}.currency"), problem);
        }
        (None, Some(found)) => {
            let problem =
                format!("is {}, and there is no price; set pricePerAcceleratorHour, or take it out", quoted(found));
            errors.add(&format!("{PATH}.currency"), &problem);
        }
        _ => {}
    }
    Some(Hardware {
        accelerator: written.accelerator.clone(),
        accelerators: written.accelerators,
        price: price
            .zip(currency)
            .map(|(per_accelerator_hour, it)| Price { per_accelerator_hour, currency: it.to_owned() }),
    })
}
