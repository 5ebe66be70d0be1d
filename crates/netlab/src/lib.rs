//! Hosts in network namespaces that end with the process that made them.
//!
//! A [`Lab`] is a few hosts on one switch, as a rack of small machines would be: each host has
//! TCP settings of its own, and an address that exists only inside. A
//! namespace has no name, no file system entry and no process: an open file of the caller keeps it,
//! and with it go its links, queues and settings (`network_namespaces(7)`).
//!
//! Not for: how a program gets inside (a role enters by itself, see `net::role`), CPUs, file systems, or hosts that must reach the outside.
//!
//! Invariants:
//! - The namespace of the caller is never changed: no link, address, queue or setting in it.
//! - A lab that ends takes along every process that is still inside. If the caller is killed, its
//!   roles inside die with it (`net::role`), and the namespaces with the last of them.
//! - A lab that is up has carried a packet both ways over every link.
//!
//! Facts about these links that bear on a measurement:
//! - A veth link hands on segments of up to 64 KiB as one (GSO), as a card with TSO does.
//! - A packet is received on the CPU that sent it, as on loopback.
//! - A new namespace inherits the caller's congestion control and `tcp_rmem` as they are, but not
//!   its qdisc: a link has no queue.
//! - A process that reads `/proc/net` from a thread that has entered a namespace must read
//!   `/proc/thread-self/net`: `/proc/net` is that of its main thread.

mod lab;
mod namespace;
mod plan;

pub use lab::{Host, HostReadBack, Lab, LabReadBack, SysctlReadBack};
pub use namespace::{LabError, NetId};
pub use plan::{HostPlan, LabPlan, Sysctl};
