//! Figures as the judge's sentences have them.

pub(crate) use records::count;

use records::Arm;

/// Why a fetch could not be tried.
pub(crate) const SHORTAGE: &str = "this host had no descriptor, port or memory left";

/// What would do about it.
pub(crate) const MORE: &str =
    "raise `ulimit -n`, widen net.ipv4.ip_local_port_range, or lower --arrivals";

/// When the fetches of the measure phase ran.
pub const fn measured_when(arm: &Arm) -> &'static str {
    if arm.load.slow == 0 { "with no load" } else { "under load" }
}

/// Items as `0`, `0 and 1`, `0, 1 and 2`; beyond five: `0, 1, 2, 3, 4 and 7 more`.
pub(crate) fn list<T: ToString>(items: &[T]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = items.iter().take(SHOWN).map(ToString::to_string).collect();
    match (shown.as_slice(), items.len().saturating_sub(SHOWN)) {
        (shown, more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        ([head @ .., last], 0) if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        (shown, 0) => shown.concat(),
    }
}
