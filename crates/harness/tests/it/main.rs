//! The real binary, end to end.

mod campaigns;
mod causes;
mod ci;
mod commands;
mod demo;
mod ends;
mod explain;
mod netns;
mod peers;
mod run;
mod support;
mod threads;
mod tmux;
mod who;
