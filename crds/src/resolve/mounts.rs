//! Where the launcher's pod and the pods of a managed server mount files.

/// The bearer token of the target.
pub const TOKEN_FILE: &str = "/etc/benchwright/auth/token";
/// Further certificate authorities.
pub const CA_FILE: &str = "/etc/benchwright/tls/ca.crt";
/// The folder with the credentials of the bucket: a file for each key of the Secret.
pub const S3: &str = "/etc/benchwright/s3";
/// The folder with our program in the container of a managed server. The server cannot write to it.
pub const SERVER_TOOLS: &str = "/benchwright-tools";
/// Kept output of a managed server in its container: its log, and a profiler's traces.
pub const SERVER_OUTPUT: &str = "/benchwright-output";
/// The traces.
pub const SERVER_TRACES: &str = "/benchwright-output/traces";
/// The weights of a managed server: the root of its `modelClaim`.
pub const MODEL: &str = "/model";
/// `run.yaml`, `spec.yaml` and `profile.yaml`.
pub const INPUT: &str = "/etc/benchwright/run";
/// The volume that holds the results folders.
pub const RESULTS: &str = "/results";
/// Below it, under its name, each claim of the profile's files.
pub const DATA: &str = "/data";
