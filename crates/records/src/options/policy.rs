//! What ends a step while the upstream still has data.

use std::fmt;
use std::str::FromStr;

use super::as_text;
use crate::{Bytes, Micros};

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
    type Err = ParsePolicyError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParsePolicyError(text.to_owned());
        match text.split_once(':') {
            None => match text {
                "drain" => Ok(Self::Drain),
                "short-read" => Ok(Self::ShortRead),
                "fionread" => Ok(Self::Fionread),
                _ => Err(wrong()),
            },
            Some(("bytes", quota)) => match quota.parse() {
                Ok(Bytes(0)) | Err(_) => Err(wrong()),
                Ok(quota) => Ok(Self::Bytes(quota)),
            },
            Some(("reads", quota)) => match quota.parse() {
                Ok(0) | Err(_) => Err(wrong()),
                Ok(quota) => Ok(Self::Reads(quota)),
            },
            Some(("time", quota)) => match quota.parse() {
                Ok(Micros(0)) | Err(_) => Err(wrong()),
                Ok(quota) => Ok(Self::Time(quota)),
            },
            Some(_) => Err(wrong()),
        }
    }
}

as_text!(ReadPolicy);

/// A text that is no read policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a read policy: write drain, short-read, fionread, bytes:64KiB, reads:16 or \
     time:2ms (quotas above zero)"
)]
pub struct ParsePolicyError(String);
