//! What the analysis makes of whole run directories.

mod kept;
