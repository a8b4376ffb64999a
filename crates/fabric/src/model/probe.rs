//! Probe of a switch's ingress queues: headroom in use, and bytes that arrive and depart while the
//! upstream is paused.

use crate::contract::need::worst_case;
use crate::contract::{BufferAccounts, PortFacts, Site};
use crate::ids::{CLASSES, Class, ClassMask, NodeId, PortId, PortIx};
use crate::mechanisms::headroom::AnyBufferPolicy;
use backwater_engine::index::IndexVec;
use backwater_engine::{Duration, Time};

/// Interval in which the upstream of an ingress queue was paused, from the creation of the PAUSE to
/// that of the RESUME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Ingress port.
    pub port: PortId,
    /// Class of the queue.
    pub class: Class,
    /// Creation of the PAUSE.
    pub from: Time,
    /// Creation of the RESUME; [`Time::NEVER`] if none was created.
    pub to: Time,
    /// Time after the PAUSE in which arrivals and departures were counted, even after a RESUME: a
    /// round trip on the link, and the time of two full frames. Zero if the window of an earlier
    /// stop of the queue was still open; shorter at the end of the run.
    pub window: Duration,
    /// Bytes that arrived during the window.
    pub arrived: u64,
    /// Bytes that departed during the window.
    pub departed: u64,
    /// Peak headroom of the queue in bytes, or of its port if queues share headroom.
    pub headroom: u64,
    /// Number of paused queues of the port at that peak.
    pub stopped_at_port: u16,
    /// Number of paused queues of the switch at that peak.
    pub stopped_at_switch: u16,
}

/// Local maximum of the headroom in use by all queues of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadroomPeak {
    /// Switch of the maximum.
    pub node: NodeId,
    /// Time of the maximum.
    pub at: Time,
    /// Bytes in use.
    pub headroom: u64,
    /// Number of paused queues at that time.
    pub stopped: u16,
}

/// Probe of one switch.
#[derive(Debug)]
pub(crate) struct IngressProbe {
    node: NodeId,
    lossless: ClassMask,
    ports: IndexVec<PortIx, IngressPort>,
    peaks: Peaks,
    /// Number of paused queues.
    stopped: u16,
    records: IngressRecords,
}

/// Records of a probe since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct IngressRecords {
    pub(crate) stops: Vec<Stop>,
    pub(crate) peaks: Vec<HeadroomPeak>,
}

#[derive(Debug)]
struct IngressPort {
    id: PortId,
    /// Window of a stop: a round trip on the link, and the time of two full frames. Mostly, the
    /// last packet that the peer sent before it stopped has then arrived.
    window: Duration,
    stopped: ClassMask,
    queues: [IngressQueue; CLASSES],
}

#[derive(Clone, Copy, Debug, Default)]
struct IngressQueue {
    /// Stop without a RESUME so far.
    stop: Option<Stop>,
    /// Stop with a RESUME whose window is still open.
    ended: Option<Stop>,
    /// Bytes counted in the open window of `ended`, or else of `stop`.
    count: Option<Count>,
    /// Time of the last arrival, and the headroom in use then. This headroom counts for a PAUSE at
    /// that time, even if the packet that triggered the PAUSE departs at once.
    arrival: (Time, u64),
}

#[derive(Clone, Copy, Debug)]
struct Count {
    until: Time,
    arrived: u64,
    departed: u64,
}

impl IngressQueue {
    /// Closes the window if it is over. Returns the stop that is then complete.
    fn close(&mut self, now: Time) -> Option<Stop> {
        let count = self.count.take_if(|count| count.until < now)?;
        let stop = self.ended.as_mut().or(self.stop.as_mut())?;
        (stop.arrived, stop.departed) = (count.arrived, count.departed);
        self.ended.take()
    }
}

impl IngressProbe {
    pub(crate) fn new(site: &Site<'_>) -> IngressProbe {
        let frame = site.sizes.largest_charge();
        let port = |port: &PortFacts| IngressPort {
            id: port.id,
            window: port.delay * 2 + port.rate.time_for(2 * frame),
            stopped: ClassMask::NONE,
            queues: [IngressQueue::default(); CLASSES],
        };
        let prominence = site.ports.iter().map(|port| worst_case(site, port)).min().unwrap_or(0);
        IngressProbe {
            node: site.node,
            lossless: site.lossless,
            ports: site.ports.iter().map(port).collect(),
            peaks: Peaks { prominence, ..Peaks::default() },
            stopped: 0,
            records: IngressRecords::default(),
        }
    }

    /// Counts a packet that was admitted.
    pub(crate) fn on_arrival(
        &mut self,
        ingress: PortIx,
        class: Class,
        bytes: u64,
        buffer: &AnyBufferPolicy,
        now: Time,
    ) {
        self.close(ingress, class, now);
        let queue = &mut self.ports[ingress].queues[class.index()];
        if let Some(count) = &mut queue.count {
            count.arrived += bytes;
        }
        queue.arrival = (now, buffer.headroom(ingress, class));
        self.update_peaks(ingress, class, buffer, now);
    }

    /// Counts a packet that departed.
    pub(crate) fn on_departure(
        &mut self,
        ingress: PortIx,
        class: Class,
        bytes: u64,
        buffer: &AnyBufferPolicy,
        now: Time,
    ) {
        self.close(ingress, class, now);
        let queue = &mut self.ports[ingress].queues[class.index()];
        if let Some(count) = &mut queue.count {
            count.departed += bytes;
        }
        self.update_peaks(ingress, class, buffer, now);
    }

    /// A frame that will leave through `port` pauses or resumes `classes` upstream.
    pub(crate) fn on_pause_sent(
        &mut self,
        port: PortIx,
        classes: ClassMask,
        stop: bool,
        buffer: &AnyBufferPolicy,
        now: Time,
    ) {
        let ingress = &mut self.ports[port];
        let classes = classes.and(self.lossless);
        let before = ingress.stopped;
        ingress.stopped = if stop { before.or(classes) } else { before.minus(classes) };
        let (begun, ended) = (ingress.stopped.minus(before), before.minus(ingress.stopped));
        for class in ended.iter() {
            let queue = &mut ingress.queues[class.index()];
            self.records.stops.extend(queue.close(now));
            let Some(stop) = queue.stop.take().map(|stop| Stop { to: now, ..stop }) else { continue };
            let is_counted = stop.window > Duration::ZERO && queue.count.is_some();
            if is_counted { queue.ended = Some(stop) } else { self.records.stops.push(stop) }
        }
        self.stopped = self.stopped + begun.iter().count() as u16 - ended.iter().count() as u16;
        for class in begun.iter() {
            let queue = &mut ingress.queues[class.index()];
            self.records.stops.extend(queue.close(now));
            let window = if queue.count.is_none() { ingress.window } else { Duration::ZERO };
            queue.count.get_or_insert(Count { until: now + window, arrived: 0, departed: 0 });
            let (at, headroom) = queue.arrival;
            queue.stop = Some(Stop {
                port: ingress.id,
                class,
                from: now,
                to: Time::NEVER,
                window,
                arrived: 0,
                departed: 0,
                headroom: if at == now { headroom } else { buffer.headroom(port, class) },
                stopped_at_port: ingress.stopped.iter().count() as u16,
                stopped_at_switch: self.stopped,
            });
        }
    }

    /// Takes the records that are complete by `now`.
    pub(crate) fn take_records(&mut self, now: Time) -> IngressRecords {
        let queues = self.ports.iter_mut().flat_map(|port| &mut port.queues);
        self.records.stops.extend(queues.filter_map(|queue| queue.close(now)));
        std::mem::take(&mut self.records)
    }

    /// Returns the incomplete stops as of `now`.
    pub(crate) fn open_stops(&self, now: Time) -> impl Iterator<Item = Stop> {
        let queues = self.ports.iter().flat_map(|port| port.queues);
        queues.flat_map(move |mut queue| {
            if let Some(count) = queue.count.take()
                && let Some(stop) = queue.ended.as_mut().or(queue.stop.as_mut())
            {
                stop.window = stop.window.min(now.since(stop.from));
                (stop.arrived, stop.departed) = (count.arrived, count.departed);
            }
            queue.ended.into_iter().chain(queue.stop)
        })
    }

    fn close(&mut self, ingress: PortIx, class: Class, now: Time) {
        let queue = &mut self.ports[ingress].queues[class.index()];
        self.records.stops.extend(queue.close(now));
    }

    /// Updates the peak headroom of a queue and of the switch.
    fn update_peaks(&mut self, ingress: PortIx, class: Class, buffer: &AnyBufferPolicy, now: Time) {
        let stopped = self.stopped;
        let port = &mut self.ports[ingress];
        if let Some(stop) = &mut port.queues[class.index()].stop {
            let headroom = buffer.headroom(ingress, class);
            if headroom > stop.headroom {
                stop.headroom = headroom;
                stop.stopped_at_port = port.stopped.iter().count() as u16;
                stop.stopped_at_switch = stopped;
            }
        }
        let node = self.node;
        let peak = self.peaks.next(buffer.occupancy().headroom, (now, stopped));
        self.records.peaks.extend(peak.map(|(headroom, (at, stopped))| HeadroomPeak { node, at, headroom, stopped }));
    }
}

/// Finds local maxima of a varying number. A maximum counts if the number then falls by
/// `prominence`, or to zero, before it exceeds the maximum.
#[derive(Debug, Default)]
struct Peaks {
    prominence: u64,
    /// Highest value since the last rise, with its context; `None` while the number falls.
    high: Option<(u64, (Time, u16))>,
    /// Lowest value since the last fall.
    low: u64,
}

impl Peaks {
    /// Adds `value`. Returns the latest maximum as soon as it is certain.
    fn next(&mut self, value: u64, context: (Time, u16)) -> Option<(u64, (Time, u16))> {
        match self.high {
            Some((high, _)) if value > high => {
                self.high = Some((value, context));
                None
            }
            Some((high, _)) if value == 0 || value + self.prominence <= high => {
                self.low = value;
                self.high.take()
            }
            Some(_) => None,
            None => {
                self.low = self.low.min(value);
                if value > 0 && (self.low == 0 || value >= self.low + self.prominence) {
                    self.high = Some((value, context));
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_counts_if_the_number_then_falls_by_the_prominence_or_to_zero() {
        let mut peaks = Peaks { prominence: 10, ..Peaks::default() };
        let numbers = [0, 3, 2, 5, 0, 1, 20, 15, 22, 12, 14, 11, 21, 13, 25, 15, 17, 5, 0, 0, 4];
        let found: Vec<u64> = (0..)
            .zip(numbers)
            .filter_map(|(at, number)| peaks.next(number, (Time::from_ps(at), 0)))
            .map(|(value, _)| value)
            .collect();
        assert_eq!(found, [5, 22, 25]);
    }
}
