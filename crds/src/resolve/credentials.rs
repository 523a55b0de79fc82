//! Recognizes values that can contain a credential, and redacts them.

use std::borrow::Cow;

/// The text that replaces a secret in messages and files.
pub const REDACTED: &str = "<redacted>";

/// The URL for messages and files. The user name and password before an `@` are redacted.
pub fn without_credentials(url: &str) -> Cow<'_, str> {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme + 2 => {
            Cow::Owned(format!("{}{REDACTED}{}", &url[..scheme + 3], &url[at..]))
        }
        _ => Cow::Borrowed(url),
    }
}

/// Whether a key, header or flag with this name contains a credential. Ignores case, and treats hyphens like underscores.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    // These endings also match names without a separator, such as `accessToken` and `secretkey`.
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
