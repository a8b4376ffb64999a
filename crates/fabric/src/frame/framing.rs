//! Sizes of frames on the wire and in buffers.

use backwater_engine::units::ByteTime;
use backwater_engine::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Headers of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// Real RoCEv2 over Ethernet: preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16 on a
    /// flow's first packet, AETH 4 on ACKs, ICRC 4, FCS 4, gap 12; at least 64 B from Ethernet
    /// header to FCS. Buffers are charged without preamble and gap.
    #[default]
    Rocev2,
    /// Sizes of the HPCC family of ns-3 simulators: 48 B of headers on data, 60 B ACKs, 43 B PFC
    /// frames, no preamble, no gap. Serialisation and pacing times are cut to whole nanoseconds, as
    /// in these simulators.
    HpccNs3,
    /// Sizes of the simulator of Pyrrha's authors: 76 B of headers on data, 84 B ACKs and 70 B
    /// PAUSEs, preamble and gap included. Buffers are charged the same bytes.
    PyrrhaNs3,
}

/// Sizes of one frame in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSize {
    /// Bytes on the wire, preamble and gap included. They take serialisation time.
    pub wire: u16,
    /// Bytes that buffers, counters, ECN and INT count.
    pub charge: u16,
}

const ETHERNET: u32 = 14 + 4;
const PREAMBLE_AND_GAP: u32 = 8 + 12;
const MINIMUM: u32 = 64;
const IPV4_UDP: u32 = 20 + 8;
const BTH_ICRC: u32 = 12 + 4;
const RETH: u32 = 16;
const AETH: u32 = 4;
/// Reserved bytes of a CNP after its BTH.
const CNP_RESERVED: u32 = 16;

impl Framing {
    /// Returns the size of a data frame of `payload` bytes. `first` marks the flow's first packet;
    /// `telemetry` is the size of in-band headers.
    pub fn data(self, payload: u32, first: bool, telemetry: u32) -> FrameSize {
        match self {
            Framing::Rocev2 => {
                let reth = if first { RETH } else { 0 };
                ethernet(IPV4_UDP + BTH_ICRC + reth + telemetry + payload)
            }
            Framing::HpccNs3 => bare(48 + telemetry + payload),
            Framing::PyrrhaNs3 => bare(76 + telemetry + payload),
        }
    }

    /// Returns the wire bytes of all packets of a message, without telemetry. The message has at
    /// least one byte.
    pub fn message(self, bytes: u64, mtu: u64) -> u64 {
        let packets = bytes.div_ceil(mtu);
        let wire = |payload: u64, is_first: bool| u64::from(self.data(payload as u32, is_first, 0).wire);
        let last = bytes - (packets - 1) * mtu;
        match packets {
            1 => wire(last, true),
            _ => wire(mtu, true) + (packets - 2) * wire(mtu, false) + wire(last, false),
        }
    }

    /// Returns the size of an ACK or NACK that echoes `telemetry` bytes of in-band headers.
    pub fn ack(self, telemetry: u32) -> FrameSize {
        match self {
            Framing::Rocev2 => ethernet(IPV4_UDP + BTH_ICRC + AETH + telemetry),
            // An ACK has 14 B of Ethernet, 20 B of IP, 12 B of its own and the echo, padded to 60
            // B.
            Framing::HpccNs3 => bare((46 + telemetry).max(60)),
            Framing::PyrrhaNs3 => bare(84 + telemetry),
        }
    }

    /// Returns the size of a congestion notification packet.
    pub fn cnp(self) -> FrameSize {
        match self {
            Framing::Rocev2 => ethernet(IPV4_UDP + BTH_ICRC + CNP_RESERVED),
            Framing::HpccNs3 => bare(60),
            Framing::PyrrhaNs3 => bare(84),
        }
    }

    /// Returns the size of a switch's notice: the smallest Ethernet frame, as for congestion
    /// notification messages (IEEE 802.1Qau).
    pub fn notice(self) -> FrameSize {
        match self {
            Framing::Rocev2 => ethernet(0),
            Framing::HpccNs3 => bare(60),
            Framing::PyrrhaNs3 => bare(84),
        }
    }

    /// Returns the size of a link-local control frame, such as PFC.
    pub fn control(self) -> FrameSize {
        match self {
            Framing::Rocev2 => ethernet(0),
            Framing::HpccNs3 => bare(43),
            Framing::PyrrhaNs3 => bare(70),
        }
    }

    /// Returns the resolution of the senders' clock.
    fn tick(self) -> Duration {
        match self {
            Framing::Rocev2 | Framing::PyrrhaNs3 => Duration::from_ps(1),
            Framing::HpccNs3 => Duration::from_ns(1),
        }
    }

    /// Returns the serialisation time of a byte on a link of `rate`.
    pub fn byte_time(self, rate: Rate) -> ByteTime {
        ByteTime::with_tick(rate, self.tick())
    }

    /// Returns the largest factor by which frames pass faster than the link rate, because
    /// serialisation times are cut to whole ticks: a frame of `t` ticks has fewer bytes than the
    /// link carries in `t + 1` ticks. The factor is a fraction of at least 1; `None` if a frame may
    /// take no time at all.
    pub fn rate_excess(self, rate: Rate, telemetry: u32) -> Option<[u64; 2]> {
        match self {
            Framing::Rocev2 | Framing::PyrrhaNs3 => Some([1, 1]),
            Framing::HpccNs3 => {
                let smallest = self.data(1, false, telemetry).wire.min(self.ack(telemetry).wire);
                let ticks = self.byte_time(rate).times(smallest.into()).ps() / self.tick().ps();
                (ticks > 0).then_some([ticks + 1, ticks])
            }
        }
    }

    /// Returns the time from the start of a packet of `bytes` to the start of the next packet, in a
    /// flow paced at `rate`.
    pub fn pace(self, rate: Rate, bytes: u64) -> Duration {
        let (time, tick) = (rate.time_for(bytes), self.tick().ps());
        if tick == 1 { time } else { Duration::from_ps(time.ps() / tick * tick) }
    }

    /// Returns the size of the largest data frame with `mtu` payload bytes per packet.
    pub fn largest(self, mtu: u32, telemetry: u32) -> FrameSize {
        self.data(mtu, true, telemetry)
    }
}

fn ethernet(body: u32) -> FrameSize {
    let charge = (ETHERNET + body).max(MINIMUM);
    FrameSize { wire: (charge + PREAMBLE_AND_GAP) as u16, charge: charge as u16 }
}

fn bare(size: u32) -> FrameSize {
    FrameSize { wire: size as u16, charge: size as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rocev2_sizes_are_those_of_the_standards() {
        // A frame is charged 14 + 20 + 8 + 12 + 1024 + 4 + 4 B, and has 20 B more on the wire.
        assert_eq!(Framing::Rocev2.data(1024, false, 0), FrameSize { wire: 1106, charge: 1086 });
        assert_eq!(Framing::Rocev2.data(1024, true, 0).charge, 1102);
        assert_eq!(Framing::Rocev2.data(1, false, 0), FrameSize { wire: 84, charge: 64 });
        assert_eq!(Framing::Rocev2.ack(0), FrameSize { wire: 86, charge: 66 });
        assert_eq!(Framing::Rocev2.cnp(), FrameSize { wire: 98, charge: 78 });
        assert_eq!(Framing::Rocev2.control(), FrameSize { wire: 84, charge: 64 });
    }

    /// A packet of one byte has 49 B with headers. At 100 Gb/s it takes 3 ns, the time of 37.5 B;
    /// at 400 Gb/s it takes no time.
    #[test]
    fn frames_that_are_cut_to_whole_nanoseconds_pass_faster_than_the_link() {
        let rate_excess = |gbps, telemetry| Framing::HpccNs3.rate_excess(Rate::from_gbps(gbps), telemetry);
        assert_eq!(
            [10, 100, 200, 400].map(|gbps| rate_excess(gbps, 0)),
            [Some([40, 39]), Some([4, 3]), Some([2, 1]), None]
        );
        assert_eq!(rate_excess(100, 42), Some([8, 7]));
        assert_eq!(Framing::Rocev2.rate_excess(Rate::from_gbps(1600), 0), Some([1, 1]));
        for (wire, gbps) in (49..1000).flat_map(|wire| [10, 25, 40, 100, 200].map(|gbps| (wire, gbps))) {
            let [fast, slow] = rate_excess(gbps, 0).unwrap();
            let time = Framing::HpccNs3.byte_time(Rate::from_gbps(gbps)).times(wire).ps();
            assert!(u64::from(wire) * 8 * 1000 * slow <= time * gbps * fast, "{wire} B at {gbps} Gb/s");
        }
    }

    #[test]
    fn hpcc_ns3_sizes_are_those_of_that_simulator() {
        assert_eq!(Framing::HpccNs3.data(952, true, 0).wire, 1000);
        assert_eq!(Framing::HpccNs3.data(910, false, 42).wire, 1000);
        assert_eq!(Framing::HpccNs3.ack(0).wire, 60);
        assert_eq!(Framing::HpccNs3.control().wire, 43);
    }

    #[test]
    fn pyrrha_ns3_sizes_are_those_of_that_simulator() {
        let same = |size: u16| FrameSize { wire: size, charge: size };
        assert_eq!(Framing::PyrrhaNs3.data(1460, true, 0), same(1536));
        assert_eq!(Framing::PyrrhaNs3.data(1, false, 42), same(119));
        let [ack, cnp, notice] = [Framing::PyrrhaNs3.ack(0), Framing::PyrrhaNs3.cnp(), Framing::PyrrhaNs3.notice()];
        assert_eq!([ack, cnp, notice], [same(84); 3]);
        assert_eq!(Framing::PyrrhaNs3.control(), same(70));
        assert_eq!(Framing::PyrrhaNs3.byte_time(Rate::from_gbps(400)).times(84).ps(), 1680);
    }
}
