//! Execution of the operations of one rank.

use crate::matching::Receives;
use crate::operation::{After, Matching, Operation, OperationIx, Operations, Rank, StreamIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// Message that a rank sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Operation that ends when the message is acknowledged.
    pub operation: OperationIx,
    /// Receiver.
    pub to: Rank,
    /// Payload bytes.
    pub bytes: u64,
    /// Tag for the receiver.
    pub tag: u64,
    /// Channel.
    pub channel: u32,
}

/// Start and end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Operation.
    pub operation: OperationIx,
    /// Start: see [`Operation`]. A receive under [`Matching::Operation`] starts with its message.
    pub start: Time,
    /// End.
    pub end: Time,
}

/// Start and end of an iteration at one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Number of the iteration, from 0.
    pub number: u32,
    /// End of the computation before the iteration.
    pub start: Time,
    /// Time at which the rank has all messages of the iteration, and has posted all of its own.
    pub end: Time,
}

/// Operations and iterations of a rank that ended since the last report.
#[derive(Debug, Default)]
pub struct Report {
    /// Operations in order of their ends, if they are recorded.
    pub executed: Vec<Executed>,
    /// Iterations in order.
    pub iterations: Vec<Iteration>,
}

/// State of one rank.
#[derive(Debug)]
pub struct RankState {
    operations: Arc<dyn Operations>,
    rank: Rank,
    /// Number of operations that have not ended.
    left: u64,
    /// Events that operations still wait for, if some of their events have occurred.
    unmet: FxHashMap<OperationIx, u32>,
    /// Events of operations whose consequences are pending, in order.
    events: VecDeque<(OperationIx, After)>,
    streams: BTreeMap<StreamIx, Stream>,
    /// True if a stream runs any number of computations at once.
    is_unlimited: bool,
    /// Ends of computations.
    ends: BinaryHeap<Reverse<(Time, OperationIx)>>,
    receives: Receives,
    /// Starts of the operations that have not ended, if operations are recorded.
    starts: Option<FxHashMap<OperationIx, Time>>,
    /// Iteration that has begun, and its start.
    iteration: Option<(u32, Time)>,
    report: Report,
}

/// Stream of a rank.
#[derive(Debug, Default)]
struct Stream {
    is_busy: bool,
    /// Computations that wait for the stream, by the time at which they became ready.
    waiting: BinaryHeap<Reverse<(Time, OperationIx)>>,
}

impl RankState {
    /// Creates the state of a rank that has not started. With `records`, starts and ends of
    /// operations are reported.
    pub fn new(operations: Arc<dyn Operations>, rank: Rank, records: bool) -> RankState {
        RankState {
            left: operations.count(rank),
            operations,
            rank,
            unmet: FxHashMap::default(),
            events: VecDeque::new(),
            streams: BTreeMap::new(),
            is_unlimited: false,
            ends: BinaryHeap::new(),
            receives: Receives::default(),
            starts: records.then(FxHashMap::default),
            iteration: None,
            report: Report::default(),
        }
    }

    /// Creates the state of a rank whose streams run any number of computations at once.
    pub fn unlimited(operations: Arc<dyn Operations>, rank: Rank) -> RankState {
        RankState { is_unlimited: true, ..RankState::new(operations, rank, false) }
    }

    /// Starts the operations that wait for nothing.
    pub fn start(&mut self, now: Time, sends: &mut Vec<Sending>) {
        let mut first = Vec::new();
        self.operations.visit_first(self.rank, &mut |operation| first.push(operation));
        self.iteration = self.operations.iterations().is_none().then_some((0, now));
        for operation in first {
            self.make_ready(operation, now, sends);
        }
        self.settle(now, sends);
        self.end_if_done(now);
    }

    /// Ends the only iteration of listed operations after the last operation.
    fn end_if_done(&mut self, now: Time) {
        if self.left == 0
            && let Some((number, start)) = self.iteration.take()
        {
            self.report.iterations.push(Iteration { number, start, end: now });
        }
    }

    /// A message arrived.
    pub fn on_received(&mut self, from: Rank, tag: u64, now: Time, sends: &mut Vec<Sending>) {
        let receive = match self.operations.matching() {
            Matching::Operation => {
                self.record_start(OperationIx(tag), now);
                Some(OperationIx(tag))
            }
            Matching::Tag => self.receives.arrive(from, tag),
        };
        if let Some(receive) = receive {
            self.end(receive, now);
            self.settle(now, sends);
            self.end_if_done(now);
        }
    }

    /// The message of a send is acknowledged.
    pub fn on_acknowledged(&mut self, operation: OperationIx, now: Time, sends: &mut Vec<Sending>) {
        self.end(operation, now);
        self.settle(now, sends);
        self.end_if_done(now);
    }

    /// Ends the computations that are due.
    pub fn on_timer(&mut self, now: Time, sends: &mut Vec<Sending>) {
        while let Some(Reverse((at, operation))) = self.ends.peek().copied()
            && at <= now
        {
            self.ends.pop();
            let Operation::Compute { stream, .. } = self.operations.get(self.rank, operation) else {
                unreachable!("only computations have a known end")
            };
            self.streams.entry(stream).or_default().is_busy = false;
            self.end(operation, now);
            self.settle(now, sends);
            self.run_stream(stream, now);
            self.settle(now, sends);
        }
        self.end_if_done(now);
    }

    /// Returns the end of the first computation that runs; [`Time::NEVER`] if none runs.
    pub fn wake_at(&self) -> Time {
        self.ends.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Returns true if all operations have ended.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Returns the number of operations that have not ended.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the receives that have started and wait for messages.
    pub fn waiting(&self) -> Vec<OperationIx> {
        self.receives.waiting()
    }

    /// Returns the computations that run, in order of their ends.
    pub fn computing(&self) -> Vec<OperationIx> {
        let mut ends: Vec<(Time, OperationIx)> = self.ends.iter().map(|Reverse(end)| *end).collect();
        ends.sort_unstable();
        ends.into_iter().map(|(_, operation)| operation).collect()
    }

    /// Returns the rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Takes what has been reported since the last call.
    pub fn take_report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }

    /// Returns the iteration that has begun and not ended, and its start.
    pub fn iteration(&self) -> Option<(u32, Time)> {
        self.iteration
    }

    /// Handles the consequences of events until none is left.
    fn settle(&mut self, now: Time, sends: &mut Vec<Sending>) {
        while let Some((operation, after)) = self.events.pop_front() {
            let RankState { operations, rank, unmet, .. } = self;
            let mut ready = Vec::new();
            operations.visit_dependents(*rank, operation, after, &mut |dependent| {
                let left = unmet.entry(dependent).or_insert_with(|| operations.prerequisites(*rank, dependent));
                *left -= 1;
                if *left == 0 {
                    unmet.remove(&dependent);
                    ready.push(dependent);
                }
            });
            for dependent in ready {
                self.make_ready(dependent, now, sends);
            }
        }
    }

    /// Starts an operation whose prerequisites have occurred, or queues it for its stream.
    fn make_ready(&mut self, operation: OperationIx, now: Time, sends: &mut Vec<Sending>) {
        if let Some(next) = self.operations.begins(self.rank, operation)
            && let Some((number, start)) = self.iteration.take()
        {
            debug_assert_eq!(number + 1, next);
            self.report.iterations.push(Iteration { number, start, end: now });
        }
        match self.operations.get(self.rank, operation) {
            Operation::Compute { stream, .. } => {
                self.streams.entry(stream).or_default().waiting.push(Reverse((now, operation)));
                self.run_stream(stream, now);
            }
            Operation::Send { to, bytes, tag, channel } => {
                self.begin(operation, now);
                sends.push(Sending { operation, to, bytes, tag, channel });
            }
            Operation::Receive { from, tag } => {
                self.begin(operation, now);
                if self.receives.start(operation, from, tag) {
                    self.end(operation, now);
                }
            }
        }
    }

    /// Starts the next computation of a stream, if the stream is free.
    fn run_stream(&mut self, stream: StreamIx, now: Time) {
        loop {
            let lane = self.streams.entry(stream).or_default();
            if lane.is_busy {
                return;
            }
            let Some(Reverse((_, operation))) = lane.waiting.pop() else { return };
            let Operation::Compute { length, .. } = self.operations.get(self.rank, operation) else {
                unreachable!("streams run computations")
            };
            lane.is_busy = length > Duration::ZERO && !self.is_unlimited;
            self.begin(operation, now);
            if length > Duration::ZERO {
                self.ends.push(Reverse((now + length, operation)));
            } else {
                self.end(operation, now);
            }
        }
    }

    fn begin(&mut self, operation: OperationIx, now: Time) {
        self.record_start(operation, now);
        self.events.push_back((operation, After::Start));
    }

    fn record_start(&mut self, operation: OperationIx, now: Time) {
        if let Some(starts) = &mut self.starts {
            starts.insert(operation, now);
        }
    }

    fn end(&mut self, operation: OperationIx, now: Time) {
        self.left -= 1;
        self.events.push_back((operation, After::End));
        if let Some(number) = self.operations.begins(self.rank, operation) {
            let is_last = self.operations.iterations() == Some(number);
            self.iteration = (!is_last).then_some((number, now));
        }
        if let Some(start) = self.starts.as_mut().and_then(|starts| starts.remove(&operation)) {
            self.report.executed.push(Executed { operation, start, end: now });
        }
    }
}

impl HeapBytes for RankState {
    fn heap_bytes(&self) -> u64 {
        let map = |entries: usize, size: usize| (entries * size) as u64;
        let unmet = map(self.unmet.capacity(), size_of::<(OperationIx, u32)>());
        let starts = self.starts.as_ref().map_or(0, |it| map(it.capacity(), size_of::<(OperationIx, Time)>()));
        let receives = self.receives.heap_bytes();
        let report = self.report.executed.heap_bytes() + self.report.iterations.heap_bytes();
        unmet + starts + receives + report + self.events.heap_bytes() + self.ends.heap_bytes()
    }
}
