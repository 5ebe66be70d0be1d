//! The pages as text, and in a real browser.

mod boundless;
mod browser;
mod campaign;
mod controls;
mod fixture;
mod large;
mod paper;
mod replay;
mod seen;
mod text;
mod trials;
