//! Paths at which the launcher's pod and the pods of a managed server mount files.

/// The bearer token of the target.
pub const TOKEN_FILE: &str = "/etc/benchwright/auth/token";
/// Additional certificate authorities.
pub const CA_FILE: &str = "/etc/benchwright/tls/ca.crt";
/// The folder with the credentials of the bucket: one file per key of the Secret.
pub const S3: &str = "/etc/benchwright/s3";
/// The folder with Benchwright's own program in the container of a managed server. The server cannot write to it.
pub const SERVER_TOOLS: &str = "/benchwright-tools";
/// The folder for output that is kept from a managed server's container: its log, and a profiler's traces.
pub const SERVER_OUTPUT: &str = "/benchwright-output";
/// The folder for a profiler's traces.
pub const SERVER_TRACES: &str = "/benchwright-output/traces";
/// The weights of a managed server: the root of its `modelClaim`.
pub const MODEL: &str = "/model";
/// The folder with `run.yaml`, `spec.yaml` and `profile.yaml`.
pub const INPUT: &str = "/etc/benchwright/run";
/// The volume with the results folders.
pub const RESULTS: &str = "/results";
/// The folder with the claims of the profile's files. Each claim is mounted in a subfolder with its name.
pub const DATA: &str = "/data";
