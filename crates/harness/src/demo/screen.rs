//! The terminal: taken over as a whole, and given back as it was, however the show ends.
//!
//! Invariants:
//! - What was taken is given back exactly once: when the screen is dropped, also while a panic
//!   unwinds, or before the message of a panic is printed.
//! - What goes to the screen goes to the recording, byte for byte, a picture at a time. A recording
//!   that cannot be written is no reason to stop: it is told at the end.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ::demo::{Cast, Key, Look, Show, draw};
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use ratatui_crossterm::crossterm::{cursor, queue, terminal};
use records::MonoNs;

use super::Place;

/// A terminal that is ours.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Tee>>,
    recording: Recording,
}

/// Whether a terminal is ours now: there is one for each process.
static OURS: AtomicBool = AtomicBool::new(false);

impl Screen {
    /// Takes the terminal over: its other screen, no cursor, every key at once.
    ///
    /// # Errors
    /// There is no terminal, or it does not take orders. It is as it was then.
    pub fn enter(recording: Recording) -> io::Result<Self> {
        let out = Tee { out: io::stdout(), pending: Vec::new(), recording: recording.clone() };
        let mut terminal = Terminal::new(CrosstermBackend::new(out))?;
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
        let mut screen = Self { terminal, recording };
        taken.and_then(|()| screen.terminal.backend_mut().flush()).map(|()| screen)
    }

    /// Draws the show as it stands at `now`.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn show(&mut self, show: &Show, now: MonoNs, look: Look) -> io::Result<()> {
        self.terminal.draw(|frame| draw(show, now, look, frame.buffer_mut()))?;
        Ok(())
    }

    /// The keys pressed within `patience`: returns at the first of them.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn keys(&mut self, patience: Duration) -> io::Result<Vec<Key>> {
        /// Keys taken at a time: whoever leans on one must not stop the picture.
        const MOST: usize = 64;
        let mut keys = Vec::new();
        let mut wait = patience;
        while keys.len() < MOST && event::poll(wait)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => keys.push(meaning(key)),
                // The next picture finds out by itself.
                Event::Resize(width, height) => {
                    self.recording.resized((width, height));
                    keys.push(Key::Other);
                }
                _ => {}
            }
            wait = Duration::ZERO;
        }
        Ok(keys)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if OURS.swap(false, Ordering::SeqCst) {
            let out = self.terminal.backend_mut();
            // It may be gone: then there is nothing to give back.
            let _ = queue!(out, terminal::LeaveAlternateScreen, cursor::Show);
            let _ = out.flush();
            let _ = terminal::disable_raw_mode();
        }
    }
}

/// What a key means to the show.
fn meaning(key: KeyEvent) -> Key {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(' ') => Key::Hold,
        KeyCode::Char('n' | 'N') => Key::Next,
        KeyCode::Char('q' | 'Q') => Key::Quit,
        _ => Key::Other,
    }
}

/// Has a panic of this thread give the terminal back first, so that its message can be read.
fn give_back_on_panic() {
    let ours = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == ours && OURS.swap(false, Ordering::SeqCst) {
            let mut out = io::stdout();
            let _ = queue!(out, terminal::LeaveAlternateScreen, cursor::Show);
            let _ = out.flush();
            let _ = terminal::disable_raw_mode();
        }
        before(panic);
    }));
}

/// Standard output, a picture at a time, with its copy for the recording.
struct Tee {
    out: Stdout,
    pending: Vec<u8>,
    recording: Recording,
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.pending);
        if bytes.is_empty() {
            return Ok(());
        }
        self.recording.output(&bytes);
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}

/// The file for asciinema, if one is wanted. Its clones are the same file.
#[derive(Clone)]
pub struct Recording(Rc<RefCell<State>>);

struct State {
    cast: Option<Cast<BufWriter<File>>>,
    began: Instant,
    failed: Option<io::Error>,
}

/// The size of a recording of lines.
const LINES: (u16, u16) = (80, 24);

impl Recording {
    /// No recording.
    pub fn none() -> Self {
        Self(Rc::new(RefCell::new(State { cast: None, began: Instant::now(), failed: None })))
    }

    /// Begins one at `path`, where no file may be yet.
    ///
    /// # Errors
    /// The file is there already, or cannot be made.
    pub fn begin(path: Option<&Path>, place: Place) -> io::Result<Self> {
        let recording = Self::none();
        let Some(path) = path else { return Ok(recording) };
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = File::create_new(path).map_err(named)?;
        let size = match place {
            Place::Terminal if io::stdout().is_terminal() => terminal::size().unwrap_or(LINES),
            Place::Terminal | Place::Lines => LINES,
        };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let term = std::env::var("TERM").unwrap_or_default();
        let secs = since.map_or(0, |since| since.as_secs());
        let cast = Cast::begin(BufWriter::new(file), size, secs, &term).map_err(named)?;
        recording.0.borrow_mut().cast = Some(cast);
        Ok(recording)
    }

    /// These bytes go to the screen.
    pub fn output(&self, bytes: &[u8]) {
        self.write(|cast, at| cast.output(at, bytes));
    }

    fn resized(&self, size: (u16, u16)) {
        self.write(|cast, at| cast.resized(at, size));
    }

    /// Ends it.
    ///
    /// # Errors
    /// It could not be written as a whole.
    pub fn end(&self) -> io::Result<()> {
        self.write(|cast, _| cast.flush());
        let mut state = self.0.borrow_mut();
        state.cast = None;
        state.failed.take().map_or(Ok(()), Err)
    }

    fn write(&self, write: impl FnOnce(&mut Cast<BufWriter<File>>, Duration) -> io::Result<()>) {
        let mut state = self.0.borrow_mut();
        let at = state.began.elapsed();
        let Some(cast) = &mut state.cast else { return };
        if let Err(error) = write(cast, at) {
            (state.cast, state.failed) = (None, Some(error));
        }
    }
}
