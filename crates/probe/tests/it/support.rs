//! What a host must have for a test.

use std::env;

use probe::{HoldOptions, ProbeError, Watch};
use testkit::skip;

/// Whether the kernel can be asked; says why a test is skipped. In CI it fails instead.
pub(crate) fn can_probe() -> bool {
    match Watch::holds(&[], HoldOptions::default()) {
        Ok(_) => true,
        Err(
            error @ (ProbeError::NoRights { .. }
            | ProbeError::NoBtf { .. }
            | ProbeError::TooOld { .. }),
        ) => {
            assert!(env::var_os("CI").is_none(), "{error}: {error:?}");
            skip(error);
            false
        }
        Err(error) => panic!("{error}: {error:?}"),
    }
}
