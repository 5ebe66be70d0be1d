//! The writer: takes what workers tell out of their rings, to standard output and the access log;
//! where workers write the log themselves it says on standard error what they lost.
//!
//! It looks at fixed intervals instead of being woken: waking it would cost the worker a system
//! call, and a worker must not pay for being recorded.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::tz::TimeZone;
use records::Record;

use crate::access_log::{AccessLine, LostLines};
use crate::recorder::{Event, Large, RingReader};

/// Between two looks. The ring holds a second of a worker's busiest hour.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where records go.
pub(crate) struct Writer {
    pub(crate) rings: Vec<RingReader>,
    pub(crate) log: LogPart,
}

/// The writer's part in the access log.
pub(crate) enum LogPart {
    /// There is none.
    Nothing,
    /// It writes it.
    Write(BufWriter<File>),
    /// The workers write it; it speaks of what they lost.
    Speak(LostLines),
}

impl Writer {
    /// Writes until `done` is set and the rings are empty.
    ///
    /// # Errors
    /// The reader of our standard output is gone, or the disk is full.
    pub(crate) fn run(mut self, done: &Arc<AtomicBool>) -> io::Result<()> {
        let zone = TimeZone::system();
        let mut out = BufWriter::new(io::stdout());
        loop {
            // Read before the rings: what was told before `done` is in them by now.
            let last = done.load(Ordering::Acquire);
            let mut idle = true;
            for ring in &mut self.rings {
                while let Ok(told) = ring.pop() {
                    idle = false;
                    let record = match told {
                        Event::Accepted(accepted) => Record::Accepted(accepted),
                        Event::Hold(hold) => Record::Hold(hold),
                        Event::LoopTurn(turn) => Record::LoopTurn(turn),
                        Event::Stretch(stretch) => Record::Stretch(stretch),
                        Event::Large(large) => {
                            log(&large, &mut self.log, &zone)?;
                            write(&large.record, &mut out)?;
                            ring.give_back(large);
                            continue;
                        }
                        Event::LineLost(reason) => {
                            if let LogPart::Speak(lost) = &mut self.log {
                                say(lost.add(&reason));
                            }
                            continue;
                        }
                    };
                    write(&record, &mut out)?;
                }
            }
            out.flush()?;
            if let LogPart::Write(log) = &mut self.log {
                log.flush()?;
            }
            match (last, idle) {
                (true, _) => break,
                (false, true) => std::thread::park_timeout(LOOK_EVERY),
                (false, false) => {}
            }
        }
        for totals in self.rings.iter().filter_map(|ring| ring.amended(net::clock::now())) {
            write(&Record::WorkerTotals(totals), &mut out)?;
        }
        out.flush()?;
        if let LogPart::Speak(lost) = &self.log {
            say(lost.total());
        }
        Ok(())
    }
}

fn write(record: &Record, out: &mut impl Write) -> io::Result<()> {
    out.write_all(record.to_line().map_err(io::Error::other)?.as_bytes())
}

/// Writes the line of a session, if that is our part.
fn log(large: &Large, log: &mut LogPart, zone: &TimeZone) -> io::Result<()> {
    if let (LogPart::Write(log), Some(client), Record::Session(session)) =
        (log, large.client, &large.record)
        && let Some(line) = AccessLine::of(client, session, zone)
    {
        writeln!(log, "{line}")?;
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a program's own message")]
fn say(message: Option<String>) {
    if let Some(message) = message {
        eprintln!("proxy: {message}");
    }
}
