//! A mio socket as the session sees it.

use std::io;
use std::net::Shutdown;

use mio::net::TcpStream;
use rustix::io::{Errno, ioctl_fionread};

use crate::session::{ConnectState, Stream};

impl Stream for TcpStream {
    /// The steps that mio documents for `TcpStream::connect`: SO_ERROR, then whether there is a
    /// peer.
    fn connect_state(&self) -> io::Result<ConnectState> {
        if let Some(error) = self.take_error()? {
            return Err(error);
        }
        match self.peer_addr() {
            Ok(_) => Ok(ConnectState::Done),
            Err(e) if e.kind() == io::ErrorKind::NotConnected => Ok(ConnectState::Pending),
            Err(e) if e.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {
                Ok(ConnectState::Pending)
            }
            Err(error) => Err(error),
        }
    }

    fn unread(&self) -> io::Result<u64> {
        Ok(ioctl_fionread(self)?)
    }

    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }

    fn local_port(&self) -> Option<u16> {
        self.local_addr().ok().map(|addr| addr.port())
    }
}
