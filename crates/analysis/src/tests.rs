//! What tests of this crate share: runs put together by hand, and at random.

pub(crate) mod random;
pub(crate) mod scene;
