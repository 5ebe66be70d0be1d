//! Commands that a test makes up: a script of its own, a program that may open few files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes `text` to the file `name` below `dir`, for anybody to run; says where it is.
pub fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("executable");
    path
}

/// The same program with the same arguments, which may have so many descriptors open.
pub fn with_open_files(limit: u32, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}
