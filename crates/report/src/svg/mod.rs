//! Figures as SVG: on their own for slides, or inside the page, which colours them.

mod accept_queue;
mod arms;
mod causes;
mod latency;
pub(crate) mod palette;
mod picture;
mod plot;

use std::fmt;

use analysis::Analysis;
use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::campaign::Campaign;
use crate::page::PageData;

pub(crate) use self::picture::stage;

/// Rules that a figure needs wherever it stands.
pub(crate) const RULES: &str = include_str!("../../assets/figure.css");
/// Colours of a figure that stands alone; the page has its own of the same names.
const COLORS: &str = include_str!("../../assets/figure-colors.css");

/// A figure of a run or of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Figure {
    /// Lanes of workers over time, with holds and fetches; runs only.
    Picture,
    /// Latency by percentile: of a run idle and under load, of a campaign by arm and round.
    Latency,
    /// Late time by cause; runs only.
    Causes,
    /// Depth of accept queues over time; runs only.
    AcceptQueue,
}

impl Figure {
    /// Every figure.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    /// What is missing where it cannot be drawn.
    const fn needs(self) -> &'static str {
        match self {
            Self::Picture => "no worker and no fetch is known",
            Self::Latency => "there was no fetch",
            Self::Causes => "no fetch was late, or nothing is known of those that were",
            Self::AcceptQueue => "no accept queue was sampled",
        }
    }
}

/// The word used in flags and file names.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.to_possible_value().as_ref().map_or("", PossibleValue::get_name))
    }
}

/// A figure that cannot be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SvgError {
    /// The run or the campaign has nothing to show there.
    #[error("failed to draw {figure}: {needs}", figure = .0, needs = .0.needs())]
    Nothing(Figure),
    /// A figure of runs was asked of a campaign.
    #[error("failed to draw {0}: a campaign has none; name the directory of one of its trials")]
    OfRuns(Figure),
}

/// One figure as an SVG document of its own, light or dark as its viewer prefers.
///
/// # Errors
/// [`SvgError::Nothing`]: the run has nothing to show there.
pub fn svg(analysis: &Analysis<'_>, figure: Figure) -> Result<String, SvgError> {
    let drawn = draw(&PageData::of(analysis), figure).ok_or(SvgError::Nothing(figure))?;
    Ok(drawn.document(&format!("{COLORS}{RULES}")))
}

/// The same for inside the page; `None` where there is nothing to show.
pub(crate) fn inline(data: &PageData<'_>, figure: Figure) -> Option<String> {
    Some(draw(data, figure)?.inline())
}

/// One figure of a campaign as an SVG document of its own: it has [`Figure::Latency`] alone.
///
/// # Errors
/// [`SvgError::Nothing`]: its trials have nothing to show there; [`SvgError::OfRuns`].
pub fn campaign_svg(campaign: &Campaign, figure: Figure) -> Result<String, SvgError> {
    if figure != Figure::Latency {
        return Err(SvgError::OfRuns(figure));
    }
    let drawn = arms::draw(campaign).ok_or(SvgError::Nothing(figure))?;
    Ok(drawn.document(&format!("{COLORS}{RULES}")))
}

/// The same for inside the page; `None` where there is nothing to show.
pub(crate) fn inline_campaign(campaign: &Campaign) -> Option<String> {
    Some(arms::draw(campaign)?.inline())
}

fn draw(data: &PageData<'_>, figure: Figure) -> Option<plot::Drawing> {
    match figure {
        Figure::Picture => picture::draw(data),
        Figure::Latency => latency::draw(data.analysis),
        Figure::Causes => causes::draw(&data.analysis.summary),
        Figure::AcceptQueue => accept_queue::draw(data),
    }
}
