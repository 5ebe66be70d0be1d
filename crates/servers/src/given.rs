//! Which program is under test, beside its name.

use std::path::{Path, PathBuf};

use records::ProxyKind;

use crate::server::names;

/// What is given of the program under test beside its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Given {
    /// Put a server of your own in the mirror's place, which this file describes: the proxy is named as
    /// the file is (docs/proxies.md)
    #[arg(long, value_name = "FILE", value_parser = server_file)]
    pub server_file: Option<PathBuf>,

    /// Another build of that program than the one in PATH
    #[arg(long, value_name = "PATH")]
    pub proxy_bin: Option<PathBuf>,
}

impl Given {
    /// The proxy that a file of one's own describes.
    pub fn kind(&self) -> Option<ProxyKind> {
        self.server_file.as_deref().and_then(|path| named(path).ok())
    }

    /// The same as arguments of a command line.
    pub fn to_args(&self) -> Vec<String> {
        let all = [("--server-file", &self.server_file), ("--proxy-bin", &self.proxy_bin)];
        let given = all.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?)));
        given.flat_map(|(name, path)| [name.to_owned(), path.display().to_string()]).collect()
    }
}

fn server_file(text: &str) -> Result<PathBuf, String> {
    named(Path::new(text)).map(|_| text.into())
}

/// The proxy that the file at `path` describes, by its name.
fn named(path: &Path) -> Result<ProxyKind, String> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    match name.parse() {
        Ok(ProxyKind::Server(name)) if names().any(|known| known == name) => {
            Err(format!("{name} is built in: give the file another name"))
        }
        Ok(kind @ ProxyKind::Server(_)) => Ok(kind),
        _ => Err(format!(
            "{name:?} is no name of a server: name the file with small letters, digits and ._-, as \
             envoy.toml"
        )),
    }
}
