//! What may hold a credential, and is shown without it.

use std::borrow::Cow;

/// What stands in place of a secret, in messages and in files.
pub const REDACTED: &str = "<redacted>";

/// The URL for messages and files. The text before an `@`, a name and a password, is replaced.
pub fn without_credentials(url: &str) -> Cow<'_, str> {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme + 2 => {
            Cow::Owned(format!("{}{REDACTED}{}", &url[..scheme + 3], &url[at..]))
        }
        _ => Cow::Borrowed(url),
    }
}

/// Whether a key, a header or a flag of this name holds a credential. Case, and hyphens in place of underscores, make no difference.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    // Also as they end names without a separator: `accessToken`, `secretkey`.
    let ends = [
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "cookie",
        "_key",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
    ];
    let within = ["auth", "credential", "session"].iter().any(|it| name.contains(it));
    within || name == "key" || ends.iter().any(|end| name.ends_with(end))
}
