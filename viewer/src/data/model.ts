/**
 * Types of a run's data. Times are picoseconds since the start of the run, exact up to 2^53
 * (150 minutes); sizes are bytes. Ports and nodes are identified by index: nodes in the order of
 * `topology.json`, ports node by node in the order of their numbers.
 */

export type NodeKind = "host" | "relay" | "switch";

export interface Node {
  index: number;
  name: string;
  kind: NodeKind;
  /** Number of links to the nearest host. */
  layer: number;
  /** Index of the first port; the others follow. */
  firstPort: number;
  portCount: number;
}

/** An egress port, and the outgoing direction of its link. */
export interface Port {
  index: number;
  node: number;
  /** Number at the node. */
  number: number;
  /** Displayed name: `leaf1:0`, or `leaf1:Ethernet0`. */
  name: string;
  /** Node at the other end. */
  peer: number;
  /** Port at the other end. */
  peerPort: number;
  link: number;
  rateBps: number;
  delayPs: number;
}

export interface Link {
  index: number;
  /** The ports at both ends. */
  a: number;
  b: number;
  rateBps: number;
  delayPs: number;
  /** Intervals in which the link is down: from, until (the end of the run without recovery). */
  down: [number, number][];
}

/** An interval in which an egress queue was paused: a row of `pauses.parquet`. */
export interface Pause {
  /** Paused egress port and its queue; queues below 8 are numbered by class. */
  port: number;
  queue: number;
  start: number;
  /** End of the pause or of the run. */
  end: number;
  /** True if the run ended before the pause. */
  isOpen: boolean;
  /** Congestion root: the port whose congestion is the cause. */
  cause: number;
  /** Egress port of the peer that held most of the bytes from this port; null if unknown. */
  via: number | null;
  /** Queue and start of the pause of port `via` that caused this pause; null if there was none. */
  parentQueue: number | null;
  parentStart: number | null;
  /** Number of links that PAUSEs crossed from the cause to the paused port. */
  hops: number | null;
}

/**
 * Minima and maxima of a quantity over bins of equal width. In a bin without samples, both are NaN
 * if the quantity is unknown, and otherwise 0.
 */
export interface Band {
  /** True if each bin is a sample whose value holds until the next one. */
  isHeld: boolean;
  /** Middle of each bin; for bins of one sample, the time of the sample. */
  times: Float64Array;
  min: Float64Array;
  max: Float64Array;
}

/** A pause of a queue, or the paused share of a time bin if there are too many pauses. */
export interface PauseBar {
  queue: number;
  start: number;
  end: number;
  /** Paused share of the bar; 1 for a single pause. */
  share: number;
  /** Port that caused most of the paused time. */
  cause: number;
  /** The pause, if the bar is a single pause; otherwise null. */
  pause: Pause | null;
}

/** State of the fabric at a time. Unknown values are NaN. */
export interface Snapshot {
  time: number;
  /** Time of the last sample of queues; null before the first one. */
  sampled: number | null;
  /** Bytes in all queues of each port at the sample. */
  queued: Float64Array;
  /** Utilisation of each port in the sample interval that contains the time. */
  utilisation: Float64Array;
  /**
   * Bytes of the egress queues that were not empty at the sample, by `port * 65536 + queue`; null
   * if single queues were not sampled.
   */
  queueBytes: Map<number, number> | null;
  /** Active pauses. */
  pauses: Pause[];
}

/** A pause in a congestion tree, drawn as an arrow to the paused port. */
export interface Branch {
  pause: Pause;
  /** Bytes in the paused queue at the sample; NaN if unknown. */
  bytes: number;
  /** Pauses that this one caused. */
  children: Branch[];
}

/** Congestion tree: the pauses that one port caused. */
export interface Tree {
  root: number;
  /** Bytes in all queues of the root at the sample. */
  rootBytes: number;
  branches: Branch[];
}

/** A flow, or a message of a connection: a row of `flows.parquet`. */
export interface Flow {
  /** The flow's number; `7.2` for message 2 of connection 7, if that carries several messages. */
  name: string;
  tag: string;
  role: string | null;
  src: number;
  dst: number;
  class: number;
  /** Null for an endless flow. */
  bytes: number | null;
  start: number;
  /** Arrival of the last byte; null if the flow is not complete. */
  finish: number | null;
  idealFct: number | null;
  slowdown: number | null;
  /** Numbers in the flow's row, by column; null if unknown. */
  values: Record<string, number | null>;
  /** Egress ports on the path; empty if the path is unknown. */
  path: number[];
}

/** A row of the list of victims. */
export interface Victim {
  /** As in {@link Flow}. */
  name: string;
  src: number;
  dst: number;
  bytes: number | null;
  start: number;
  /** Time until the flow was complete or the run ended. */
  taken: number;
  isComplete: boolean;
  /** `taken` divided by the time of the flow on an idle fabric. */
  slowdown: number;
  blocked: number;
}

/**
 * Time of the packet that completed a flow, at one port: a row of `waits.parquet`. Steps start with
 * the flow and have no gaps.
 */
export interface Step {
  port: number;
  term: string;
  cause: number | null;
  start: number;
  length: number;
}

/** Congestion signals of one kind and port, received by a flow: a row of `signals.parquet`. */
export interface Signal {
  /** `mark`, `load`, `delay` or `notice`. */
  kind: string;
  port: number;
  count: number;
  /** For delays, the queueing time of packets and ACKs at the port. */
  waited: number | null;
  /** Departure from the port of the first and the last packet with a signal. */
  first: number;
  last: number;
  /** Share of the flow's signals of this kind, by number, or for delays by time. */
  share: number;
}

/** A frame on a wire: an event `sent` of `events.parquet`. */
export interface Frame {
  /** Sending port. */
  port: number;
  /** Departure of the first and the last bit; both arrive after the link's delay. */
  start: number;
  end: number;
  /** `data`, `ack`, `nack`, `cnp`, `notice`, or the protocol of a link-local frame. */
  kind: string;
  class: number | null;
  flow: number | null;
  psn: number | null;
  bytes: number | null;
  isMarked: boolean;
  pfcClasses: number | null;
  pfcQuanta: number | null;
}

/** State of the sender of a flow, from a trace. */
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
  /** Name of the scenario or of the directory. */
  name: string;
  /** Outcome in the summary: `completed`, `deadlock`, ... */
  outcome: string;
  /** End of the run. */
  end: number;
  /** Time between two samples; 0 without samples. */
  sampleInterval: number;
  flows: number;
  /** Meanings of further columns of `flows.parquet` that views list, by name; null if unknown. */
  flowColumns: Record<string, string | null>;
  deadlock: { onset: number; cycle: DeadQueue[] } | null;
  /** True if pauses were recorded. */
  hasPauses: boolean;
  /** Ports that caused pauses, in descending order of the time paused. */
  causes: number[];
  /** Time range of the trace; null without a trace. */
  trace: [number, number] | null;
  version: string;
  seed: number;
}

/** Order of the list of victims. */
export type VictimOrder = "blocked" | "slowdown";

export interface PortSeries {
  /** Bytes in all egress queues of the port. */
  total: Band;
  /** Sending rate of the port as a share of the link's rate. */
  utilisation: Band;
  /** Bytes by egress queue. */
  egress: Map<number, Band>;
  /**
   * By class, the ingress queue of the port: bytes, threshold at which the queue is full, headroom
   * in use.
   */
  ingress: Map<number, { bytes: Band; threshold: Band; headroom: Band }>;
}

export interface FlowDetail {
  flow: Flow;
  /**
   * Steps of the packet that completed the flow or, if the flow is incomplete, that its receiver
   * waits for; empty without `probes.flows`.
   */
  steps: Step[];
  /** Congestion signals received by the flow; empty without `probes.flows`. */
  signals: Signal[];
  /** Rate, window and data in flight of the sender; empty if the sender was not traced. */
  sender: SenderPoint[];
}

/** Answer of `backwater why`. */
export interface Why {
  sentences: string[];
  steps: Step[];
}
