//! The page as text, and in a real browser.

mod browser;
mod fixture;
mod seen;
mod text;
