/** What the views ask for. Everything is answered from files of bounded size, however long the run was. */

import type { Band, Flow, Frame, Info, Instant, PauseBar, SenderPoint, Signal, Step, Tree, Victim } from "./model";
import type { Topology } from "./topology";

/** How the list of victims is sorted. */
export type VictimOrder = "blocked" | "slowdown";

export interface PortSeries {
  /** Bytes in all egress queues of the port. */
  total: Band;
  /** Share of the link's rate that the port sent at. */
  utilisation: Band;
  /** Bytes by egress queue. */
  egress: Map<number, Band>;
  /** By class of the ingress queue at the same port: bytes, the threshold at which it is full, headroom in use. */
  ingress: Map<number, { bytes: Band; threshold: Band; headroom: Band }>;
}

export interface FlowDetail {
  flow: Flow;
  /** The packet that completed it, or that it waits for; empty without `probes.flows`. */
  steps: Step[];
  /** Congestion signals that it got; empty without `probes.flows`. */
  signals: Signal[];
  /** What its sender did; empty without a trace of it. */
  sender: SenderPoint[];
}

/** The answer of `backwater why`. */
export interface Why {
  sentences: string[];
  steps: Step[];
}

export interface Data {
  readonly info: Info;
  readonly topology: Topology;

  /** Totals of the whole fabric: bytes in egress queues, number of paused queues. */
  overview(from: number, to: number, bins: number): Promise<{ queued: Band; paused: Band }>;
  instant(time: number): Promise<Instant>;
  /** The congestion trees of an instant, the one that holds most bytes first. */
  trees(instant: Instant): Tree[];

  port(port: number, from: number, to: number, bins: number): Promise<PortSeries>;
  /** Pauses of the queues of a port. */
  pauses(port: number, from: number, to: number, bins: number): Promise<PauseBar[]>;
  /** Bytes that a switch holds, and of these in headroom; null for a node without a buffer. */
  buffer(node: number, from: number, to: number, bins: number): Promise<{ used: Band; headroom: Band } | null>;

  victims(order: VictimOrder): Promise<Victim[]>;
  flow(id: number): Promise<FlowDetail | null>;
  /** Flows between two hosts, the slowest first; either may be left open. */
  flowsBetween(src: number | null, dst: number | null, most: number): Promise<Flow[]>;

  /** Frames that were on wires then, sent by these ports; null if there are more than `most`. */
  frames(ports: number[], from: number, to: number, most: number): Promise<Frame[] | null>;

  /** Where `why` can be asked, which may run the scenario again: not in a page that stands alone. */
  readonly canAsk: boolean;
  why(flow: number): Promise<Why>;
  /** Where the frames between two instants can be had as a capture; null where there is no server or no trace. */
  captureUrl(from: number, to: number): string | null;
}
