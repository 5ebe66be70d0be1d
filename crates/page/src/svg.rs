//! Figures as SVG: on their own for slides, or inside the page, which colours them.

mod causes;
mod latency;
mod over_time;
mod picture;
mod plot;
mod survival;

use std::fmt;
use std::str::FromStr;

use crate::data::PageData;

/// Rules that a figure needs wherever it stands.
pub(crate) const RULES: &str = include_str!("../assets/figure.css");
/// Colours of a figure that stands alone; the page has its own of the same names.
const COLORS: &str = include_str!("../assets/figure-colors.css");

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Figure {
    /// Lanes of workers over time, with holds and fetches.
    Picture,
    /// Latency by percentile, idle and under load.
    Latency,
    /// Share not yet done by age, idle and under load.
    Survival,
    /// Late time by cause.
    Causes,
    /// Downloads' bytes per second over time.
    Throughput,
    /// Depth of accept queues over time.
    AcceptQueue,
    /// Bytes that wait to be read from the origin, by download, over time.
    ReceiveQueue,
}

impl Figure {
    /// Every figure.
    pub const ALL: [Self; 7] = [
        Self::Picture,
        Self::Latency,
        Self::Survival,
        Self::Causes,
        Self::Throughput,
        Self::AcceptQueue,
        Self::ReceiveQueue,
    ];

    /// The word used in flags and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Picture => "picture",
            Self::Latency => "latency",
            Self::Survival => "survival",
            Self::Causes => "causes",
            Self::Throughput => "throughput",
            Self::AcceptQueue => "accept-queue",
            Self::ReceiveQueue => "receive-queue",
        }
    }

    /// What the run would have to have for it to be drawn.
    const fn needs(self) -> &'static str {
        match self {
            Self::Picture => "no worker and no fetch is known",
            Self::Latency | Self::Survival => "there was no fetch",
            Self::Causes => "no fetch was late, or nothing is known of those that were",
            Self::Throughput => "no download moved",
            Self::AcceptQueue => "no accept queue was sampled",
            Self::ReceiveQueue => "no socket of a download was sampled",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Figure {
    type Err = SvgError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|figure| figure.name() == text);
        found.ok_or_else(|| SvgError::NoSuchFigure(text.to_owned()))
    }
}

/// A figure that cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SvgError {
    /// The run has nothing to show there.
    #[error("failed to draw {figure}: {}", figure.needs())]
    Nothing {
        /// Which figure.
        figure: Figure,
    },
    /// No figure has this name.
    #[error(
        "{0:?} is not a figure: write picture, latency, survival, causes, throughput, \
         accept-queue or receive-queue"
    )]
    NoSuchFigure(String),
}

/// One figure as an SVG document of its own, light or dark as its viewer prefers.
///
/// # Errors
/// [`SvgError::Nothing`]: the run has nothing to show there.
pub fn svg(data: &PageData, figure: Figure) -> Result<String, SvgError> {
    let body = draw(data, figure).ok_or(SvgError::Nothing { figure })?;
    Ok(body.document(&format!("{COLORS}{RULES}")))
}

/// The same for inside the page; `None` where there is nothing to show.
pub(crate) fn inline(data: &PageData, figure: Figure) -> Option<String> {
    Some(draw(data, figure)?.inline())
}

fn draw(data: &PageData, figure: Figure) -> Option<plot::Drawing> {
    match figure {
        Figure::Picture => picture::draw(data),
        Figure::Latency => latency::draw(data),
        Figure::Survival => survival::draw(data),
        Figure::Causes => causes::draw(data),
        Figure::Throughput => over_time::throughput(data),
        Figure::AcceptQueue => over_time::accept_queues(data),
        Figure::ReceiveQueue => over_time::receive_queues(data),
    }
}
