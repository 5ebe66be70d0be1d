//! The real binary, end to end.

mod campaign_pages;
mod campaigns;
mod ci;
mod commands;
mod demo;
mod ends;
mod explain;
mod foreign;
mod netns;
mod peers;
mod run;
mod samples;
mod support;
mod tmux;
mod who;
