//! What the role is handed.

use std::net::SocketAddr;
use std::path::PathBuf;

use net::cpu::CpuList;
use net::role::RoleOptions;
use records::{Arm, Micros};
use serde::{Deserialize, Serialize};

use crate::server::Given;

/// Everything the role needs, as one JSON document: nobody types it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerOptions {
    /// The setting of all toggles.
    pub arm: Arm,
    /// The program under test, beside its name.
    pub given: Given,
    /// Address and port of the origin; absent: there is none.
    pub upstream: Option<SocketAddr>,
    /// Address and port the program accepts on; port 0: a free one, told in the first line.
    pub listen: SocketAddr,
    /// Where the program's configuration, temporary files and content are written.
    pub dir: PathBuf,
    /// Where the access log is written.
    pub access_log: PathBuf,
    /// Steps and loop turns of at least this length are told one by one, where they can be seen.
    pub hold: Micros,
    /// Worker i is put on the i-th of these CPUs, going round; absent: wherever the process may run.
    pub pin: Option<CpuList>,
    /// What every role has.
    pub role: RoleOptions,
}
