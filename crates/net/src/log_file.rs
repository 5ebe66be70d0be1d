//! Files that lines are added to while others may read them; and the lines of an access log.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use records::{LogEscaped, LogSeconds, Session};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Opens `path` to write at its end; made if it is not there. Writes wait, as to any file.
///
/// # Errors
/// As `open(2)`. A FIFO that nobody reads is refused, where `open(2)` would wait for a reader
/// (fifo(7)): whoever waits for us would not know for what.
pub fn append(path: &Path) -> io::Result<File> {
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let opened = File::options().create(true).append(true).custom_flags(at_once).open(path);
    let file = opened.map_err(|error| {
        let is_fifo = path.metadata().is_ok_and(|meta| meta.file_type().is_fifo());
        if is_fifo && error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
            io::Error::other("it is a FIFO that nobody reads: start its reader first")
        } else {
            error
        }
    })?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// One line of an access log, without its end, in the format of the published case and by the clock that
/// nginx uses for it:
///
/// ```text
/// $remote_addr [$time_local] "$request" status=$status body_bytes_sent=$body_bytes_sent
/// rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time"
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    /// Whose request it was.
    pub client: IpAddr,
    /// What became of it.
    pub session: &'a Session,
    /// Of `$time_local`.
    pub zone: &'a TimeZone,
}

impl fmt::Display for LogLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, session: Session { request, status, body_bytes, log, .. }, zone } = self;
        let millis = i64::try_from(log.at_unix_ms).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
        write!(
            f,
            "{client} [{at}] \"{request}\" status={status} body_bytes_sent={bytes} rt={rt} \
             uct=\"{uct}\" uht=\"{uht}\" urt=\"{urt}\"",
            at = at.to_zoned((*zone).clone()).strftime("%d/%b/%Y:%H:%M:%S %z"),
            request = LogEscaped(request),
            bytes = body_bytes.0,
            rt = LogSeconds(Some(log.rt_ms)),
            uct = LogSeconds(log.uct_ms),
            uht = LogSeconds(log.uht_ms),
            urt = LogSeconds(log.urt_ms),
        )
    }
}
