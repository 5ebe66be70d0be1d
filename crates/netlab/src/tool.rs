//! ip(8) and tc(8), run inside a namespace.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::enter::in_net;
use crate::error::LabError;
use crate::pidfd::{Pidfd, Waited};

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

/// Each takes a few ms; only a kernel that waits for something else takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

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
        match self.start(&["-V".to_owned()]).and_then(said) {
            Ok(_) => Ok(()),
            Err(_) => Err(LabError::NoTool(self.name())),
        }
    }

    /// Runs it inside the namespace at `net` and returns what it printed, or what it complained of.
    ///
    /// # Errors
    /// The namespace could not be entered.
    pub(crate) fn run(self, net: &Path, args: &[String]) -> io::Result<Result<String, String>> {
        in_net(net, || self.start(args).and_then(said).map_err(|error| error.to_string()))
    }

    fn start(self, args: &[String]) -> io::Result<Child> {
        let start = |program: &Path| {
            Command::new(program)
                .args(args)
                .env("LC_ALL", "C")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        };
        let mut started = start(Path::new(self.name()));
        for dir in SBIN {
            match started {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    started = start(&Path::new(dir).join(self.name()));
                }
                other => return other,
            }
        }
        started
    }
}

/// What it printed; what it complained of is the error. It prints far less than a pipe holds, so
/// waiting first is safe, and a bound in time.
fn said(mut child: Child) -> io::Result<String> {
    let waited = Pidfd::open(child.id())?.wait(Instant::now() + PATIENCE);
    if waited == Waited::StillThere {
        child.kill()?;
    }
    let status = child.wait()?;
    let text = |pipe: Option<&mut dyn Read>| {
        let mut text = Vec::new();
        pipe.map_or(Ok(0), |pipe| pipe.read_to_end(&mut text))?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&text).into_owned())
    };
    let printed = text(child.stdout.as_mut().map(|pipe| pipe as &mut dyn Read))?;
    let complaint = text(child.stderr.as_mut().map(|pipe| pipe as &mut dyn Read))?;
    if status.success() {
        return Ok(printed);
    }
    let complaint = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(io::Error::other(match waited {
        Waited::StillThere => "it did not end and was stopped".to_owned(),
        Waited::Ended if complaint.is_empty() => status.to_string(),
        Waited::Ended => complaint,
    }))
}
