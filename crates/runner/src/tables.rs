//! Tables of a result directory. [`tables!`] defines each column: its name, type and meaning.
//!
//! To add a column, add a field here and fill it where its row is made. The Parquet metadata, the
//! [`definitions`] for the Python package and the reference page follow from the field.
//!
//! A column name that ends in `_ps`, `bytes` or `_bps` implies the unit: ps, B or bit/s. Times
//! count from the start of the run.

mod row;
mod writer;

pub(crate) use row::Cell;
pub use row::{ColumnDefinition, Name, TableDefinition};
pub use writer::TableWriteError;
pub(crate) use writer::TableWriter;

use crate::disk::FileSum;
use backwater_columns::{Chunk, Text};
use backwater_engine::{Duration, Time};
use parquet::schema::types::TypePtr;
use row::{Row, definition};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Version of the tables. Increase it when the name, the type or the meaning of a column changes.
pub const SCHEMA_VERSION: u32 = 4;

/// Defines the rows of all tables, their writers and their definitions.
macro_rules! tables {
    ($($(#[doc = $about:literal])+ $table:ident: $row:ident {
        $($(#[doc = $meaning:literal])+ $column:ident: $cell:ty,)+
    })+) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Debug, Default)]
            pub struct $row {
                $($(#[doc = $meaning])+ pub $column: $cell,)+
            }

            /// Columns of the table.
            pub(crate) mod $table {
                use super::*;

                /// Cells of the rows that are not yet written.
                pub(crate) struct Columns {
                    $(pub(crate) $column: <$cell as Cell>::Column,)+
                }
            }

            impl Row for $row {
                type Columns = $table::Columns;

                fn definitions() -> Vec<ColumnDefinition> {
                    vec![$(definition::<$cell>(stringify!($column), concat!($($meaning),+))),+]
                }

                fn fields() -> Vec<TypePtr> {
                    vec![$(<$cell>::field(stringify!($column))),+]
                }

                fn columns(names: &Arc<[Text]>) -> Self::Columns {
                    $table::Columns { $($column: <$cell>::column(names),)+ }
                }

                #[inline]
                fn set(self, row: u32, columns: &mut Self::Columns) {
                    $(self.$column.set(row, &mut columns.$column);)+
                }

                fn chunks(columns: &mut Self::Columns) -> Vec<&mut dyn Chunk> {
                    vec![$(&mut columns.$column),+]
                }
            }
        )+

        /// Writers of all tables.
        pub(crate) struct Tables {
            $(pub(crate) $table: TableWriter<$row>,)+
        }

        impl Tables {
            /// Creates the files in `directory`.
            ///
            /// # Errors
            ///
            /// If a file cannot be created.
            pub(crate) fn create(
                directory: &Path,
                names: &Arc<[Text]>,
                metadata: &[(String, String)],
            ) -> Result<Tables, TableWriteError> {
                Ok(Tables { $($table: TableWriter::create(directory, stringify!($table), names, metadata)?,)+ })
            }

            /// Returns the first write error, if any.
            pub(crate) fn failure(&self) -> Option<String> {
                None$(.or_else(|| self.$table.failure()))+
            }

            /// Completes all files and returns their checksums.
            ///
            /// # Errors
            ///
            /// If a file cannot be written.
            pub(crate) fn finish(self) -> Result<BTreeMap<String, FileSum>, TableWriteError> {
                Ok(BTreeMap::from([$(self.$table.finish()?),+]))
            }
        }

        /// Returns the definitions of all tables.
        pub fn definitions() -> Vec<TableDefinition> {
            vec![$(TableDefinition {
                name: stringify!($table),
                meaning: concat!($($about),+).trim(),
                columns: $row::definitions(),
            }),+]
        }
    };
}

tables! {
    /// One row per flow, written after its last packet left the network, and one row per message of
    /// a connection, written after its acknowledgement. Unfinished flows and messages come last.
    flows: FlowRow {
        /// Number of the flow, in order of start, after the numbers of the jobs' connections. For a
        /// message, the number of its connection.
        id: u32,
        /// Number of the connection: `id`, since a flow is a connection with one message.
        connection: u32,
        /// Number of the message on its connection, in order of posting; 0 for a flow.
        message: u32,
        /// Tag of the traffic part that generated the flow.
        tag: Name,
        /// Role: `incast`, `vulnerable` (shares a port with a large part of an incast) or
        /// `background`. Null if the scenario has no incast.
        role: Option<Name>,
        /// Sending host.
        src: Name,
        /// Receiving host.
        dst: Name,
        /// Traffic class of the data packets.
        class: u8,
        /// Payload. Null for an endless flow.
        bytes: Option<u64>,
        /// Time at which the flow became ready to send, or the message was posted.
        start_ps: Time,
        /// Arrival of the last byte. Null if the flow is unfinished.
        receiver_finish_ps: Option<Time>,
        /// Arrival of the last acknowledgement at the sender. Null if it has not arrived.
        sender_finish_ps: Option<Time>,
        /// Flow completion time, `receiver_finish_ps - start_ps`. Null if the flow is unfinished.
        fct_ps: Option<Duration>,
        /// Flow completion time on an idle fabric, without in-band telemetry. The path follows the
        /// routes at the flow's start. Null for an endless flow.
        ideal_fct_ps: Option<Duration>,
        /// `ideal_fct_ps` with the telemetry that the congestion control adds to data packets.
        ideal_fct_with_telemetry_ps: Option<Duration>,
        /// `fct_ps / ideal_fct_ps`. Null if the flow is unfinished.
        slowdown: Option<f64>,
        /// Payload sent more than once.
        retransmitted_bytes: u64,
        /// Time that the next packet in order waited behind a PAUSE.
        paused_ps: Duration,
        /// Part of `paused_ps` behind a PAUSE that no port on the flow's path caused.
        blocked_ps: Duration,
        /// Payload delivered in order.
        delivered_bytes: u64,
        /// Data packets that arrived, retransmissions included.
        arrived_packets: u64,
        /// Arrived packets that overtook an earlier packet.
        disordered_packets: u64,
        /// Largest degree of disorder: packet number minus the number that the receiver expected.
        /// 0 if all packets arrived in order.
        largest_degree: u32,
        /// True if the flow started after the warm-up.
        measured: bool,
        /// Egress port number at each node on the path of the packet that completed the flow, the
        /// source first. For an unfinished flow, the path of its packets. Null if switches route
        /// packet by packet, if a path has more than 7 hops and may differ by packet, or if an
        /// unfinished flow may take several paths. With `probes.flows`, every finished flow has a
        /// path.
        path: Option<Vec<u16>>,
    }

    /// One row per job and iteration. Iterations that have begun and not ended come last.
    jobs: JobRow {
        /// Tag of the job's part of the traffic.
        job: Name,
        /// Collective: `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all` or
        /// `send-receive`. Null for a schedule.
        collective: Option<Name>,
        /// Algorithm: `ring`, `naive`, `pairwise` or `nccl`. Null for a schedule.
        algorithm: Option<Name>,
        /// Number of the iteration, from 0.
        iteration: u32,
        /// False for iterations before `warmup_iterations`.
        measured: bool,
        /// Number of ranks.
        ranks: u32,
        /// Number of ranks that have ended the iteration.
        finished_ranks: u32,
        /// Bytes of the whole array, as nccl-tests counts them. Null for a schedule.
        bytes: Option<u64>,
        /// Start at the first rank.
        start_ps: Time,
        /// End at the last rank. Null if a rank has not ended.
        end_ps: Option<Time>,
        /// `end_ps - start_ps`.
        time_ps: Option<Duration>,
        /// Mean over the ranks of the time from a rank's own start to its own end, as nccl-tests
        /// takes the mean over ranks. Null if a rank has not ended.
        mean_rank_time_ps: Option<Duration>,
        /// Lower bound of `time_ps`: the largest of the longest path of messages on an idle
        /// network, of the bytes of each host at the rate of its links, and of the computations of
        /// each stream.
        bound_ps: Duration,
        /// `bound_ps / time_ps`.
        bound_share: Option<f64>,
        /// Algorithm bandwidth of nccl-tests: `bytes` over `mean_rank_time_ps`.
        algbw_bps: Option<u64>,
        /// Bus bandwidth of nccl-tests: `algbw_bps` times 2 (n - 1) / n for an all-reduce, (n - 1)
        /// / n for an all-gather, a reduce-scatter and an all-to-all, and 1 for send and receive.
        busbw_bps: Option<u64>,
    }

    /// One row per operation of a job, in order of their ends. Needs `probes.operations`.
    operations: OperationRow {
        /// Tag of the job's part of the traffic.
        job: Name,
        /// Rank.
        rank: u32,
        /// Host of the rank.
        node: Name,
        /// Number of the operation among those of its rank, from 0.
        operation: u64,
        /// Kind: `send`, `receive` or `compute`.
        kind: Name,
        /// Receiver of a send, or sender of a receive. Null for a computation, and for a receive
        /// from any rank.
        peer: Option<u32>,
        /// Bytes of a send. Null for other operations.
        bytes: Option<u64>,
        /// Start: posting of a send, readiness of a receive, start of a computation. A receive of a
        /// collective starts with its message.
        start_ps: Time,
        /// End: acknowledgement of a send, arrival of a receive's message, end of a computation.
        end_ps: Time,
    }

    /// Latency breakdown of flows, exact to the picosecond. Needs `probes.flows`.
    waits: WaitRow {
        /// Number of the flow, or of the connection of a message.
        flow: u32,
        /// Number of the message on its connection; 0 for a flow.
        message: u32,
        /// Packets that the row covers. `completion`: the packet that completed the flow or the
        /// message, from its start; the rows add up to `fct_ps`. For an unfinished flow, the packet
        /// that the receiver or the sender waits for, until the end of the run. `packets`: the sum
        /// over all delivered packets, from their first link. `window`: the sum over ACKs that
        /// opened a full window and the packets that they acknowledge, from their first link.
        of: Name,
        /// Number of packets in the sum.
        packets: u64,
        /// Position of a `completion` row on the packet's way, from 0. Null for other rows.
        step: Option<u32>,
        /// Node.
        node: Name,
        /// Egress port number at the node.
        port: u16,
        /// Activity or cause of waiting at the port: a term of `backwater why`.
        term: Name,
        /// Node of the port whose congestion closed the gate, for the term `paused`. Null if the
        /// closure is too old to be attributed.
        cause_node: Option<Name>,
        /// Port number at `cause_node`.
        cause_port: Option<u16>,
        /// Total duration.
        length_ps: Duration,
    }

    /// Congestion signals that reached flows, one row per flow, signal and port. Needs
    /// `probes.flows`.
    signals: SignalRow {
        /// Number of the flow, or of the connection of a message.
        flow: u32,
        /// Number of the message on its connection; 0 for a flow.
        message: u32,
        /// Kind of signal. `mark`: an ECN mark that reached the receiver. `load`: an ACK whose
        /// telemetry slowed the sender, at the port with the highest load. `delay`: an ACK whose
        /// delay slowed the sender, at every port where the packet or the ACK waited. `notice`: a
        /// switch's notice that reached the sender.
        signal: Name,
        /// Node.
        node: Name,
        /// Egress port number at the node.
        port: u16,
        /// Number of signals.
        count: u64,
        /// Departure of the first packet with this row's signal. For `notice`, the time at which
        /// the first notice was made.
        first_ps: Time,
        /// Departure of the last packet with this row's signal. For `notice`, the time at which the
        /// last notice was made.
        last_ps: Time,
        /// Total time that packets and ACKs waited at the port, for `delay`. Null for other kinds.
        waited_ps: Option<Duration>,
    }

    /// Trace of node events, ordered by time, node, port and sequence. Needs `probes.trace`.
    events: EventRow {
        /// Time of the event.
        time_ps: Time,
        /// Node.
        node: Name,
        /// Port number at the node. Null for events of a flow as a whole.
        port: Option<u16>,
        /// Position among the node's events at this time.
        sequence: u32,
        /// Kind of event: `sent`, `enqueue`, `dequeue`, `move`, `pause`, `resume`, `link-down`,
        /// `link-up`, `mark`, `drop`, `rate`, `sender`, `posted`, `received` or `acknowledged`.
        event: Name,
        /// Kind of frame: `data`, `ack`, `nack`, `cnp` or `notice`. For a link-local frame, its
        /// protocol: `pfc`, `pyrrha`, `bfc`, `per-flow`, `port-fc` or a custom one.
        frame: Option<Name>,
        /// Traffic class of the frame.
        class: Option<u8>,
        /// Number of the flow.
        flow: Option<u32>,
        /// Packet number. For `data`, the number of the packet itself. For `ack` and `nack`, the
        /// next packet expected. For `sender`, the next packet to send; null if all were sent. For
        /// `posted`, the first packet of the message. For `received`, the packet that completed the
        /// flow or the message.
        psn: Option<u32>,
        /// Queue of the port.
        queue: Option<u16>,
        /// Queue that the packet joined, for `move`.
        to_queue: Option<u16>,
        /// Frame length from the Ethernet header to the FCS.
        frame_bytes: Option<u32>,
        /// Frame length with preamble and gap.
        wire_bytes: Option<u16>,
        /// Departure of the last bit, for `sent`.
        until_ps: Option<Time>,
        /// True if the packet carries the ECN mark or its echo.
        marked: Option<bool>,
        /// Queue length with the packet that joined it, or without the packet that left it.
        queue_bytes: Option<u64>,
        /// Ingress port of the packet.
        ingress_port: Option<u16>,
        /// Ingress class of the packet.
        ingress_class: Option<u8>,
        /// Charge of the packet's ingress queue, with the packet that arrived or without the packet
        /// that left.
        ingress_bytes: Option<u64>,
        /// Current threshold of the packet's ingress queue.
        threshold_bytes: Option<u64>,
        /// Node of the port whose congestion is the cause, for `pause` and `resume`.
        cause_node: Option<Name>,
        /// Port number at `cause_node`.
        cause_port: Option<u16>,
        /// For `drop`, the cause. For `pause` and `resume`, `congestion`, or `order` if a queue
        /// waits for another queue of its port.
        reason: Option<Name>,
        /// New sending rate, for `rate`.
        rate_bps: Option<u64>,
        /// Payload in flight, for `sender`.
        in_flight_bytes: Option<u64>,
        /// Largest payload in flight that the sender allows, for `sender`. Null without a window.
        window_bytes: Option<u64>,
        /// Earliest departure of the next packet at the current rate, for `sender`.
        departure_ps: Option<Time>,
        /// Classes that a PFC frame names: bit i is class i.
        pfc_classes: Option<u8>,
        /// Duration in a PFC frame, in quanta of 512 bit times. 0 means resume.
        pfc_quanta: Option<u16>,
        /// Header with EtherType 0x88B5, if the frame has one.
        header: Option<Vec<u8>>,
    }

    /// One row per interval in which an egress queue was paused, ordered by end.
    pauses: PauseRow {
        /// Node of the paused port.
        node: Name,
        /// Port number at the node.
        port: u16,
        /// Node at the other end of the link: the node that sent the PAUSE.
        peer: Name,
        /// Paused queue. A class queue has the number of its class. Queues added by a flow control
        /// are numbered from 8.
        queue: u16,
        /// Time at which the pause took effect.
        start_ps: Time,
        /// End of the pause. Null if the run ended first.
        end_ps: Option<Time>,
        /// Node of the port whose congestion is the root of the pause.
        cause_node: Name,
        /// Port number at `cause_node`.
        cause_port: u16,
        /// Egress port of `peer` that held most of the traffic from the paused port. The egress
        /// port is the root or is itself paused. Null if only the root is known.
        via_port: Option<u16>,
        /// Queue of `via_port` whose pause led to this pause. Null if no other pause led to this
        /// pause.
        parent_queue: Option<u16>,
        /// Time at which the pause of `parent_queue` took effect.
        parent_start_ps: Option<Time>,
        /// Number of links from the root to the paused port over which one PAUSE led to the next.
        /// Null if only the root is known.
        hops: Option<u8>,
        /// True if `peer` is a relaying server that only forwards PAUSEs.
        relayed: bool,
    }

    /// Contents of full ingress queues, one row per PAUSE, class and egress port. PAUSEs that were
    /// withdrawn before they were sent are included.
    full_queues: FullQueueRow {
        /// Time at which the PAUSE was made.
        time_ps: Time,
        /// Node that made the PAUSE.
        node: Name,
        /// Ingress port, which sends the PAUSE.
        port: u16,
        /// Class that the PAUSE names.
        class: u8,
        /// Egress port of the node.
        egress_port: u16,
        /// Bytes of the ingress queue that are queued at the egress port.
        bytes: u64,
    }

    /// Samples of egress ports that hold bytes or are paused.
    queues: QueueRow {
        /// Time of the sample.
        time_ps: Time,
        /// Node.
        node: Name,
        /// Port number at the node.
        port: u16,
        /// Bytes in all queues of the port.
        bytes: u64,
        /// Number of queues that hold packets.
        queues: u16,
        /// Paused classes: bit i is class i.
        paused: u8,
        /// Number of paused queues, class queues included.
        paused_queues: u16,
    }

    /// Samples of egress queues that hold bytes. Needs `probes.queues`.
    egress: EgressRow {
        /// Time of the sample.
        time_ps: Time,
        /// Node.
        node: Name,
        /// Port number at the node.
        port: u16,
        /// Queue. A class queue has the number of its class.
        queue: u16,
        /// Bytes in the queue.
        bytes: u64,
    }

    /// Samples of ingress queues that hold bytes. Needs `probes.queues`.
    ingress: IngressRow {
        /// Time of the sample.
        time_ps: Time,
        /// Node.
        node: Name,
        /// Port number at the node.
        port: u16,
        /// Traffic class.
        class: u8,
        /// Bytes charged to the queue.
        bytes: u64,
        /// Current threshold: the queue is full at this charge. Null if the queue has no threshold.
        threshold_bytes: Option<u64>,
        /// Headroom that the queue uses, or that its port uses if queues share headroom.
        headroom_bytes: u64,
    }

    /// Traffic of ports that sent since the previous sample.
    ports: PortRow {
        /// Time of the sample.
        time_ps: Time,
        /// Node.
        node: Name,
        /// Port number at the node.
        port: u16,
        /// Node at the other end of the link.
        peer: Name,
        /// Wire bytes sent since the previous sample, preamble and gap included.
        tx_bytes: u64,
        /// Part of `tx_bytes` in packets that a server relays.
        relayed_bytes: u64,
    }

    /// Samples of switches whose buffer is in use.
    buffers: BufferRow {
        /// Time of the sample.
        time_ps: Time,
        /// Switch.
        node: Name,
        /// Bytes in use in all pools.
        used_bytes: u64,
        /// Bytes in use in the shared pool.
        shared_bytes: u64,
        /// Bytes in use in headroom.
        headroom_bytes: u64,
    }

    /// One row per interval in which the upstream of an ingress queue was paused, from PAUSE to
    /// RESUME as made by the switch. Needs `probes.ingress`.
    stops: StopRow {
        /// Switch.
        node: Name,
        /// Ingress port number at the switch.
        port: u16,
        /// Node at the other end of the link: the paused node.
        peer: Name,
        /// Traffic class.
        class: u8,
        /// Time at which the PAUSE was made.
        start_ps: Time,
        /// Time at which the RESUME was made. Null if the run ended first.
        end_ps: Option<Time>,
        /// Length of the window, from `start_ps` on, in which `arrived_bytes` and `departed_bytes`
        /// are counted: twice the link's delay plus the time of the charged bytes of two full
        /// frames. Shorter if the run ended within the window; 0 if the window of an earlier row of
        /// the same queue was still open.
        window_ps: Duration,
        /// Bytes that entered the queue in the window.
        arrived_bytes: u64,
        /// Bytes that left the queue in the window.
        departed_bytes: u64,
        /// Peak of the headroom that the queue uses, or that its port uses if queues share
        /// headroom.
        headroom_bytes: u64,
        /// Number of paused ingress queues of the port at the peak of `headroom_bytes`.
        stopped_at_port: u16,
        /// Number of paused ingress queues of the switch at the peak of `headroom_bytes`.
        stopped_at_switch: u16,
    }

    /// One row per local maximum of the headroom in use at a switch. Needs `probes.ingress`.
    headroom: HeadroomRow {
        /// Time of the maximum.
        time_ps: Time,
        /// Switch.
        node: Name,
        /// Headroom in use.
        headroom_bytes: u64,
        /// Number of ingress queues of the switch with a paused upstream neighbour.
        stopped: u16,
    }

    /// Payload delivered since the previous sample, by tag and role. Needs `probes.goodput`.
    goodput: GoodputRow {
        /// Time of the sample.
        time_ps: Time,
        /// Tag of the traffic part.
        tag: Name,
        /// Role: `incast`, `vulnerable` or `background`. Null if the scenario has no incast.
        role: Option<Name>,
        /// Payload delivered in order since the previous sample.
        delivered_bytes: u64,
    }

    /// Samples of paths between edge switches, as the source switch knows them: paths with a delay
    /// above 0, and paths that are reserved for congested flows. Needs `probes.paths` and a load
    /// balancer that chooses whole paths.
    paths: PathRow {
        /// Time of the sample.
        time_ps: Time,
        /// Edge switch at which the path starts.
        node: Name,
        /// Edge switch at which the path ends.
        to: Name,
        /// Number of the path among those to `to`.
        path: u32,
        /// Number of the first egress port.
        port: u16,
        /// One-way delay above that of the idle path, as known at `node`.
        delay_ps: Duration,
        /// True if the path is reserved for congested flows.
        isolated: bool,
    }

    /// Samples of the numbers of items that load balancers hold, if above 0. Needs `probes.paths`.
    balancing: BalancingRow {
        /// Time of the sample.
        time_ps: Time,
        /// Switch.
        node: Name,
        /// Counted item: `flow_entries`, `isolated_flows`, `isolation_paths`, `congested_flows`,
        /// `congested_queues` or `stopped_uplinks`.
        what: Name,
        /// Number of items.
        count: u64,
    }

    /// One row per switch and relaying server, written at the end.
    switches: SwitchRow {
        /// Switch or server.
        node: Name,
        /// Number of links to the nearest host.
        layer: u8,
        /// Peak buffer occupancy, exact rather than sampled.
        peak_buffer_bytes: u64,
        /// Largest number of queues beyond the class queues that one port used at once.
        peak_queues: u16,
        /// Largest number of queues beyond the class queues that held packets at once, at any port.
        peak_filled_queues: u16,
        /// Frames lost, for any cause.
        dropped_frames: u64,
    }

    /// Packets by degree of disorder, tag and role, over the whole run.
    reordering: ReorderingRow {
        /// Tag of the traffic part.
        tag: Name,
        /// Role: `incast`, `vulnerable` or `background`. Null if the scenario has no incast.
        role: Option<Name>,
        /// True for flows that started after the warm-up.
        measured: bool,
        /// Packet number minus the number that the receiver expected. 0 for packets that overtook
        /// none.
        degree: u32,
        /// Data packets that arrived with this degree, retransmissions included.
        packets: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_column_has_a_meaning_and_times_are_picoseconds() {
        for TableDefinition { name, meaning, columns } in definitions() {
            assert!(meaning.ends_with('.'), "{name}");
            let names: BTreeSet<_> = columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), columns.len(), "{name}");
            for column in columns {
                assert!(column.meaning.ends_with('.'), "{name}.{}", column.name);
                assert_eq!(column.r#type == "i64", column.unit == Some("ps"), "{name}.{}", column.name);
            }
        }
    }
}
