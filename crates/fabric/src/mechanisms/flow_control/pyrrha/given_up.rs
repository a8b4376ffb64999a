//! Waiting time caused by roots that had given up. No congested port accounts for this cost of a
//! tree of PAUSEs.

use crate::contract::View;
use crate::ids::{PortId, PortIx};
use backwater_engine::Duration;

/// Counts the time that gates of `port` were closed for `root` after it had given up. The time of
/// each gate counts at most for the link's delay, which is the age of the report.
pub(super) fn count(port: PortIx, root: PortId, view: &mut View<'_>) {
    let there = view.port(port);
    let closed = there.closed_queues().filter_map(|queue| there.closed(queue));
    let since = closed.filter(|(_, cause)| cause.root == root).map(|(since, _)| since);
    let waited: Duration = since.map(|since| view.now.since(since).min(there.delay())).sum();
    if waited > Duration::ZERO {
        view.count("merge_wait_ps", waited.ps());
    }
}
