//! All integration tests of this crate. They are one program, so that they are linked only once.

#[cfg(feature = "kube")]
mod chart;
#[cfg(feature = "kube")]
mod docs;
mod documents;
mod envelope;
#[cfg(feature = "kube")]
mod golden;
#[cfg(feature = "kube")]
mod reference;
#[cfg(feature = "kube")]
mod stored;
