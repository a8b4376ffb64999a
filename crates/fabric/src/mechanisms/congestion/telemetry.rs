//! In-band telemetry: switches stamp time, bytes sent, queue length and rate of the egress port
//! into every data packet (section 4.1 of HPCC's paper).

use crate::contract::{CongestionPoint, HookSet, PacketContext, PipelineHooks, View};
use crate::frame::record::Stamp;
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
pub struct TelemetryStamper(RateCode);

impl TelemetryStamper {
    pub(super) fn new(rate_code: RateCode) -> TelemetryStamper {
        TelemetryStamper(rate_code)
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
        let port = view.port(packet.egress);
        let scale = port.rate().bps().div_ceil(UNIT_RATE);
        let floor = |value: u64, unit: u64| value / (unit * scale) * (unit * scale);
        let stamp = Stamp {
            time: Time::from_ps(view.now.ps() / 1000 * 1000),
            tx_bytes: floor(port.sent_bytes(), TX_UNIT),
            queue_bytes: floor(port.backlog(), QUEUE_UNIT),
            rate: self.0.of(port.rate()),
        };
        packet.telemetry_mut().push(stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{depart, enqueue, frame, node_io};

    /// Header fields are multiples of their units: nanoseconds, and 128 B and 80 B per 25 Gb/s of
    /// the port.
    #[test]
    fn stamps_are_rounded_as_the_header_is() {
        let mut port = crate::testing::port(100);
        port.start(&frame(3, 1500), Time::ZERO);
        enqueue(&mut port, 3, 1000, &mut crate::model::fifo::Frames::default());
        let mut node = node_io(vec![crate::testing::port(100), port]);
        let (packet, records) = depart(&mut TelemetryStamper(RateCode::Exact), 1000, Time::from_ps(123_456), &mut node);
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
