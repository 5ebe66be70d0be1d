//! Where a watch is seen: on a terminal, in lines of words, in lines of JSON.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ::demo::Key;
use jiff::Timestamp;
use net::terminal::printable;
use serde::Serialize;

use super::Place;
use super::capture::Captured;
use super::ledger::{Ledger, Summary, Told};
use super::processes::Change;
use super::run::News;
use super::{picture, words};
use crate::demo::screen::Screen;
use crate::output;
use report::Style;

/// What is told; in JSON, a line.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    /// A hold was seen, or has ended.
    Hold(Box<Told>),
    /// Something became of a process.
    Process(Change),
    /// A hold was kept as a run, or could not be.
    Captured(Captured),
    /// The last line.
    Summary(Summary),
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
    event: &'a Event,
}

impl Front {
    /// Takes the terminal over, where that is the place; `title` says who is watched.
    ///
    /// # Errors
    /// There is no terminal.
    pub(super) fn open(place: Place, style: Style, title: String) -> io::Result<Self> {
        Ok(match place {
            Place::Terminal => {
                let screen = Box::new(Screen::enter()?);
                Self::Terminal { screen, title, note: String::new(), style }
            }
            Place::Lines => Self::Lines { style },
            Place::Json => Self::Json,
        })
    }

    /// Tells what has happened, and shows how things are.
    ///
    /// # Errors
    /// Nobody can see it any more.
    pub(super) fn tell(&mut self, ledger: &Ledger, events: &[Event]) -> io::Result<()> {
        match self {
            Self::Terminal { screen, title, note, style } => {
                for event in events {
                    match event {
                        Event::Process(change) => *note = printable(&words::change(change)),
                        Event::Captured(captured) => *note = printable(&words::captured(captured)),
                        Event::Hold(_) | Event::Summary(_) => {}
                    }
                }
                let draw = |buf: &mut _| picture::draw(ledger, title, note, *style, buf);
                screen.paint(draw)
            }
            Self::Lines { .. } => {
                let lines: Vec<String> = events.iter().flat_map(stamped).collect();
                write(&lines.concat())
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

    /// Waits for news, for `patience` at most.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn wait(
        &mut self,
        news: &Receiver<News>,
        patience: Duration,
    ) -> io::Result<Option<News>> {
        match self {
            Self::Terminal { screen, .. } => {
                let keys = screen.keys(patience)?;
                if keys.iter().any(|key| matches!(key, Key::Quit | Key::Interrupt)) {
                    return Ok(Some(News::Stop));
                }
                Ok(news.try_recv().ok())
            }
            Self::Lines { .. } | Self::Json => match news.recv_timeout(patience) {
                Ok(news) => Ok(Some(news)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                // The handler's thread is gone, and with it every way to end but ours.
                Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
    }

    /// Gives the terminal back, and tells the last.
    ///
    /// # Errors
    /// Nobody reads it.
    pub(super) fn close(mut self, ledger: &Ledger, events: &[Event]) -> io::Result<()> {
        let style = match self {
            Self::Json => return self.tell(ledger, events),
            Self::Terminal { style, .. } => style,
            Self::Lines { style } => {
                self.tell(ledger, events)?;
                style
            }
        };
        // First the terminal: whoever left should see it again at once.
        drop(self);
        output::print(words::summary(ledger, style).as_bytes())
    }
}

/// An event in lines with the time of day (UTC) before the first; the summary has a text of its own.
fn stamped(event: &Event) -> Vec<String> {
    let lines = match event {
        Event::Hold(told) => words::hold(told),
        Event::Process(change) => vec![words::change(change)],
        Event::Captured(captured) => vec![words::captured(captured)],
        Event::Summary(_) => Vec::new(),
    };
    let time = Timestamp::now().strftime("%H:%M:%SZ").to_string();
    let stamp = |(row, line): (usize, String)| {
        let time = if row == 0 { time.as_str() } else { "" };
        format!("{time:<9}  {}\n", printable(&line))
    };
    lines.into_iter().enumerate().map(stamp).collect()
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
