//! Figures as SVG: on their own for slides, or inside the page, which colours them.

mod arms;
mod causes;
mod forest;
mod latency;
pub(crate) mod marks;
mod over_time;
pub(crate) mod palette;
mod picture;
mod plot;
mod survival;

use std::fmt;

use analysis::Analysis;
use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::campaign::Campaign;
use crate::page::PageData;

pub(crate) use self::arms::percentiles;
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
    /// Latency by percentile, idle and under load.
    Latency,
    /// Share not yet done by age, idle and under load.
    Survival,
    /// Late time by cause; runs only.
    Causes,
    /// Downloads' bytes per second over time.
    Throughput,
    /// Depth of accept queues over time; runs only.
    AcceptQueue,
    /// Bytes that wait to be read from the origin, by download, over time; runs only.
    ReceiveQueue,
    /// Failed share by arm and round, with intervals; campaigns only.
    Failures,
    /// Arms against the first, with intervals; campaigns only.
    Differences,
}

impl Figure {
    /// Every figure.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    /// Whether a run can have it.
    pub const fn is_of_a_run(self) -> bool {
        !matches!(self, Self::Failures | Self::Differences)
    }

    /// Whether a campaign can have it.
    pub const fn is_of_a_campaign(self) -> bool {
        !matches!(self, Self::Picture | Self::Causes | Self::AcceptQueue | Self::ReceiveQueue)
    }

    /// What is missing where it cannot be drawn.
    const fn needs(self) -> &'static str {
        match self {
            Self::Picture => "no worker and no fetch is known",
            Self::Latency | Self::Survival | Self::Failures => "there was no fetch",
            Self::Causes => "no fetch was late, or nothing is known of those that were",
            Self::Throughput => "no download moved",
            Self::AcceptQueue => "no accept queue was sampled",
            Self::ReceiveQueue => "no socket of a download was sampled",
            Self::Differences => "no arms were compared",
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
    /// A figure of campaigns was asked of a run.
    #[error("failed to draw {0}: only a campaign of several trials has it, as compare makes")]
    OfCampaigns(Figure),
    /// A figure of runs was asked of a campaign.
    #[error("failed to draw {0}: a campaign has none; name the directory of one of its trials")]
    OfRuns(Figure),
}

/// One figure as an SVG document of its own, light or dark as its viewer prefers.
///
/// # Errors
/// [`SvgError::Nothing`]: the run has nothing to show there; [`SvgError::OfCampaigns`].
pub fn svg(analysis: &Analysis<'_>, figure: Figure) -> Result<String, SvgError> {
    if !figure.is_of_a_run() {
        return Err(SvgError::OfCampaigns(figure));
    }
    let drawn = draw(&PageData::of(analysis), figure).ok_or(SvgError::Nothing(figure))?;
    Ok(drawn.document(&format!("{COLORS}{RULES}")))
}

/// The same for inside the page; `None` where there is nothing to show.
pub(crate) fn inline(data: &PageData<'_>, figure: Figure) -> Option<String> {
    Some(draw(data, figure)?.inline())
}

/// One figure of a campaign as an SVG document of its own.
///
/// # Errors
/// [`SvgError::Nothing`]: its trials have nothing to show there; [`SvgError::OfRuns`].
pub fn campaign_svg(campaign: &Campaign, figure: Figure) -> Result<String, SvgError> {
    if !figure.is_of_a_campaign() {
        return Err(SvgError::OfRuns(figure));
    }
    let drawn = draw_campaign(campaign, figure, Points::Plain).ok_or(SvgError::Nothing(figure))?;
    Ok(drawn.document(&format!("{COLORS}{RULES}")))
}

/// The same for inside the page, its points being links; `None` where there is nothing to show.
pub(crate) fn inline_campaign(campaign: &Campaign, figure: Figure) -> Option<String> {
    Some(draw_campaign(campaign, figure, Points::Links)?.inline())
}

/// What a point of a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    /// A mark.
    Plain,
    /// A link to the trial's page.
    Links,
}

fn draw(data: &PageData<'_>, figure: Figure) -> Option<plot::Drawing> {
    match figure {
        Figure::Picture => picture::draw(data),
        Figure::Latency => latency::draw(data.analysis),
        Figure::Survival => survival::draw(data.analysis),
        Figure::Causes => causes::draw(&data.analysis.summary),
        Figure::Throughput => over_time::throughput(data),
        Figure::AcceptQueue => over_time::accept_queues(data),
        Figure::ReceiveQueue => over_time::receive_queues(data),
        Figure::Failures | Figure::Differences => None,
    }
}

fn draw_campaign(campaign: &Campaign, figure: Figure, points: Points) -> Option<plot::Drawing> {
    match figure {
        Figure::Latency => arms::latency(campaign, points),
        Figure::Failures => arms::failures(campaign, points),
        Figure::Throughput => arms::throughput(campaign, points),
        Figure::Survival => survival::of_arms(campaign),
        Figure::Differences => forest::draw(campaign),
        Figure::Picture | Figure::Causes | Figure::AcceptQueue | Figure::ReceiveQueue => None,
    }
}
