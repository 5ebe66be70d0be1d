//! ip(8) and tc(8), run inside a namespace.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::enter::in_net;
use crate::error::LabError;

/// A program of iproute2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Links and addresses.
    Ip,
    /// Queues.
    Tc,
}

/// Where distributions put them when PATH, as that of a plain user, has no sbin.
const SBIN: [&str; 2] = ["/usr/sbin", "/sbin"];

impl Tool {
    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Tc => "tc",
        }
    }

    /// Whether it is there.
    ///
    /// # Errors
    /// It is not: [`LabError::NoTool`].
    pub(crate) fn find(self) -> Result<(), LabError> {
        match self.said(&["-V".to_owned()]) {
            Ok(_) => Ok(()),
            Err(_) => Err(LabError::NoTool(self.name())),
        }
    }

    /// Runs it inside the namespace at `net` and returns what it printed, or what it complained of.
    ///
    /// # Errors
    /// The namespace could not be entered.
    pub(crate) fn run(self, net: &Path, args: &[String]) -> io::Result<Result<String, String>> {
        in_net(net, || self.said(args).map_err(|error| error.to_string()))
    }

    /// What it printed; what it complained of is the error.
    fn said(self, args: &[String]) -> io::Result<String> {
        let output = |program: &Path| {
            Command::new(program).args(args).env("LC_ALL", "C").stdin(Stdio::null()).output()
        };
        let mut ran = output(Path::new(self.name()));
        for dir in SBIN {
            if ran.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                ran = output(&Path::new(dir).join(self.name()));
            }
        }
        let ran = ran?;
        if ran.status.success() {
            return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&ran.stderr);
        let complaint = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
        Err(io::Error::other(if complaint.is_empty() { ran.status.to_string() } else { complaint }))
    }
}
