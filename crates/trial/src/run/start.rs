//! A role on its way into a process: its options, its host, its command.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anyhow::Context;
use net::role::RoleOptions;
use netlab::Host;
use records::{Effective, Role, RoleProcess};

use super::Run;
use crate::options;
use crate::phases::Start;
use crate::roles::{self, RoleCommand, ServerOptions};
use crate::sampler::Watch;
use crate::withheld::Cgroup;
use records::run_dir::{ACCESS_LOG, PROXY_DIR};

impl Run<'_> {
    /// Starts a role on its host.
    pub(super) fn start(&mut self, start: Start) -> anyhow::Result<()> {
        let role = start.role();
        let failed = || format!("failed to start the {role} role");
        let words = self.role(start)?.words().with_context(failed)?;
        let pid = self.children.start(role, Path::new(roles::PROGRAM), &words);
        let pid = pid.with_context(failed)?;
        let own = std::env::current_exe().unwrap_or_else(|_| roles::PROGRAM.into());
        let command = std::iter::once(own.display().to_string()).chain(words).collect();
        self.watch(Watch::Process(role, pid));
        let effective = Effective::default();
        self.manifest.processes.push(RoleProcess { role, pid, command, effective });
        Ok(())
    }

    /// A role with all its options.
    fn role(&self, start: Start) -> anyhow::Result<RoleCommand> {
        let (plan, trial) = (self.plan, &self.plan.trial);
        let arm = &trial.arm;
        let net = self.host(start.role()).map(Host::net_path);
        let cgroup = self.cgroup.filter(|_| start.role() == Role::Proxy).map(Cgroup::procs);
        let own = RoleOptions { net, cgroup, ..RoleOptions::of_child(plan.cpus.of(start.role())) };
        // A role that listens is up before those that connect to it are started.
        let at = |role| {
            let addr = self.listen.get(&role).copied();
            addr.with_context(|| format!("failed to start the {}: no {role} listens", start.role()))
        };
        Ok(match start {
            Start::Origin => {
                let anywhere = SocketAddr::new(self.addr(Role::Origin), 0);
                let listen = trial.origin_listen.unwrap_or(anywhere);
                RoleCommand::origin(arm, listen, trial.idle, own)
            }
            Start::Proxy => {
                let dir = self.files.dir();
                let log = || dir.join(ACCESS_LOG);
                let options = ServerOptions {
                    arm: arm.clone(),
                    given: trial.given.clone(),
                    upstream: self.listen.get(&Role::Origin).copied(),
                    listen: SocketAddr::new(self.addr(Role::Proxy), 0),
                    dir: dir.join(PROXY_DIR),
                    access_log: plan.files.access_log.clone().unwrap_or_else(log),
                    hold: trial.hold,
                    pin: plan.cpus.workers.clone(),
                    role: own,
                };
                RoleCommand::proxy(options, trial.recording)
            }
            Start::Slow(requests) => RoleCommand::slow(arm, at(Role::Proxy)?, requests, own),
            Start::Fast(phase) => {
                let length = trial.length(phase).unwrap_or_default();
                RoleCommand::fast(arm, at(Role::Proxy)?, (phase, length), own)
            }
        })
    }

    /// On which address `role` listens.
    fn addr(&self, role: Role) -> IpAddr {
        self.host(role).map_or(options::LOOPBACK, Host::addr)
    }

    /// The host of its own that `role` has.
    fn host(&self, role: Role) -> Option<&Host> {
        self.lab?.host(role.name())
    }
}
