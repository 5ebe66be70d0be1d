//! One turnstile at a time for the directory of a campaign: two would start the same trials, and each
//! would replace the other's journal.

use std::fs::{File, OpenOptions};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::journal::CampaignError;

/// The file that is locked: the journal itself is replaced with every trial.
const LOCK: &str = "campaign.lock";

/// The right to run trials in a directory. It ends when it is dropped, or with this process however
/// that ends: flock(2). Who only reads needs none.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it, or fails at once.
    ///
    /// # Errors
    /// Another process has it, or the file cannot be made.
    pub(super) fn take(dir: &Path) -> Result<Self, CampaignError> {
        let path = dir.join(LOCK);
        let io = |source| CampaignError::io(&path, source);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(CampaignError::InUse { dir: dir.to_owned(), lock: path }),
            Err(errno) => Err(io(errno.into())),
        }
    }
}
