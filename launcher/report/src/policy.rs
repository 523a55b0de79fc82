//! The Content-Security-Policy of a page: the page loads nothing, and only its own style and script are active.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest as _, Sha256};

/// The Content-Security-Policy of a page with this style element and this script element.
pub fn policy(style: &str, script: &str) -> String {
    let (style, script) = (digest(style), digest(script));
    format!("default-src 'none'; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'")
}

/// The digest that identifies an element in the policy.
fn digest(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}
