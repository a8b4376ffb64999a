//! Time lost to roots that had given up: part of what the tree of pauses costs, though nobody is to blame.

use crate::contract::View;
use crate::ids::{PortId, PortIx};
use backwater_engine::Duration;

/// Counts for how long gates of `port` have been closed for `root`, which had given up already when the frame that reports it was sent: gates added up,
/// and no longer than the delay of the link.
pub(super) fn count(port: PortIx, root: PortId, view: &mut View<'_>) {
    let there = view.port(port);
    let closed = there.closed_queues().filter_map(|queue| there.closed(queue));
    let since = closed.filter(|(_, cause)| cause.root == root).map(|(since, _)| since);
    let waited: Duration = since.map(|since| view.now.since(since).min(there.delay())).sum();
    if waited > Duration::ZERO {
        view.count("merge_wait_ps", waited.ps());
    }
}
