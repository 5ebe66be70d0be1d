//! How large a proxy makes the receive buffers of its upstream connections.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ProxyKind;
use crate::{Bytes, ParseUnitError};

/// SO_RCVBUF of upstream connections (socket(7)). Written `default`, `auto` or a size; in records
/// `null` stands for `auto`, and a size is a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rcvbuf {
    /// As the program does when it is not told: the mirror asks for [`Rcvbuf::ROOMY`] where the host gives
    /// as much, any other program leaves it to the kernel.
    #[default]
    Default,
    /// The kernel tunes it.
    Auto,
    /// So much is asked for; the kernel keeps the double, capped by `net.core.rmem_max`.
    Size(Bytes),
}

impl Rcvbuf {
    /// What the mirror asks for by default: 1 MiB.
    ///
    /// Left to the kernel, the buffer of a reader that is slower than its sender stays anywhere
    /// between 128 KiB and 4 MiB, by luck: since Linux 6.16 a queue that is not empty counts against
    /// its growth (`tcp_rcv_space_adjust`). That luck decided how strong the starvation was. Over a
    /// network, where a round trip takes longer than over loopback, buffers grow to this and more.
    pub const ROOMY: Bytes = Bytes::mib(1);

    /// The same on a host that gives no socket more than `most` (`net.core.rmem_max`): where that is less
    /// than [`Rcvbuf::ROOMY`], the kernel's own tuning goes further, and the default leaves it to that.
    #[must_use]
    pub fn within(self, most: Option<Bytes>) -> Self {
        match (self, most) {
            (Self::Default, Some(most)) if most < Self::ROOMY => Self::Auto,
            _ => self,
        }
    }

    /// The size that `proxy` is to ask for; absent: the kernel tunes it.
    pub fn asked(self, proxy: &ProxyKind) -> Option<Bytes> {
        match self {
            Self::Default => (*proxy == ProxyKind::Mirror).then_some(Self::ROOMY),
            Self::Auto => None,
            Self::Size(size) => Some(size),
        }
    }
}

impl fmt::Display for Rcvbuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::Auto => f.pad("auto"),
            Self::Size(size) => f.pad(&size.exact()),
        }
    }
}

impl FromStr for Rcvbuf {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "default" => Ok(Self::Default),
            "auto" => Ok(Self::Auto),
            size => size.parse().map(Self::Size),
        }
    }
}

/// As records have it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Recorded {
    Size(Option<Bytes>),
    Text(String),
}

impl Serialize for Rcvbuf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let recorded = match *self {
            Self::Default => Recorded::Text(self.to_string()),
            Self::Auto => Recorded::Size(None),
            Self::Size(size) => Recorded::Size(Some(size)),
        };
        recorded.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rcvbuf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Recorded::deserialize(deserializer)? {
            Recorded::Size(size) => Ok(size.map_or(Self::Auto, Self::Size)),
            Recorded::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}
