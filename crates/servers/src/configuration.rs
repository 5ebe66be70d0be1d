//! A server's configuration, command line and environment: its file's texts, with their places filled in.
//!
//! A place is `{name}`: a value (`{listen}`), a product of values (`{workers*64}`), a part of the server's
//! file (`{user}`), or what a toggle puts there (`{--spool}`). What is none of these stays as it is: many
//! configuration languages have braces of their own. A line that is nothing but places without a value is
//! left out; further lines of a value stand as far in as its first.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use records::{Arm, ProxyToggles};

use crate::build::Build;
use crate::server::Server;
use crate::toggles::{State, Toggle, User};

/// How deep places may stand in what is put into places: a file may name a part inside itself.
const DEPTH: u32 = 8;

/// All that a configuration is made of. Paths are absolute and hold nothing that would need to be quoted
/// ([`plain_path`]).
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) server: &'a Server,
    pub(crate) arm: &'a Arm,
    pub(crate) build: &'a Build,
    pub(crate) listen: SocketAddr,
    /// Absent: there is none.
    pub(crate) origin: Option<SocketAddr>,
    /// Holds the configuration and all that the program writes.
    pub(crate) dir: PathBuf,
    pub(crate) user: User,
    /// Soft limit of open descriptors, which the program inherits.
    pub(crate) open_files: u64,
}

impl Setting<'_> {
    /// The files that the program reads: names within the directory, and texts.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&String, String)> {
        self.server.files.iter().map(|(name, text)| (name, self.fill(text)))
    }

    /// Its arguments: one that comes out empty is left out.
    pub(crate) fn args(&self) -> Vec<String> {
        let filled = self.server.args.iter().map(|arg| (arg.is_empty(), self.fill(arg)));
        filled
            .filter(|(was_empty, arg)| *was_empty || !arg.is_empty())
            .map(|(_, arg)| arg)
            .collect()
    }

    pub(crate) fn env(&self) -> Vec<(String, String)> {
        self.server.env.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect()
    }

    /// Where local content lies, below which paths are as clients ask for them.
    pub(crate) fn www(&self) -> PathBuf {
        self.dir.join("www")
    }

    /// Fills in the places of a text.
    pub(crate) fn fill(&self, text: &str) -> String {
        self.fill_within(text, DEPTH)
    }

    fn fill_within(&self, text: &str, depth: u32) -> String {
        let mut lines = Vec::new();
        for line in text.split('\n') {
            let indent = &line[..line.len() - line.trim_start().len()];
            let filled = self.fill_line(line, &format!("\n{indent}"), depth);
            if line.trim().is_empty() || !filled.trim().is_empty() {
                lines.push(filled);
            }
        }
        lines.join("\n")
    }

    fn fill_line(&self, line: &str, next_line: &str, depth: u32) -> String {
        let mut filled = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let place = after.split_once('}');
            match place.and_then(|(name, rest)| Some((self.value(name, depth)?, rest))) {
                Some((value, after)) => {
                    filled.push_str(&value.replace('\n', next_line));
                    rest = after;
                }
                None => {
                    filled.push('{');
                    rest = after;
                }
            }
        }
        filled + rest
    }

    /// What stands in the place of that name.
    fn value(&self, name: &str, depth: u32) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        if let Some(part) = self.server.parts.get(name) {
            let holds =
                part.holds_for(self.build) && part.when.is_none_or(|user| user == self.user);
            return Some(if holds { self.fill_within(&part.text, depth) } else { String::new() });
        }
        if name.starts_with("--") {
            return Some(self.toggle(name, depth));
        }
        if name.contains('*') {
            let product = name.split('*').try_fold(1, |product: u64, factor| {
                let factor =
                    factor.parse().ok().or_else(|| self.value(factor, depth)?.parse().ok())?;
                product.checked_mul(factor)
            });
            return product.map(|product| product.to_string());
        }
        let path = |path: &Path| path.display().to_string();
        Some(match name {
            "listen" => self.listen.to_string(),
            "host" => self.listen.ip().to_string(),
            "port" => self.listen.port().to_string(),
            "origin" => self.origin?.to_string(),
            "workers" => self.arm.proxy.workers.to_string(),
            "backlog" => self.arm.proxy.backlog.to_string(),
            "sessions" => self.sessions().to_string(),
            "dir" => path(&self.dir),
            "www" => path(&self.www()),
            "prefix" => path(self.build.path.parent().and_then(Path::parent)?),
            "modules" => self.modules()?,
            "directives" => self.directives(|is_global| !is_global),
            "global-directives" => self.directives(|is_global| is_global),
            _ => return None,
        })
    }

    /// What a toggle puts into the configuration.
    fn toggle(&self, flag: &str, depth: u32) -> String {
        let toggles = Toggle::all(self.arm);
        let Some(toggle) = toggles.iter().find(|toggle| toggle.flag == flag) else {
            return String::new();
        };
        let text = toggle.rule(&self.server.toggles).map_or("", |rule| &rule.text);
        let value = if toggle.state == State::Asked { toggle.word.as_str() } else { "" };
        self.fill_within(&text.replace("{value}", value), depth)
    }

    /// Sessions that a worker may hold: as many as the mirror's, if there are descriptors for them, two
    /// each.
    fn sessions(&self) -> u64 {
        const OF_THE_PROCESS: u64 = 256;
        let workers = u64::from(self.arm.proxy.workers).max(1);
        let fitting = self.open_files.saturating_sub(OF_THE_PROCESS) / 2 / workers;
        fitting.clamp(16, ProxyToggles::default().worker_connections.into())
    }

    /// The lines of `--directive` that belong to that place.
    fn directives(&self, place: impl Fn(bool) -> bool) -> String {
        let begins = &self.server.global_directives;
        let is_global =
            |line: &str| begins.iter().any(|begin| line.trim_start().starts_with(begin));
        let lines = self.arm.server.directives.iter().filter(|line| place(is_global(line)));
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// The directory in which its modules lie: the first there is of those where they may be, or the last.
    fn modules(&self) -> Option<String> {
        let dirs: Vec<String> = self.server.modules.iter().map(|dir| self.fill(dir)).collect();
        dirs.iter().find(|dir| Path::new(dir).is_dir()).or(dirs.last()).cloned()
    }
}

/// The absolute form of `path`, if no configuration language gives any of its characters a meaning.
///
/// # Errors
/// It has such a character, or there is no current directory.
pub fn plain_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let plain = |c: char| c.is_alphanumeric() || "/._-+=@:,~".contains(c);
    if path.to_str().is_some_and(|text| text.chars().all(plain)) {
        Ok(path)
    } else {
        let what = "has a character that configurations give a meaning to: choose a directory \
                    whose path is made of letters, digits and ._-+=@:,~";
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} {what}", path.display())))
    }
}

#[cfg(test)]
mod tests;
