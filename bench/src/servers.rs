//! Origin and, if one is asked for, the proxy before it.

use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use net::role::RoleOptions;
use origin::OriginOptions;
use proxy::ProxyOptions;
use records::ProxyToggles;

use crate::child::{Child, Told};
use crate::cpu_plan::CpuPlan;
use crate::roles::RoleCommand;

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
        let role = RoleOptions::of_child(plan.load());
        let origin = OriginOptions { role: role.clone(), ..OriginOptions::default() };
        let origin = Child::start(&RoleCommand::Origin(Box::new(origin)), plan.load(), told)?;
        let mut servers = Self { proxy: None, target: origin.listen()?, _origin: origin };
        if let Some(toggles) = toggles {
            let proxy = ProxyOptions {
                toggles: toggles.clone(),
                pin: plan.workers().cloned(),
                role,
                ..ProxyOptions::to(servers.target)
            };
            let proxy = Child::start(&RoleCommand::Proxy(Box::new(proxy)), plan.load(), told)?;
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
