/** Data of a run for the views, read from files whose size does not depend on the run's length. */

import type { Band, Flow, Frame, Info, Snapshot, PauseBar, SenderPoint, Signal, Step, Tree, Victim } from "./model";
import type { Topology } from "./topology";

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
   * Steps of the packet that completed the flow, or that the flow waits for; empty without
   * `probes.flows`.
   */
  steps: Step[];
  /** Congestion signals received by the flow; empty without `probes.flows`. */
  signals: Signal[];
  /** Rate, window and data in flight of the sender; empty without a trace of it. */
  sender: SenderPoint[];
}

/** Answer of `backwater why`. */
export interface Why {
  sentences: string[];
  steps: Step[];
}

export interface Data {
  readonly info: Info;
  readonly topology: Topology;

  /** Totals of the whole fabric: bytes in egress queues, number of paused queues. */
  overview(from: number, to: number, bins: number): Promise<{ queued: Band; paused: Band }>;
  /** State of the fabric at a time. */
  snapshot(time: number): Promise<Snapshot>;
  /** Congestion trees of a snapshot, the one with most bytes first. */
  trees(snapshot: Snapshot): Tree[];

  port(port: number, from: number, to: number, bins: number): Promise<PortSeries>;
  /** Pauses of the queues of a port. */
  pauses(port: number, from: number, to: number, bins: number): Promise<PauseBar[]>;
  /** Buffered bytes of a switch, and the part in headroom; null for a node without a buffer. */
  buffer(node: number, from: number, to: number, bins: number): Promise<{ used: Band; headroom: Band } | null>;

  victims(order: VictimOrder): Promise<Victim[]>;
  flow(id: number): Promise<FlowDetail | null>;
  /** Flows between two hosts, the slowest first; null stands for any host. */
  flowsBetween(src: number | null, dst: number | null, most: number): Promise<Flow[]>;

  /** Frames of these ports that are on wires in the range; null if there are more than `most`. */
  frames(ports: number[], from: number, to: number, most: number): Promise<Frame[] | null>;

  /** True if `why` is available, which may run the scenario again; false in an exported page. */
  readonly canAsk: boolean;
  why(flow: number): Promise<Why>;
  /** Address of a capture of the frames between two times; null without a server or a trace. */
  captureUrl(from: number, to: number): string | null;
}
