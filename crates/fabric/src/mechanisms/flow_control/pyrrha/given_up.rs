//! Waiting time behind gates whose root had already given up. This cost of a tree of PAUSEs is not
//! caused by a congested port.

use crate::contract::View;
use crate::ids::{PortId, PortIx};
use backwater_engine::Duration;

/// Counts the time for which gates of `port` were closed because of `root` after `root` had given
/// up. At most the link's delay counts for each gate, because the report about `root` is that old.
pub(super) fn count(port: PortIx, root: PortId, view: &mut View<'_>) {
    let there = view.port(port);
    let closed = there.closed_queues().filter_map(|queue| there.closed(queue));
    let since = closed.filter(|(_, cause)| cause.root == root).map(|(since, _)| since);
    let waited: Duration = since.map(|since| view.now.since(since).min(there.delay())).sum();
    if waited > Duration::ZERO {
        view.count("merge_wait_ps", waited.ps());
    }
}
