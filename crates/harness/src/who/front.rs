//! Where a watch is seen: on a terminal, in lines of words, in lines of JSON.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use jiff::Timestamp;
use net::terminal::printable;
use serde::Serialize;

use super::WhoOptions;
use super::capture::Captured;
use super::ledger::{Ledger, Told};
use super::processes::Change;
use super::{picture, words};

use crate::output;
use crate::screen::{Key, Screen};
use report::Style;

/// What is told; in JSON, a line.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event<'a> {
    /// A hold was seen, or has ended.
    Hold(Box<Told>),
    /// Something became of a process.
    Process(Change),
    /// A hold was kept as a run, or could not be.
    Captured(Captured),
    /// The last line.
    Summary(&'a Ledger),
}

impl Event<'_> {
    /// In lines of words; the summary has a text of its own.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Hold(told) => words::hold(told),
            Self::Process(change) => vec![words::change(change)],
            Self::Captured(captured) => vec![captured.to_string()],
            Self::Summary(_) => Vec::new(),
        }
    }
}

/// See the module's head.
pub(super) enum Front {
    Terminal { screen: Box<Screen>, title: String, note: String, style: Style },
    Lines { style: Style },
    Json,
}

/// A line of JSON, with the wall clock's time.
#[derive(Serialize)]
struct Line<'a> {
    time: &'a str,
    #[serde(flatten)]
    event: &'a Event<'a>,
}

impl Front {
    /// Takes the terminal over, where that is the place.
    ///
    /// # Errors
    /// There is no terminal.
    pub(super) fn open(options: &WhoOptions, has_screen: bool) -> io::Result<Self> {
        let style = Style::for_stream(&io::stdout());
        if options.json {
            return Ok(Self::Json);
        }
        if options.plain || !has_screen {
            return Ok(Self::Lines { style });
        }
        let screen = Box::new(Screen::enter()?);
        Ok(Self::Terminal { screen, title: options.title(), note: String::new(), style })
    }

    /// Tells what has happened, and shows how things are.
    ///
    /// # Errors
    /// Nobody can see it any more.
    pub(super) fn tell(&mut self, ledger: &Ledger, events: &[Event<'_>]) -> io::Result<()> {
        match self {
            Self::Terminal { screen, title, note, style } => {
                // Holds are in the picture.
                let others = events.iter().filter(|event| !matches!(event, Event::Hold(_)));
                if let Some(last) = others.flat_map(Event::lines).last() {
                    *note = printable(&last);
                }
                screen.paint(|buf| picture::draw(ledger, title, note, *style, buf))
            }
            Self::Lines { .. } => {
                let time = Timestamp::now().strftime("%H:%M:%SZ").to_string();
                let mut text = String::new();
                for event in events {
                    for (row, line) in event.lines().iter().enumerate() {
                        let time = if row == 0 { &*time } else { "" };
                        text += &format!("{time:<9}  {}\n", printable(line));
                    }
                }
                write(&text)
            }
            Self::Json => {
                let time = &Timestamp::now().to_string();
                let mut text = String::new();
                for event in events {
                    text +=
                        &serde_json::to_string(&Line { time, event }).map_err(io::Error::other)?;
                    text.push('\n');
                }
                write(&text)
            }
        }
    }

    /// Waits, for `patience` at most; returns whether it is to end.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn wait(&mut self, stop: &Receiver<i32>, patience: Duration) -> io::Result<bool> {
        if let Self::Terminal { screen, .. } = self {
            let keys = screen.keys(patience)?;
            let leaves = keys.iter().any(|key| matches!(key, Key::Quit | Key::Interrupt));
            return Ok(leaves || stop.try_recv().is_ok());
        }
        match stop.recv_timeout(patience) {
            Ok(_) => Ok(true),
            Err(RecvTimeoutError::Timeout) => Ok(false),
            // The handler's thread is gone, and with it every way to end but ours.
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Gives the terminal back, and tells the last.
    ///
    /// # Errors
    /// Nobody reads it.
    pub(super) fn close<'a>(
        mut self,
        ledger: &'a Ledger,
        mut events: Vec<Event<'a>>,
    ) -> io::Result<()> {
        events.push(Event::Summary(ledger));
        let style = match self {
            Self::Json => return self.tell(ledger, &events),
            Self::Terminal { style, .. } => style,
            Self::Lines { style } => {
                self.tell(ledger, &events)?;
                style
            }
        };
        // First the terminal: whoever left should see it again at once.
        drop(self);
        output::print(words::summary(ledger, style).as_bytes())
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
