//! The slow client as a process, against servers that behave well, badly and not at all.

mod ends;
mod steering;
mod support;
