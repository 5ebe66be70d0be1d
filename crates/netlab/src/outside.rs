//! The caller's own settings, watched while hosts get theirs.
//!
//! Kernels before 5.13 show some settings that are the kernel's alone inside every namespace, and let
//! root there change them for all. That must not stay.

use std::collections::BTreeMap;
use std::fs;

use crate::LabPlan;
use crate::error::LabError;
use crate::plan::sysctl_path;

/// What the settings of a plan are outside of its hosts.
#[derive(Debug)]
pub(crate) struct Outside(BTreeMap<String, String>);

impl Outside {
    /// Reads them in the calling thread's namespace; what is not there cannot be changed either.
    pub(crate) fn read(plan: &LabPlan) -> Self {
        let names = plan.hosts.iter().flat_map(|host| &host.sysctls).map(|sysctl| sysctl.name());
        let value = |name: &str| fs::read_to_string(sysctl_path(name)).ok();
        Self(names.filter_map(|name| Some((name.to_owned(), value(name)?))).collect())
    }

    /// Puts back what has changed.
    ///
    /// # Errors
    /// Something had: [`LabError::Leaked`].
    pub(crate) fn must_be_as_before(&self) -> Result<(), LabError> {
        let mut leaked = None;
        for (name, before) in &self.0 {
            let path = sysctl_path(name);
            if fs::read_to_string(&path).is_ok_and(|now| now != *before) {
                // The error that follows is worth more than that of this attempt.
                let _ = fs::write(&path, before);
                leaked = Some(name.clone());
            }
        }
        leaked.map_or(Ok(()), |name| Err(LabError::Leaked(name)))
    }
}
