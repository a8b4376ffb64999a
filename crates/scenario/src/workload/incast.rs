//! Incast: bursts of flows to one receiver.

use super::part::{Part, Scene};
use super::sizes::{Distribution, bytes, round};
use super::{Arrivals, IncastConfig, Pick};
use crate::topology::BuildError;
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use backwater_fabric::ids::NodeId;

/// Whom the senders of a burst are drawn from.
struct Senders {
    hosts: Vec<NodeId>,
    racks: Racks,
}

enum Racks {
    Any,
    Same,
    Other,
}

impl Senders {
    /// The hosts that may send to `receiver`.
    fn to(&self, receiver: NodeId, scene: &Scene) -> impl Iterator<Item = NodeId> {
        let near = move |host| scene.rack(host) == scene.rack(receiver);
        self.hosts.iter().copied().filter(move |&host| {
            host != receiver
                && match self.racks {
                    Racks::Any => true,
                    Racks::Same => near(host),
                    Racks::Other => !near(host),
                }
        })
    }
}

/// Bytes of the flows of a burst.
enum Load {
    Each(Distribution),
    Total(u64),
}

impl IncastConfig {
    pub(super) fn generate(&self, part: &mut Part) -> Option<()> {
        let receivers = part.hosts(".receivers", self.receivers.as_ref());
        let senders = self.senders(part);
        let load = self.burst_load(part);
        if self.degree == 0 {
            part.refuse(".degree", "is 0, must be at least 1".into());
        }
        if self.bursts == Some(0) {
            part.refuse(".bursts", "is 0, must be at least 1".into());
        }
        let repeats = self.period.is_some() || self.load.is_some();
        if self.period.is_some() && self.load.is_some() {
            part.refuse(".load", "goes without `period`: either gives the other".into());
        }
        if self.bursts.is_some_and(|bursts| bursts > 1) && !repeats {
            part.refuse(".bursts", "needs `period` or `load`".into());
        }
        if self.arrivals == Arrivals::Poisson && !repeats {
            part.refuse(".arrivals", "is \"poisson\", which needs `period` or `load`".into());
        }
        if self.period == Some(Duration::ZERO) {
            part.refuse(".period", "is 0 s, must be longer".into());
        }
        if let Some(load) = self.load {
            part.check_load(load, "the receivers cannot take more than their links carry");
        }
        part.sound()?;
        let (receivers, senders, load) = (receivers?, senders?, load?);
        for &receiver in &receivers {
            if senders.to(receiver, part.scene).next().is_none() {
                let name = part.scene.graph.name(receiver);
                part.refuse(".senders", format!("no host is left to send to \"{name}\""));
            }
        }
        let mean = self.mean(&load);
        let capacity: f64 = receivers.iter().map(|&host| part.scene.graph.host_rate(host).bps() as f64).sum();
        // Mean picoseconds between bursts; `None` for a single burst.
        let from_load = self.load.map(|load| mean * 8e12 / (load * capacity));
        let period = self.period.map(|period| period.ps() as f64).or(from_load);
        let most = f64::from(self.bursts.unwrap_or(u32::MAX));
        let expected = period.map_or(1.0, |period| (part.length().ps() as f64 / period).ceil().min(most));
        part.check_count(expected * f64::from(self.degree));
        self.report(part, &receivers, mean, period.map(|period| (period, mean * 8e12 / period / capacity)), expected);
        part.sound()?;

        let (mut choices, mut picks) = (part.stream("receivers"), part.stream("senders"));
        let (mut draws, mut jitters) = (part.stream("sizes"), part.stream("jitter"));
        for burst in self.times(part, period) {
            let receiver = receivers[choices.below(receivers.len() as u64) as usize];
            let mut pool: Vec<NodeId> = senders.to(receiver, part.scene).collect();
            for i in 0..self.degree {
                let sender = self.pick(&mut pool, i as usize, &mut picks);
                let bytes = match &load {
                    Load::Each(sizes) => sizes.sample(&mut draws),
                    Load::Total(total) => {
                        let degree = u64::from(self.degree);
                        total / degree + u64::from(u64::from(i) < total % degree)
                    }
                };
                let jitter = if self.jitter == Duration::ZERO { 0 } else { jitters.below(self.jitter.ps()) };
                part.push(part.flow(sender, receiver, bytes, burst + Duration::from_ps(jitter)));
            }
        }
        Some(())
    }

    fn senders(&self, part: &mut Part) -> Option<Senders> {
        let scene = part.scene;
        let mut racks = scene.graph.hosts().map(|host| scene.rack(host));
        let several = racks.next().is_some_and(|first| racks.any(|rack| rack != first));
        let (list, racks) = match &self.senders {
            None if several => (None, Racks::Other),
            None => (None, Racks::Any),
            Some(list) if list.is("other-racks") => (None, Racks::Other),
            Some(list) if list.is("same-rack") => (None, Racks::Same),
            Some(list) if list.is("any") => (None, Racks::Any),
            Some(list) => (Some(list), Racks::Any),
        };
        part.hosts(".senders", list).map(|hosts| Senders { hosts, racks })
    }

    fn burst_load(&self, part: &mut Part) -> Option<Load> {
        match (&self.size, self.total) {
            (Some(size), None) => part.sizes(".size", size).map(|(_, sizes)| Load::Each(sizes)),
            (None, Some(total)) if total.get() < u64::from(self.degree) => {
                part.refuse(".total", format!("is {total}, must give each of the {} flows at least 1 B", self.degree));
                None
            }
            (None, Some(total)) => Some(Load::Total(total.get())),
            _ => {
                part.refuse(".size", "give either `size` or `total`".into());
                None
            }
        }
    }

    /// Mean bytes of a burst.
    fn mean(&self, load: &Load) -> f64 {
        match load {
            Load::Each(sizes) => sizes.mean() * f64::from(self.degree),
            Load::Total(total) => *total as f64,
        }
    }

    /// When bursts begin.
    fn times(&self, part: &Part, period: Option<f64>) -> Vec<Time> {
        let Some(period) = period else { return vec![part.window.start] };
        let mut gaps = part.stream("arrivals");
        let mut time = part.window.start;
        if self.arrivals == Arrivals::Poisson {
            time += gaps.exponential(period);
        }
        let most = self.bursts.map_or(usize::MAX, |bursts| bursts as usize);
        let mut times = Vec::new();
        while time < part.window.end && times.len() < most {
            times.push(time);
            time = match self.arrivals {
                Arrivals::Periodic => {
                    part.window.start + Duration::from_ps((times.len() as f64 * period).round() as u64)
                }
                Arrivals::Poisson => time + gaps.exponential(period),
            };
        }
        times
    }

    /// The sender of flow `i` of a burst. `Even` goes through `pool` in a fresh random order each time round.
    fn pick(&self, pool: &mut [NodeId], i: usize, stream: &mut Stream) -> NodeId {
        let count = pool.len();
        match self.pick {
            Pick::Uniform => pool[stream.below(count as u64) as usize],
            Pick::Even => {
                let done = i % count;
                pool.swap(done, done + stream.below((count - done) as u64) as usize);
                pool[done]
            }
        }
    }

    /// Notes on what is offered; `offered` is the mean time between bursts and the load, if there are several.
    fn report(&self, part: &mut Part, receivers: &[NodeId], mean: f64, offered: Option<(f64, f64)>, expected: f64) {
        let degree = self.degree;
        let to = match receivers {
            [one] => format!("\"{}\"", part.scene.graph.name(*one)),
            _ => format!("one of {} hosts", receivers.len()),
        };
        let each = format!("bursts of {degree} flows, {} in all, to {to}", bytes(mean));
        let Some((period, load)) = offered else { return part.note(format!("1 of {each}")) };
        let (every, load) = (round(period * 1e-6, 3), round(load, 3));
        part.note(format!("{each} every {every} us, about {expected:.0} of them; load {load} of the receivers' links"));
        if load > 1.0 && self.bursts.is_none() {
            let message = format!("asks for {load} times what the receivers' links carry");
            let hint = "lengthen it, or limit the number of `bursts`";
            part.error(BuildError::new(part.field(".period"), message).hint(hint));
        }
    }
}
