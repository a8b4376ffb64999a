/**
 * What a run holds, as the views see it. Times are picoseconds since the start of the run, exact up to 2^53 (150 minutes); sizes are bytes.
 * Ports and nodes go by their index: nodes in the order of `topology.json`, ports node by node in the order of their numbers.
 */

export type NodeKind = "host" | "relay" | "switch";

export interface Node {
  index: number;
  name: string;
  kind: NodeKind;
  /** Links to the nearest host. */
  layer: number;
  /** Index of its first port; the others follow. */
  firstPort: number;
  portCount: number;
}

/** An egress port, and the direction of its link that begins there. */
export interface Port {
  index: number;
  node: number;
  /** Its number at its node. */
  number: number;
  /** As people name it: `leaf1:0`, or `leaf1:Ethernet0`. */
  name: string;
  /** The node at the other end. */
  peer: number;
  /** The port at the other end. */
  peerPort: number;
  link: number;
  rateBps: number;
  delayPs: number;
}

export interface Link {
  index: number;
  /** Its two ports. */
  a: number;
  b: number;
  rateBps: number;
  delayPs: number;
  /** When it is down: from, until (end of the run if it does not come back). */
  down: [number, number][];
}

/** An interval in which an egress queue was paused: a row of `pauses.parquet`. */
export interface Pause {
  /** The paused egress port and its queue; those below 8 go by their class. */
  port: number;
  queue: number;
  start: number;
  /** When it ended, or the run did. */
  end: number;
  /** Whether it had not ended when the run did. */
  isOpen: boolean;
  /** The port whose congestion is the cause. */
  cause: number;
  /** Port of the neighbour that held most of what came from here; null where only the root is known. */
  via: number | null;
  /** The pause of that port that made this one: its queue and start; null where there was none. */
  parentQueue: number | null;
  parentStart: number | null;
  /** Links that PAUSEs have crossed from the cause to here. */
  hops: number | null;
}

/** Minima and maxima of a quantity over bins of equal width; in a bin without samples both are NaN if it is not known there, else 0. */
export interface Band {
  /** Whether each bin is a sample, whose value holds until the next one. */
  isHeld: boolean;
  /** Middle of each bin, or the instant of the sample where a bin holds one. */
  times: Float64Array;
  min: Float64Array;
  max: Float64Array;
}

/** Pauses of a queue over time: single ones, or shares of bins where there are too many. */
export interface PauseBar {
  queue: number;
  start: number;
  end: number;
  /** Share of the bar that was paused: 1 for a single pause. */
  share: number;
  /** Port that caused most of it. */
  cause: number;
  /** The pause itself, where the bar is a single one. */
  pause: Pause | null;
}

/** What there was at an instant; what is not known is not a number. */
export interface Instant {
  time: number;
  /** Time of the last sample of queues up to then; null before the first one. */
  sampled: number | null;
  /** Bytes in all queues of each port at that sample. */
  queued: Float64Array;
  /** Share of its rate that each port sent at in the sample interval around the instant. */
  utilisation: Float64Array;
  /** Bytes by `port * 65536 + queue`, of the egress queues that held something at that sample; null if single queues were not sampled. */
  queueBytes: Map<number, number> | null;
  /** Pauses in force. */
  pauses: Pause[];
}

/** A pause in the congestion tree: an arrow to the port that it stops. */
export interface Branch {
  pause: Pause;
  /** Bytes that the paused queue held at the sample; not a number if that is not known. */
  bytes: number;
  /** Branches of the ports that this one makes stop. */
  children: Branch[];
}

/** The PAUSEs that one port caused, as a tree from there to the leaves. */
export interface Tree {
  root: number;
  /** The same of all queues of the root. */
  rootBytes: number;
  branches: Branch[];
}

/** A flow: a row of `flows.parquet`. */
export interface Flow {
  id: number;
  tag: string;
  role: string | null;
  src: number;
  dst: number;
  class: number;
  /** Null for an endless flow. */
  bytes: number | null;
  start: number;
  /** When its last byte arrived; null if it had not. */
  finish: number | null;
  idealFct: number | null;
  slowdown: number | null;
  paused: number;
  /** Behind PAUSEs of ports that are not on its path. */
  blocked: number;
  delivered: number;
  retransmitted: number;
  /** Egress ports on its way; empty if it is not known. */
  path: number[];
}

/** A line of the list of victims. */
export interface Victim {
  id: number;
  src: number;
  dst: number;
  bytes: number | null;
  start: number;
  /** Until it was complete, or the run ended. */
  taken: number;
  isComplete: boolean;
  /** That time over the one on an idle fabric. */
  slowdown: number;
  blocked: number;
}

/** Some time of the packet that completed a flow, at one port: a row of `waits.parquet`. Steps follow each other without a gap from the flow's start on. */
export interface Step {
  port: number;
  term: string;
  cause: number | null;
  start: number;
  length: number;
}

/** Congestion signals of one kind and port that a flow got: a row of `signals.parquet`. */
export interface Signal {
  /** mark, load, delay or notice. */
  kind: string;
  port: number;
  count: number;
  /** Of delays: how long packets and ACKs waited at the port. */
  waited: number | null;
  /** Departure of the first packet with one from the port, and of the last. */
  first: number;
  last: number;
  /** Share in the flow's signals of the kind: of their number, of delays of the time waited. */
  share: number;
}

/** A frame on a wire: an event `sent` of `events.parquet`. */
export interface Frame {
  /** The port that sends it. */
  port: number;
  /** First bit leaves, last bit leaves; both arrive later by the delay of the link. */
  start: number;
  end: number;
  /** data, ack, nack, cnp, notice, or the protocol of a link-local frame. */
  kind: string;
  class: number | null;
  flow: number | null;
  psn: number | null;
  bytes: number | null;
  isMarked: boolean;
  pfcClasses: number | null;
  pfcQuanta: number | null;
}

/** What the sender of a flow did, from a trace. */
export interface SenderPoint {
  time: number;
  rateBps: number | null;
  inFlight: number | null;
  window: number | null;
}

export interface DeadQueue {
  port: number;
  queue: number;
  bytes: number;
}

export interface Info {
  /** Name of the scenario, or of the directory. */
  name: string;
  /** What the summary says: completed, deadlock, ... */
  outcome: string;
  /** End of the run. */
  end: number;
  /** Time between two samples; 0 without any. */
  sampleInterval: number;
  flows: number;
  deadlock: { onset: number; cycle: DeadQueue[] } | null;
  /** Whether pauses were recorded. */
  hasPauses: boolean;
  /** Ports that caused pauses, the one that paused others longest first. */
  causes: number[];
  /** What the trace, if there is one, can hold: from, until. */
  trace: [number, number] | null;
  version: string;
  seed: number;
}
