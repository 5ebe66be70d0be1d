//! What a holder tells its lab: one JSON object a line, on its standard output.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::{NetId, Stray, SysctlReadBack};

/// One line of a holder. Its first is any but `Ended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "holder", rename_all = "snake_case")]
pub(crate) enum Told {
    /// The namespace is there, with its settings.
    Ready {
        /// Which one it is.
        net: NetId,
        /// The settings asked for.
        sysctls: Vec<SysctlReadBack>,
    },
    /// This process may not make one.
    NotAllowed,
    /// A setting could not be made.
    Sysctl {
        /// Its name and value.
        sysctl: String,
        /// What the kernel said.
        why: String,
        /// Whether it exists in the namespace.
        known: Known,
    },
    /// Something else went wrong.
    Failed {
        /// What the kernel said.
        why: String,
    },
    /// The last word: who was still inside.
    Ended {
        /// They were ended.
        strays: Vec<Stray>,
    },
}

/// Whether a setting exists in a network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Known {
    /// It does: the value or the right to set it is the trouble.
    Here,
    /// It does not: the kernel lacks it, or has one for all namespaces.
    NotHere,
}

impl Told {
    /// Prints it. A lab that has gone does not hear it, and that is no error.
    pub(crate) fn tell(&self) -> io::Result<()> {
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        let mut out = io::stdout().lock();
        out.write_all(line.as_bytes())?;
        out.flush()
    }
}
