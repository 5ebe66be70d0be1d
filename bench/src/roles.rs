//! The roles this binary can play when its arguments are `PLAY` and the options of one in JSON.

use std::process::ExitCode;

use fast_client::FastOptions;
use origin::OriginOptions;
use proxy::ProxyOptions;
use records::Role;
use serde::{Deserialize, Serialize};
use slow_client::SlowOptions;

/// The first argument of a child. `fast` alone would not do: it is a filter that people type.
pub(crate) const PLAY: &str = "play-role";

/// A role and its options.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RoleCommand {
    /// The upstream.
    Origin(Box<OriginOptions>),
    /// The proxy.
    Proxy(Box<ProxyOptions>),
    /// The downloads.
    Slow(Box<SlowOptions>),
    /// The fetches.
    Fast(Box<FastOptions>),
}

impl RoleCommand {
    /// Which role it is.
    pub(crate) const fn role(&self) -> Role {
        match self {
            Self::Origin(_) => Role::Origin,
            Self::Proxy(_) => Role::Proxy,
            Self::Slow(_) => Role::Slow,
            Self::Fast(_) => Role::Fast,
        }
    }

    fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::Origin(options) => origin::run(options).map_err(Into::into),
            Self::Proxy(options) => proxy::run(options).map_err(Into::into),
            Self::Slow(options) => slow_client::run(options).map_err(Into::into),
            Self::Fast(options) => fast_client::run(options).map_err(Into::into),
        }
    }
}

/// Plays the role that the arguments name to its end. `None`: they name none, so this process is
/// the one that measures.
#[expect(clippy::print_stderr, reason = "a program's own message")]
pub fn play() -> Option<ExitCode> {
    let mut args = std::env::args().skip(1);
    if args.next()? != PLAY {
        return None;
    }
    let role = serde_json::from_str::<RoleCommand>(&args.next()?).map_err(Into::into);
    let ended = role.and_then(|role| role.run());
    Some(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    })
}
