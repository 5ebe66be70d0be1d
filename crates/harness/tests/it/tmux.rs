//! A terminal that a test can look at: a tmux server of its own.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::{installed, until};

/// A server with one session, in which a shell runs. Both end with it.
pub(crate) struct Tmux {
    dir: TempDir,
}

/// The shell's prompt.
const PROMPT: &str = "ready> ";

impl Tmux {
    /// A terminal of this size, whose shell knows these variables; `None`, and a word why, where
    /// tmux is not installed.
    pub(crate) fn start((width, height): (u16, u16), vars: &[(&str, &Path)]) -> Option<Self> {
        if !installed("tmux") {
            return None;
        }
        let tmux = Self { dir: tempfile::tempdir().expect("a directory") };
        let conf = tmux.dir.path().join("conf");
        let lines = "set -g default-terminal tmux-256color\nset -g status off\n";
        std::fs::write(&conf, lines).expect("written");
        let (width, height) = (width.to_string(), height.to_string());
        let mut command = tmux.command();
        command.arg("-u").arg("-f").arg(&conf);
        command.args(["new-session", "-d", "-x", &width, "-y", &height, "env", "-u", "ENV"]);
        command.args([&format!("PS1={PROMPT}"), "sh"]);
        command.env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR").env_remove("COLORTERM");
        command.env_remove("TMUX").envs(vars.iter().copied());
        let made = command.output().expect("tmux");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        tmux.await_text(PROMPT.trim_end());
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.dir.path().join("socket"));
        command
    }

    fn tell(&self, words: &[&str]) -> Output {
        let done = self.command().args(words).output().expect("tmux");
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        done
    }

    /// Types a line.
    pub(crate) fn line(&self, line: &str) {
        self.tell(&["send-keys", "-l", line]);
        self.tell(&["send-keys", "Enter"]);
    }

    /// Presses a key by tmux's name for it.
    pub(crate) fn key(&self, key: &str) {
        self.tell(&["send-keys", key]);
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&self, (width, height): (u16, u16)) {
        let (width, height) = (width.to_string(), height.to_string());
        self.tell(&["resize-window", "-x", &width, "-y", &height]);
    }

    /// Takes the terminal away from all who have it.
    pub(crate) fn end(&self) {
        self.tell(&["kill-server"]);
    }

    /// What is on the screen.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.tell(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// The same with the sequences that colour it.
    pub(crate) fn coloured(&self) -> String {
        String::from_utf8_lossy(&self.tell(&["capture-pane", "-e", "-p"]).stdout).into_owned()
    }

    /// What tmux knows of the terminal, by its own name for it.
    pub(crate) fn knows(&self, what: &str) -> String {
        let said = self.tell(&["display-message", "-p", &format!("#{{{what}}}")]);
        String::from_utf8_lossy(&said.stdout).trim_end().to_owned()
    }

    /// The shell.
    pub(crate) fn shell(&self) -> u32 {
        self.knows("pane_pid").parse().expect("a process id")
    }

    /// Waits until the screen shows `text`.
    pub(crate) fn await_text(&self, text: &str) -> String {
        self.await_screen(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be.
    pub(crate) fn await_screen(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        let ask = || {
            let screen = self.text();
            let found = is_so(&screen).then(|| screen.clone());
            last = screen;
            found
        };
        // The picture that was there instead tells more than the name of what was not.
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| until(what, ask)));
        found.unwrap_or_else(|_| panic!("waited in vain for {what}; the screen:\n{last}"))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Ours alone: it has a socket of its own.
        let _ = self.command().arg("kill-server").output();
    }
}
