//! What ends a step while the upstream still has data.

use std::fmt;
use std::str::FromStr;

use super::as_text;
use crate::{Bytes, Micros, ParseUnitError};

/// The read policy of a proxy: the one setting that decides whether a step has an end.
///
/// Written in flags and records as `drain`, `short-read`, `fionread`, `bytes:64KiB`, `reads:16`,
/// `time:2ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadPolicy {
    /// Only EAGAIN ends a step: nginx before 1.11.0.
    #[default]
    Drain,
    /// EAGAIN, or a read shorter than the buffer: nginx 1.11.0 to 1.17.4.
    ShortRead,
    /// As `ShortRead`, and what FIONREAD saw at the first full read: nginx from 1.17.5.
    Fionread,
    /// A quota of bytes a step; then the session waits for the next loop turn.
    Bytes(Bytes),
    /// A quota of reads a step.
    Reads(u64),
    /// A quota of time a step.
    Time(Micros),
}

impl ReadPolicy {
    /// Whether it ends a step while the upstream goes on sending.
    pub const fn is_bounded(self) -> bool {
        match self {
            Self::Drain | Self::ShortRead => false,
            Self::Fionread | Self::Bytes(_) | Self::Reads(_) | Self::Time(_) => true,
        }
    }

    /// Whether a step has a quota, whatever the socket tells.
    pub const fn is_quota(self) -> bool {
        match self {
            Self::Drain | Self::ShortRead | Self::Fionread => false,
            Self::Bytes(_) | Self::Reads(_) | Self::Time(_) => true,
        }
    }
}

impl fmt::Display for ReadPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drain => f.pad("drain"),
            Self::ShortRead => f.pad("short-read"),
            Self::Fionread => f.pad("fionread"),
            Self::Bytes(quota) => f.pad(&format!("bytes:{}", quota.exact())),
            Self::Reads(quota) => f.pad(&format!("reads:{quota}")),
            Self::Time(quota) => {
                f.pad(&format!("time:{}", humantime::format_duration(quota.as_duration())))
            }
        }
    }
}

impl FromStr for ReadPolicy {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let policy = match text.split_once(':').unwrap_or((text, "")) {
            ("drain", "") => Some(Self::Drain),
            ("short-read", "") => Some(Self::ShortRead),
            ("fionread", "") => Some(Self::Fionread),
            ("bytes", quota) => quota.parse().ok().map(Self::Bytes),
            ("reads", quota) => quota.parse().ok().map(Self::Reads),
            ("time", quota) => quota.parse().ok().map(Self::Time),
            _ => None,
        };
        let nothing = [Self::Bytes(Bytes(0)), Self::Reads(0), Self::Time(Micros(0))];
        policy.filter(|policy| !nothing.contains(policy) && !text.ends_with(':')).ok_or_else(|| {
            let forms = "drain, short-read, fionread, bytes:64KiB, reads:16 or time:2ms (quotas above \
                         zero)";
            ParseUnitError::new(text, "a read policy", forms)
        })
    }
}

as_text!(ReadPolicy);
