//! Origin and, if one is asked for, the proxy before it.

use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use origin::OriginOptions;
use proxy::ProxyToggles;
use records::Role;

use crate::child::{Child, Told};
use crate::cpu_plan::CpuPlan;

/// They end when it is dropped, the proxy first.
#[derive(Debug)]
pub(crate) struct Servers {
    proxy: Option<Child>,
    _origin: Child,
    target: SocketAddr,
}

impl Servers {
    /// Starts them where `plan` says; `toggles` are the proxy's, `None`: there is none.
    ///
    /// # Errors
    /// One of them is not up in time.
    pub(crate) fn start(
        toggles: Option<&ProxyToggles>,
        plan: &CpuPlan,
        told: &Sender<Told>,
    ) -> anyhow::Result<Self> {
        let args = OriginOptions::default().to_args();
        let origin = Child::start(Role::Origin, args, plan.load(), told)?;
        let mut servers = Self { proxy: None, target: origin.listen()?, _origin: origin };
        if let Some(toggles) = toggles {
            let mut args = vec!["--upstream".to_owned(), servers.target.to_string()];
            args.extend(toggles.to_args());
            if let Some(cpus) = plan.workers() {
                args.extend(["--pin".to_owned(), cpus.to_string()]);
            }
            let proxy = Child::start(Role::Proxy, args, plan.load(), told)?;
            servers.target = proxy.listen()?;
            servers.proxy = Some(proxy);
        }
        Ok(servers)
    }

    /// To whom clients connect: the proxy if there is one, else the origin.
    pub(crate) fn target(&self) -> SocketAddr {
        self.target
    }
}
