//! The terminal: taken over as a whole, and given back as it was, however the program ends.
//!
//! Invariant: what was taken is given back exactly once: when the screen is dropped, also while a
//! panic unwinds, or before the message of a panic is printed.

use std::io::{self, BufWriter, Stdout, Write};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::{cursor, queue, terminal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

/// What somebody pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Hold the picture, or let it go on.
    Hold,
    /// On to what is next.
    Next,
    /// Leave.
    Quit,
    /// Leave as by Ctrl-C.
    Interrupt,
    /// Nothing of ours.
    Other,
}

/// A terminal that is ours.
pub struct Screen {
    /// Never dropped: it would complain on standard error, which panics where that terminal is gone.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
}

/// Bytes of a large screen that changes as a whole.
const PICTURE: usize = 64 * 1024;

/// Whether a terminal is ours now: there is one for each process.
static OURS: AtomicBool = AtomicBool::new(false);

impl Screen {
    /// Takes the terminal over: its other screen, no cursor, every key at once.
    ///
    /// # Errors
    /// There is no terminal, or it does not take orders. It is as it was then.
    pub fn enter() -> io::Result<Self> {
        // A picture at a time.
        let out = BufWriter::with_capacity(PICTURE, io::stdout());
        let mut terminal = ManuallyDrop::new(Terminal::new(CrosstermBackend::new(out))?);
        terminal::enable_raw_mode()?;
        OURS.store(true, Ordering::SeqCst);
        give_back_on_panic();
        // From here on dropping it gives back.
        let everything = terminal::Clear(terminal::ClearType::All);
        let taken = queue!(
            terminal.backend_mut(),
            terminal::EnterAlternateScreen,
            cursor::Hide,
            everything
        );
        let mut screen = Self { terminal };
        taken.and_then(|()| screen.terminal.backend_mut().flush()).map(|()| screen)
    }

    /// Has `paint` draw over all of it.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn paint(&mut self, paint: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.terminal.draw(|frame| paint(frame.buffer_mut()))?;
        Ok(())
    }

    /// The keys pressed within `patience`: returns at the first of them, or when a signal comes. A new size
    /// is no key: the next picture has it.
    ///
    /// They are read here: crossterm 0.29 reads a terminal that is gone for ever, and hears nothing then.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn keys(&mut self, patience: Duration) -> io::Result<Vec<Key>> {
        /// Keys taken at a time: whoever leans on one must not stop the picture.
        const MOST: usize = 64;
        let stdin = io::stdin();
        let gone = || io::Error::new(io::ErrorKind::NotConnected, "the terminal has gone");
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut asked, Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Vec::new()),
            more => more?,
        };
        if asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(gone());
        }
        let mut bytes = [0; MOST];
        match rustix::io::read(&stdin, &mut bytes) {
            // It went away in between: read(2) of a terminal that was hung up is at its end, or fails.
            Ok(0) | Err(Errno::IO) => Err(gone()),
            Ok(length) => Ok(meanings(&bytes[..length])),
            Err(Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if OURS.swap(false, Ordering::SeqCst) {
            give_back(self.terminal.backend_mut());
        }
    }
}

fn give_back(out: &mut impl Write) {
    // It may be gone: then there is nothing to give back.
    let _ = queue!(out, terminal::LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
}

/// What was pressed, as a raw terminal tells it: a byte a key, but for those that begin with ESC, as arrows
/// do, which are none of ours.
fn meanings(bytes: &[u8]) -> Vec<Key> {
    const CTRL_C: u8 = 0x03;
    const ESC: u8 = 0x1b;
    let meaning = |byte: &u8| match byte {
        &CTRL_C => Key::Interrupt,
        b' ' => Key::Hold,
        b'n' | b'N' => Key::Next,
        b'q' | b'Q' => Key::Quit,
        _ => Key::Other,
    };
    match bytes {
        [ESC, ..] => vec![Key::Other],
        bytes => bytes.iter().map(meaning).collect(),
    }
}

/// Has a panic of this thread give the terminal back first, so that its message can be read.
fn give_back_on_panic() {
    let ours = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == ours && OURS.swap(false, Ordering::SeqCst) {
            give_back(&mut io::stdout());
        }
        before(panic);
    }));
}

#[cfg(test)]
mod tests;
