//! The real binary, end to end.

mod baseline;
mod campaign_pages;
mod campaigns;
mod ci;
mod commands;
mod demo;
mod eras;
mod explain;
mod faults;
mod netns;
mod peers;
mod run;
mod samples;
mod signals;
mod support;
mod tmux;
mod who;
