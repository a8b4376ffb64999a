//! The tables of a result directory: rows whose fields are the columns, and a writer that keeps a bounded number of them in memory.
//!
//! Times are picoseconds since the start of the run, sizes bytes, names dictionary-encoded. Files are zstd-compressed Parquet and appear under
//! their name only when complete.

use crate::disk::{FileSum, Keeper};
use backwater_columns::{Column, Encode, Text, field, is_text, list_field, schema, write_group};
use backwater_engine::{Duration, Time};
use backwater_fabric::ids::NodeId;
use parquet::basic::{Compression, Encoding, LogicalType, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A name out of the few that a table has: index into their list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name(pub u32);

impl From<NodeId> for Name {
    fn from(node: NodeId) -> Name {
        Name(node.0)
    }
}

/// A type of cells.
pub trait Cell: Clone {
    /// Declares a column of such cells.
    fn field(name: &str) -> TypePtr;

    /// Collects a column, whose names are indices into `names`.
    fn column(cells: impl Iterator<Item = Self>, names: &[Text]) -> Column;
}

/// A cell that is a value in the file.
pub trait Plain: Clone {
    /// The type of that value.
    type Value: Encode;

    /// Returns the value.
    fn value(self) -> Self::Value;
}

/// Each type, what it is in the file, and its conversion.
macro_rules! plain {
    ($($cell:ty: $value:ty = $convert:expr),+ $(,)?) => {
        $(impl Plain for $cell {
            type Value = $value;

            fn value(self) -> $value {
                $convert(self)
            }
        })+
    };
}

plain! {
    bool: bool = std::convert::identity,
    u8: u8 = std::convert::identity,
    u16: u16 = std::convert::identity,
    u32: u32 = std::convert::identity,
    u64: u64 = std::convert::identity,
    f64: f64 = std::convert::identity,
    Time: i64 = |time: Time| time.ps() as i64,
    Duration: i64 = |span: Duration| span.ps() as i64,
    Vec<u8>: Vec<u8> = std::convert::identity,
}

impl<T: Plain> Cell for T {
    fn field(name: &str) -> TypePtr {
        field::<T::Value>(name, false)
    }

    fn column(cells: impl Iterator<Item = T>, _: &[Text]) -> Column {
        Column::required(cells.map(T::value))
    }
}

impl<T: Plain> Cell for Option<T> {
    fn field(name: &str) -> TypePtr {
        field::<T::Value>(name, true)
    }

    fn column(cells: impl Iterator<Item = Option<T>>, _: &[Text]) -> Column {
        Column::optional(cells.map(|cell| cell.map(T::value)))
    }
}

impl Cell for Name {
    fn field(name: &str) -> TypePtr {
        field::<Text>(name, false)
    }

    fn column(cells: impl Iterator<Item = Name>, names: &[Text]) -> Column {
        Column::required(cells.map(|Name(index)| names[index as usize].clone()))
    }
}

impl Cell for Option<Name> {
    fn field(name: &str) -> TypePtr {
        field::<Text>(name, true)
    }

    fn column(cells: impl Iterator<Item = Option<Name>>, names: &[Text]) -> Column {
        Column::optional(cells.map(|cell| cell.map(|Name(index)| names[index as usize].clone())))
    }
}

/// Numbers of ports.
impl Cell for Option<Vec<u16>> {
    fn field(name: &str) -> TypePtr {
        list_field::<u16>(name)
    }

    fn column(cells: impl Iterator<Item = Option<Vec<u16>>>, _: &[Text]) -> Column {
        Column::lists(cells)
    }
}

/// A row of a table.
pub trait Row: Clone {
    /// Name and meaning of each column.
    const MEANINGS: &[(&str, &str)];

    /// Declares the columns.
    fn fields() -> Vec<TypePtr>;

    /// Collects the columns of `rows`, whose names are indices into `names`.
    fn columns(rows: &[Self], names: &[Text]) -> Vec<Column>;
}

/// A row whose fields are the columns of its table: what is said of them here is in the file as well.
macro_rules! row {
    ($(#[$about:meta])+ pub struct $row:ident { $($(#[doc = $meaning:literal])+ pub $column:ident: $cell:ty,)+ }) => {
        $(#[$about])+
        #[derive(Clone, Debug, Default)]
        pub struct $row {
            $($(#[doc = $meaning])+ pub $column: $cell,)+
        }

        impl Row for $row {
            const MEANINGS: &[(&str, &str)] = &[$((stringify!($column), concat!($($meaning),+))),+];

            fn fields() -> Vec<TypePtr> {
                vec![$(<$cell>::field(stringify!($column))),+]
            }

            fn columns(rows: &[$row], names: &[Text]) -> Vec<Column> {
                vec![$(Cell::column(rows.iter().map(|row| row.$column.clone()), names)),+]
            }
        }
    };
}

row! {
    /// `flows.parquet`: a row per flow, written when the last of its packets is gone; flows that did not finish come last.
    pub struct FlowRow {
        /// number of the flow in order of start
        pub id: u32,
        /// part of the traffic that it belongs to
        pub tag: Name,
        /// incast, vulnerable (shares a port with a sizeable part of an incast) or background; empty where there is no incast
        pub role: Option<Name>,
        /// sending host
        pub src: Name,
        /// receiving host
        pub dst: Name,
        /// traffic class of its data
        pub class: u8,
        /// payload bytes; empty for an endless flow
        pub bytes: Option<u64>,
        /// when it became ready to send, ps
        pub start_ps: Time,
        /// when its last byte arrived, ps
        pub receiver_finish_ps: Option<Time>,
        /// when its sender had the last acknowledgement, ps
        pub sender_finish_ps: Option<Time>,
        /// flow completion time: start to last byte at the receiver, ps
        pub fct_ps: Option<Duration>,
        /// the same on an idle fabric, by the routes that held at its start,
        /// without in-band telemetry, ps; empty for an endless flow
        pub ideal_fct_ps: Option<Duration>,
        /// ideal_fct_ps with the telemetry that congestion control adds to data packets, ps
        pub ideal_fct_with_telemetry_ps: Option<Duration>,
        /// fct_ps / ideal_fct_ps
        pub slowdown: Option<f64>,
        /// payload bytes sent more than once
        pub retransmitted_bytes: u64,
        /// time that its next packet stood behind a PAUSE, ps
        pub paused_ps: Duration,
        /// of that, behind a PAUSE caused by a port that is not on its path, ps
        pub blocked_ps: Duration,
        /// payload bytes delivered in order
        pub delivered_bytes: u64,
        /// data packets that arrived, those sent again included
        pub arrived_packets: u64,
        /// of these, packets that came before an earlier one
        pub disordered_packets: u64,
        /// the largest degree of disorder of a packet: its number less the one that the receiver expected; 0 if all came in order
        pub largest_degree: u32,
        /// whether it started after the warm-up
        pub measured: bool,
        /// egress port at each node on the way of the packet that completed it, its source first; of a flow that is not complete, that of its
        /// packets; empty where switches choose it packet by packet and nobody has written it down (`probes.flows`)
        pub path: Option<Vec<u16>>,
    }
}

row! {
    /// `waits.parquet`: where the time of flows has gone, to the picosecond; needs `probes.flows`.
    pub struct WaitRow {
        /// number of the flow
        pub flow: u32,
        /// of what: completion (the packet that completed the flow, from the flow's start on: these add up to fct_ps; of a flow that is not complete, the
        /// packet that its receiver waits for, or its sender, until the end of the run), packets (all that were delivered, from the first wire on, added up),
        /// window (packets and the ACKs that answer them, whose arrival opened a full window, from the first wire on, added up)
        pub of: Name,
        /// how many packets are added up
        pub packets: u64,
        /// of completion: which row of the flow it is, from 0, in the order of the packet's way
        pub step: Option<u32>,
        /// node
        pub node: Name,
        /// number of the egress port at its node, from 0
        pub port: u16,
        /// what it did or waited for there: see the guide
        pub term: Name,
        /// of paused: node of the port whose congestion closed the gate; empty for closures that ended too long ago to be told apart
        pub cause_node: Option<Name>,
        /// number of that port at its node
        pub cause_port: Option<u16>,
        /// how long, in all, ps
        pub length_ps: Duration,
    }
}

row! {
    /// `signals.parquet`: congestion signals that flows got, a row per flow, kind and port; needs
    /// `probes.flows`.
    pub struct SignalRow {
        /// number of the flow
        pub flow: u32,
        /// mark (ECN mark that reached the receiver), load (ACK whose telemetry told the sender to
        /// slow down, at the port with the highest load), delay (ACK whose delay told the sender to
        /// slow down, at every port where the packet or the ACK waited), notice (of a switch, that
        /// reached the sender)
        pub signal: Name,
        /// node
        pub node: Name,
        /// number of the egress port at its node, from 0
        pub port: u16,
        /// number of signals
        pub count: u64,
        /// when the first packet with such a signal left the port, ps; of notices: when it was made
        pub first_ps: Time,
        /// the same of the last one, ps
        pub last_ps: Time,
        /// of delay: how long packets and ACKs waited at the port, in all, ps
        pub waited_ps: Option<Duration>,
    }
}

row! {
    /// `events.parquet`: what nodes did, event by event, in order of time, node, port and sequence; needs `probes.trace`.
    pub struct EventRow {
        /// when, ps
        pub time_ps: Time,
        /// which node
        pub node: Name,
        /// number of the port at its node, from 0; empty for what happens to a flow as a whole
        pub port: Option<u16>,
        /// place among all that the node did at that time
        pub sequence: u32,
        /// sent, enqueue, dequeue, move, pause, resume, link-down, link-up, mark, drop, rate, sender, received, acknowledged
        pub event: Name,
        /// what kind of frame: data, ack, nack, cnp, notice; of link-local frames the protocol: pfc, pyrrha, bfc, per-flow, port-fc, or custom
        pub frame: Option<Name>,
        /// its traffic class
        pub class: Option<u8>,
        /// flow
        pub flow: Option<u32>,
        /// data: number of the packet; ack, nack: of the next one expected; sender: of the next one that it sends, empty if all has been sent; received: of the packet that completed the flow
        pub psn: Option<u32>,
        /// queue of the port
        pub queue: Option<u16>,
        /// of a move: the queue that the packet has joined
        pub to_queue: Option<u16>,
        /// frame from Ethernet header to FCS, bytes
        pub frame_bytes: Option<u32>,
        /// the same with preamble and gap, bytes
        pub wire_bytes: Option<u16>,
        /// of sent: when the last bit leaves, ps
        pub until_ps: Option<Time>,
        /// whether the packet carries the ECN mark, or its echo
        pub marked: Option<bool>,
        /// bytes in the queue with the packet that has joined it, or without the one that has left
        pub queue_bytes: Option<u64>,
        /// port through which the packet came in
        pub ingress_port: Option<u16>,
        /// class in which it came in
        pub ingress_class: Option<u8>,
        /// bytes charged to that ingress queue, with the packet that has come, or without the one that leaves
        pub ingress_bytes: Option<u64>,
        /// bytes at which that ingress queue is full, as things are
        pub threshold_bytes: Option<u64>,
        /// of pause and resume: node of the port whose congestion is the cause
        pub cause_node: Option<Name>,
        /// number of that port at its node
        pub cause_port: Option<u16>,
        /// of drop: why; of pause and resume: congestion, or order where a queue waits for another one of its port
        pub reason: Option<Name>,
        /// of rate: at what rate the sender goes on, bit/s
        pub rate_bps: Option<u64>,
        /// of sender: payload bytes in flight
        pub in_flight_bytes: Option<u64>,
        /// of sender: how many there may be before it stops; empty without a window
        pub window_bytes: Option<u64>,
        /// of sender: when its rate allows for the next packet, ps
        pub departure_ps: Option<Time>,
        /// of a PFC frame: mask of the classes that it names, bit i stands for class i
        pub pfc_classes: Option<u8>,
        /// of a PFC frame: for how long, in quanta of 512 bit times; 0 to resume
        pub pfc_quanta: Option<u16>,
        /// header of EtherType 0x88B5, where the frame has one
        pub header: Option<Vec<u8>>,
    }
}

row! {
    /// `pauses.parquet`: a row per interval in which an egress queue was paused, in order of end.
    pub struct PauseRow {
        /// node of the paused port
        pub node: Name,
        /// number of the port at its node, from 0
        pub port: u16,
        /// node at the other end of the link, which sent the PAUSE
        pub peer: Name,
        /// paused queue; one of the classes' goes by the number of its class
        pub queue: u16,
        /// when the pause took effect, ps
        pub start_ps: Time,
        /// when it ended, ps; empty if it had not when the run ended
        pub end_ps: Option<Time>,
        /// node of the port whose congestion caused it
        pub cause_node: Name,
        /// number of that port at its node
        pub cause_port: u16,
        /// port of the peer that held most of what came from here: the cause, or paused itself; empty where only the root is known
        pub via_port: Option<u16>,
        /// queue of that port whose pause made this one; empty where there was none
        pub parent_queue: Option<u16>,
        /// when that pause took effect, ps
        pub parent_start_ps: Option<Time>,
        /// links that PAUSEs have crossed from the cause to here, one because of the other; empty where only the root is known
        pub hops: Option<u8>,
        /// whether the PAUSE was passed on by the peer, a server that makes none of its own
        pub relayed: bool,
    }
}

row! {
    /// `full_queues.parquet`: what was where in an ingress queue that was full: a row per PAUSE made,
    /// class named, and egress port that holds bytes of it.
    pub struct FullQueueRow {
        /// when the PAUSE was made, ps
        pub time_ps: Time,
        /// node that made it
        pub node: Name,
        /// port through which it leaves: the ingress port
        pub port: u16,
        /// class that it names
        pub class: u8,
        /// egress port of the node
        pub egress_port: u16,
        /// bytes of the ingress queue that stand there
        pub bytes: u64,
    }
}

row! {
    /// `queues.parquet`: egress ports that hold bytes or are paused, at every sample.
    pub struct QueueRow {
        /// time of the sample, ps
        pub time_ps: Time,
        /// node
        pub node: Name,
        /// number of the port at its node, from 0
        pub port: u16,
        /// bytes in the queues of the port
        pub bytes: u64,
        /// number of its queues that hold something
        pub queues: u16,
        /// mask of the paused classes: bit i stands for class i
        pub paused: u8,
        /// number of its queues that are paused, those of classes included
        pub paused_queues: u16,
    }
}

row! {
    /// `egress.parquet`: egress queues that hold bytes, at every sample.
    pub struct EgressRow {
        /// time of the sample, ps
        pub time_ps: Time,
        /// node
        pub node: Name,
        /// number of the port at its node, from 0
        pub port: u16,
        /// queue; one of the classes' goes by the number of its class
        pub queue: u16,
        /// bytes in it
        pub bytes: u64,
    }
}

row! {
    /// `ingress.parquet`: ingress queues that hold bytes, at every sample.
    pub struct IngressRow {
        /// time of the sample, ps
        pub time_ps: Time,
        /// node
        pub node: Name,
        /// number of the port at its node, from 0
        pub port: u16,
        /// traffic class
        pub class: u8,
        /// bytes charged to it
        pub bytes: u64,
        /// bytes at which it is full, as things are; empty where it has no such bound
        pub threshold_bytes: Option<u64>,
        /// bytes of headroom that it uses; that of its port, where queues share it
        pub headroom_bytes: u64,
    }
}

row! {
    /// `ports.parquet`: ports that have sent something since the sample before.
    pub struct PortRow {
        /// time of the sample, ps
        pub time_ps: Time,
        /// node
        pub node: Name,
        /// number of the port at its node, from 0
        pub port: u16,
        /// node at the other end of the link
        pub peer: Name,
        /// bytes put onto the wire since the sample before, preamble and gap included
        pub tx_bytes: u64,
        /// of these, bytes of packets that a server relays
        pub relayed_bytes: u64,
    }
}

row! {
    /// `buffers.parquet`: switches whose buffer is in use, at every sample.
    pub struct BufferRow {
        /// time of the sample, ps
        pub time_ps: Time,
        /// switch
        pub node: Name,
        /// bytes in use in all pools
        pub used_bytes: u64,
        /// of these in the shared pool
        pub shared_bytes: u64,
        /// of these in headroom
        pub headroom_bytes: u64,
    }
}

row! {
    /// `switches.parquet`: a row per switch, and per server that relays, written at the end.
    pub struct SwitchRow {
        /// switch or server
        pub node: Name,
        /// how many links it is away from the nearest host
        pub layer: u8,
        /// the most bytes that it has held at once
        pub peak_buffer_bytes: u64,
        /// the most queues beyond those of the classes that a port of it has used at once
        pub peak_queues: u16,
        /// the most of those queues of any of its ports that held a packet at once
        pub peak_filled_queues: u16,
        /// frames that it has lost, for whatever reason
        pub dropped_frames: u64,
    }
}

row! {
    /// `stops.parquet`: a row per time in which the upstream of an ingress queue was told to stop; needs `probes.ingress`.
    pub struct StopRow {
        /// switch
        pub node: Name,
        /// number of the ingress port at its switch, from 0
        pub port: u16,
        /// node at the other end of the link, which was told to stop
        pub peer: Name,
        /// traffic class
        pub class: u8,
        /// when the PAUSE was made, ps
        pub start_ps: Time,
        /// when the RESUME was made, ps; empty if it had not been when the run ended
        pub end_ps: Option<Time>,
        /// for how long from the start on the next two were counted, ps: until what was in flight has arrived; 0 if an earlier window was not over
        pub window_ps: Duration,
        /// bytes that came in
        pub arrived_bytes: u64,
        /// bytes that left
        pub departed_bytes: u64,
        /// the most headroom that the queue used, bytes; that of its port, where queues share it
        pub headroom_bytes: u64,
        /// queues of the port told to stop when it used that much
        pub stopped_at_port: u16,
        /// queues of the switch told to stop then
        pub stopped_at_switch: u16,
    }
}

row! {
    /// `headroom.parquet`: a row per local maximum of the headroom that the queues of a switch use together; needs `probes.ingress`.
    pub struct HeadroomRow {
        /// when it was reached, ps
        pub time_ps: Time,
        /// switch
        pub node: Name,
        /// headroom in use, bytes
        pub headroom_bytes: u64,
        /// queues of the switch whose upstream was told to stop
        pub stopped: u16,
    }
}

row! {
    /// `goodput.parquet`: what flows of one tag and role have received since the sample before, if anything.
    pub struct GoodputRow {
        /// time of the sample, ps
        pub time_ps: Time,
        /// part of the traffic
        pub tag: Name,
        /// incast, vulnerable or background; empty where the scenario has no incast
        pub role: Option<Name>,
        /// payload bytes delivered in order since the sample before
        pub delivered_bytes: u64,
    }
}

row! {
    /// `paths.parquet`: what an edge switch knows of its paths to another, at every sample: those that have a delay or are isolated.
    pub struct PathRow {
        /// time of the sample, ps
        pub time_ps: Time,
        /// edge switch
        pub node: Name,
        /// edge switch to which the path leads
        pub to: Name,
        /// number of the path among those that lead there
        pub path: u32,
        /// number of the port through which it begins
        pub port: u16,
        /// one-way delay over that of the idle path, as far as the switch knows, ps
        pub delay_ps: Duration,
        /// whether the path is left to congested flows
        pub isolated: bool,
    }
}

row! {
    /// `balancing.parquet`: how much of something a load balancer holds, at every sample, if any.
    pub struct BalancingRow {
        /// time of the sample, ps
        pub time_ps: Time,
        /// switch
        pub node: Name,
        /// what: flow_entries, isolated_flows, isolation_paths, congested_flows, congested_queues, stopped_uplinks
        pub what: Name,
        /// how much of it
        pub count: u64,
    }
}

row! {
    /// `reordering.parquet`: how far packets came before earlier ones: how many packets of one tag and role had each degree, over the whole run; written at the end.
    pub struct ReorderingRow {
        /// part of the traffic
        pub tag: Name,
        /// incast, vulnerable or background; empty where the scenario has no incast
        pub role: Option<Name>,
        /// whether the flows started after the warm-up
        pub measured: bool,
        /// number of a packet less the one that the receiver expected when it arrived; 0 for packets that came before no earlier one
        pub degree: u32,
        /// data packets that arrived so, those sent again included
        pub packets: u64,
    }
}

/// Why a table could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct TableError {
    path: PathBuf,
    cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Changes whenever a column changes its name, its Parquet type or its meaning.
pub const SCHEMA_VERSION: u32 = 3;

/// Rows held in memory before they are encoded and written: a row group.
const ROW_GROUP: usize = 1 << 14;
/// Bytes of a page, which the encoder of a column holds besides.
const PAGE: usize = 64 << 10;

/// Writes one table.
pub struct TableWriter<R> {
    /// Its name in the directory.
    file: String,
    path: PathBuf,
    partial: PathBuf,
    names: Vec<Text>,
    writer: SerializedFileWriter<Keeper<File>>,
    /// Rows not yet encoded.
    rows: Vec<R>,
    /// Why rows could not be encoded.
    broken: Option<ParquetError>,
}

impl<R: Row> TableWriter<R> {
    /// A table called `name` in `directory`, whose names are indices into `names`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(
        directory: &Path,
        name: &str,
        names: &[String],
        metadata: &[(String, String)],
    ) -> Result<TableWriter<R>, TableError> {
        let file = format!("{name}.parquet");
        let (path, partial) = (directory.join(&file), directory.join(format!("{file}.partial")));
        let fail = |cause: Box<dyn std::error::Error + Send + Sync>| TableError { path: path.clone(), cause };
        let fields = R::fields();
        let level = ZstdLevel::try_new(1).map_err(|cause| fail(cause.into()))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_data_page_size_limit(PAGE)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(with_meanings::<R>(metadata)))
            .set_dictionary_enabled(false);
        let properties = fields.iter().fold(properties, |properties, field| encoding(properties, field)).build();
        let opened = File::create(&partial).map_err(|cause| fail(cause.into()))?;
        let writer = SerializedFileWriter::new(Keeper::new(opened), schema(fields), Arc::new(properties))
            .map_err(|cause| fail(cause.into()))?;
        let names = names.iter().map(|name| Text::from(name.as_str())).collect();
        Ok(TableWriter { file, path, partial, names, writer, rows: Vec::new(), broken: None })
    }

    /// Appends a row. What the disk cannot take is kept: [`TableWriter::failure`] reports it.
    #[inline]
    pub fn push(&mut self, row: R) {
        self.rows.push(row);
        if self.rows.len() == ROW_GROUP {
            let encoded = self.encode();
            self.broken = self.broken.take().or(encoded.err());
        }
    }

    /// Why rows could not be written, if they could not.
    pub fn failure(&self) -> Option<String> {
        let full = self.writer.inner().failure().map(ToString::to_string);
        let cause = full.or_else(|| self.broken.as_ref().map(ToString::to_string))?;
        Some(format!("{}: {cause}", self.path.display()))
    }

    /// Encodes the rows held in memory, if there are any.
    fn encode(&mut self) -> Result<(), ParquetError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let written = write_group(&mut self.writer, R::columns(&self.rows, &self.names));
        self.rows.clear();
        written
    }

    /// Completes the file and gives it its name; that name, and what was written. What was kept is written now.
    ///
    /// # Errors
    /// The disk is full, or the file cannot be written for another reason.
    pub fn finish(mut self) -> Result<(String, FileSum), TableError> {
        let path = self.path.clone();
        let fail = |cause: Box<dyn std::error::Error + Send + Sync>| TableError { path: path.clone(), cause };
        let encoded = self.encode();
        if let Some(cause) = self.broken.take().or(encoded.err()) {
            return Err(fail(cause.into()));
        }
        let keeper = self.writer.into_inner().map_err(|cause| fail(cause.into()))?;
        let (_, sum) = keeper.settle().map_err(|cause| fail(cause.into()))?;
        fs::rename(&self.partial, &self.path).map_err(|cause| fail(cause.into()))?;
        Ok((self.file, sum))
    }
}

/// Returns `metadata` with the meaning of every column, a JSON object under the key `columns`.
fn with_meanings<R: Row>(metadata: &[(String, String)]) -> Vec<KeyValue> {
    let meaning = |(column, meaning): &(&str, &str)| ((*column).to_owned(), meaning.trim().into());
    let meanings: serde_json::Map<_, _> = R::MEANINGS.iter().map(meaning).collect();
    let meanings = ("columns".to_owned(), serde_json::Value::from(meanings).to_string());
    metadata.iter().cloned().chain([meanings]).map(|(key, value)| KeyValue::new(key, value)).collect()
}

/// Chooses a column's encoding: of names, a dictionary; of times and small numbers, differences, as neighbours are close; sizes as they
/// are, since they are repeated.
fn encoding(properties: WriterPropertiesBuilder, field: &Type) -> WriterPropertiesBuilder {
    let column = ColumnPath::from(field.name());
    if is_text(field) {
        return properties
            .set_column_dictionary_enabled(column.clone(), true)
            .set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    let is_size = field.get_basic_info().logical_type_ref() == Some(&LogicalType::integer(64, false));
    let is_close = field.is_primitive()
        && !is_size
        && matches!(field.get_physical_type(), PhysicalType::INT32 | PhysicalType::INT64);
    if is_close { properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED) } else { properties }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use temp_dir::TempDir;

    #[test]
    fn columns_have_their_meaning_and_an_encoding_that_suits_them() {
        let directory = TempDir::new().unwrap();
        let names = ["h0".to_owned()];
        let version = [("version".to_owned(), "0".to_owned())];
        let mut table = TableWriter::create(directory.path(), "goodput", &names, &version).unwrap();
        for i in 0..2000 {
            table.push(GoodputRow { time_ps: Time::from_ps(i), tag: Name(0), role: None, delivered_bytes: i % 3 });
        }
        table.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(directory.path().join("goodput.parquet")).unwrap()).unwrap();
        let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().iter();
        let metadata: Vec<_> = pairs.map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap())).collect();
        assert_eq!(metadata[0], ("version", "0"));
        let meanings: serde_json::Value = serde_json::from_str(metadata[1].1).unwrap();
        assert_eq!((metadata[1].0, &meanings["time_ps"]), ("columns", &"time of the sample, ps".into()));
        assert_eq!(meanings.as_object().unwrap().len(), 4);

        let group = &reader.metadata().row_groups()[0];
        let is = |column: usize, encoding| group.column(column).encodings().any(|each| each == encoding);
        let encodings = [Encoding::DELTA_BINARY_PACKED, Encoding::RLE_DICTIONARY];
        let found = [0, 1, 2, 3].map(|column| encodings.map(|encoding| is(column, encoding)));
        // Time, tag, role, bytes.
        assert_eq!(found, [[true, false], [false, true], [false, true], [false, false]]);
        let has_limits = [0, 1, 2, 3].map(|column| group.column(column).statistics().is_some());
        assert_eq!(has_limits, [true, false, false, true]);
    }
}
