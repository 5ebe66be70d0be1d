//! The writer: takes what workers tell out of their rings, to standard output and the access log.
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
use rtrb::Consumer;

use crate::access_log::AccessLine;
use crate::recorder::Told;

/// Between two looks. The ring holds a second of a worker's busiest hour.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where records go.
pub(crate) struct Writer {
    pub(crate) rings: Vec<Consumer<Told>>,
    pub(crate) access_log: Option<BufWriter<File>>,
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
                    write(told, &mut out, self.access_log.as_mut(), &zone)?;
                }
            }
            out.flush()?;
            if let Some(log) = &mut self.access_log {
                log.flush()?;
            }
            match (last, idle) {
                (true, _) => return Ok(()),
                (false, true) => std::thread::park_timeout(LOOK_EVERY),
                (false, false) => {}
            }
        }
    }
}

fn write(
    told: Told,
    out: &mut impl Write,
    access_log: Option<&mut BufWriter<File>>,
    zone: &TimeZone,
) -> io::Result<()> {
    let record = match told {
        Told::Accepted(accepted) => Record::Accepted(accepted),
        Told::Hold(hold) => Record::Hold(hold),
        Told::LoopTurn(turn) => Record::LoopTurn(turn),
        Told::Totals(totals) => Record::WorkerTotals(*totals),
        Told::Session(ended) => {
            // Status 0: nothing was asked, and nginx logs nothing.
            if let Some(log) = access_log.filter(|_| ended.record.status != 0) {
                let line = AccessLine { client: ended.client, session: &ended.record, zone };
                writeln!(log, "{line}")?;
            }
            Record::Session(ended.record)
        }
    };
    out.write_all(record.to_line().map_err(io::Error::other)?.as_bytes())
}
