//! In-band telemetry: switches stamp time, bytes sent, queue length and rate of the egress port
//! into every data packet (section 4.1 of HPCC's paper).

use crate::contract::{CongestionPoint, HookSet, PacketContext, PipelineHooks, PortFacts, Site, View};
use crate::frame::record::Stamp;
use crate::ids::PortIx;
use backwater_engine::index::IndexVec;
use backwater_engine::{Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Encoding of a port's rate in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum RateCode {
    /// The exact rate.
    #[default]
    Exact,
    /// One of 25, 50, 100, 200 and 400 Gb/s, and 25 Gb/s for any other rate: the HPCC simulator's
    /// table.
    HpccNs3,
}

/// Space for five 8-byte stamps and a 2-byte count (HPCC simulator).
pub const TELEMETRY_BYTES: u32 = 42;

/// Units of the header's fields, per 25 Gb/s of the port: 128 B of bytes sent, 80 B of queue
/// (section 4.1 of HPCC's paper).
const TX_UNIT: u64 = 128;
const QUEUE_UNIT: u64 = 80;
const UNIT_RATE: u64 = 25_000_000_000;

/// Congestion point that stamps time, bytes sent, queue length and rate of the port into every data
/// packet.
#[derive(Debug, GetSize)]
pub struct TelemetryStamper {
    /// Facts by egress port.
    ports: IndexVec<PortIx, StampedPort>,
}

/// Fixed part of a port's stamps.
#[derive(Clone, Copy, Debug, GetSize)]
struct StampedPort {
    /// Unit of the bytes sent.
    tx_unit: u64,
    /// Unit of the queue length.
    queue_unit: u64,
    /// Rate as the header encodes it.
    rate: Rate,
}

impl TelemetryStamper {
    pub(super) fn new(rate_code: RateCode, site: &Site<'_>) -> TelemetryStamper {
        let of_port = |port: &PortFacts| {
            let scale = port.rate.bps().div_ceil(UNIT_RATE);
            StampedPort { tx_unit: TX_UNIT * scale, queue_unit: QUEUE_UNIT * scale, rate: rate_code.of(port.rate) }
        };
        TelemetryStamper { ports: site.ports.iter().map(of_port).collect() }
    }
}

impl RateCode {
    fn of(self, rate: Rate) -> Rate {
        match (self, rate.bps() / 1_000_000) {
            (RateCode::Exact, _) | (_, 50_000 | 100_000 | 200_000 | 400_000) => rate,
            (RateCode::HpccNs3, _) => Rate::from_gbps(25),
        }
    }
}

/// Stamping that an option can switch off.
impl CongestionPoint for Option<TelemetryStamper> {}

impl PipelineHooks for Option<TelemetryStamper> {
    fn hooks(&self) -> HookSet {
        self.as_ref().map_or(HookSet::empty(), PipelineHooks::hooks)
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        if let Some(stamper) = self {
            stamper.on_departure(packet, queue_bytes, view);
        }
    }
}

impl CongestionPoint for TelemetryStamper {}

impl PipelineHooks for TelemetryStamper {
    fn hooks(&self) -> HookSet {
        HookSet::DATA_DEPARTURE
    }

    #[inline]
    fn on_departure(&mut self, packet: &mut PacketContext<'_>, _queue_bytes: u64, view: &mut View<'_>) {
        let (port, StampedPort { tx_unit, queue_unit, rate }) = (view.port(packet.egress), self.ports[packet.egress]);
        let stamp = Stamp {
            time: Time::from_ps(view.now.ps() / 1000 * 1000),
            tx_bytes: port.sent_bytes() / tx_unit * tx_unit,
            queue_bytes: port.backlog() / queue_unit * queue_unit,
            rate,
        };
        packet.telemetry_mut().push(stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::testing::{depart, enqueue, fabric, frame, node_io, star};

    /// Header fields are multiples of their units: nanoseconds, and 128 B and 80 B per 25 Gb/s of
    /// the port.
    #[test]
    fn stamps_are_rounded_as_the_header_is() {
        let mut port = crate::testing::port(100);
        port.start(frame(3, 1500).size, Time::ZERO);
        enqueue(&mut port, 3, 1000, &mut crate::model::fifo::Frames::default());
        let mut node = node_io(vec![crate::testing::port(100), port]);
        let fabric = fabric(star(2));
        let mut stamper = TelemetryStamper::new(RateCode::Exact, &fabric.site(NodeId(2)));
        let (packet, records) = depart(&mut stamper, 1000, Time::from_ps(123_456), &mut node);
        let expected =
            Stamp { time: Time::from_ps(123_000), tx_bytes: 1024, queue_bytes: 960, rate: Rate::from_gbps(100) };
        assert_eq!(records.telemetry(packet.record).unwrap().stamps(), [expected]);
    }

    #[test]
    fn the_simulators_rate_code_takes_unknown_rates_for_25_gbps() {
        for (gbps, coded) in [(25, 25), (50, 50), (100, 100), (200, 200), (400, 400), (10, 25), (40, 25), (800, 25)] {
            assert_eq!(RateCode::HpccNs3.of(Rate::from_gbps(gbps)), Rate::from_gbps(coded));
            assert_eq!(RateCode::Exact.of(Rate::from_gbps(gbps)), Rate::from_gbps(gbps));
        }
    }
}
