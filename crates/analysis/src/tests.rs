//! What tests of this crate share: runs put together by hand, and at random; and what holds of them all.

pub(crate) mod properties;
pub(crate) mod random;
pub(crate) mod scene;
