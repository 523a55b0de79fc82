//! [I/O] Reads lists from the API server page by page.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, api::ListParams};
use serde::de::DeserializeOwned;

use crate::cached_run::PAGE;

/// Passes the metadata of each object that the label selector `selector` matches to `take`.
///
/// # Errors
/// The error of the API server. `take` has then received the objects of the pages before the error.
pub async fn each_metadata<K: Clone + std::fmt::Debug + DeserializeOwned>(
    api: &Api<K>,
    selector: &str,
    mut take: impl FnMut(ObjectMeta),
) -> Result<(), kube::Error> {
    let mut params = ListParams::default().labels(selector).limit(PAGE);
    loop {
        let page = api.list_metadata(&params).await?;
        page.items.into_iter().for_each(|it| take(it.metadata));
        match page.metadata.continue_.filter(|it| !it.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(()),
        }
    }
}
