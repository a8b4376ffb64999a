/**
 * Positions of nodes, as in `python/backwater/topology_plot.py`: hosts in the lowest row, one row
 * per layer of switches above. Hosts that relay between switches, as in BCube, have the row between
 * their layers of switches.
 */

import type { Topology } from "./data/topology";

export interface Layout {
  /** Rows from bottom to top, nodes from left to right. */
  rows: number[][];
  /** Row of each node; -1 for switches without links, which are not drawn. */
  row: Int32Array;
  /** Position of each node in its row, 0 to 1. */
  x: Float64Array;
  /** Direction of the link of each port: -1 down, 1 up, 0 sideways. */
  side: Int8Array;
  /** Position of each port along its side of the node, -1 to 1. */
  along: Float64Array;
  /**
   * True for a row with links between its nodes. Such a row is an arch, so that links pass no third
   * node.
   */
  isArched: boolean[];
}

/** Computes the layout of a fabric. */
export function layout(topology: Topology): Layout {
  const { nodes, ports } = topology;
  const height = heights(topology);
  const levels = [...new Set(height.filter((level) => level !== null))].sort((a, b) => a - b);
  const place = new Map(levels.map((level, index) => [level, index]));
  const rows: number[][] = levels.map(() => []);
  const row = new Int32Array(nodes.length).fill(-1);
  height.forEach((level, node) => {
    if (level === null) return;
    const index = place.get(level) ?? 0;
    row[node] = index;
    rows[index]?.push(node);
  });
  const x = new Float64Array(nodes.length);
  const spread = (members: number[]): void =>
    members.forEach((node, index) => (x[node] = (index + 0.5) / members.length));
  const isHost = (node: number): boolean => nodes[node]?.kind !== "switch";
  const hosts = rows.find((members) => members.some(isHost));
  for (const members of rows) spread(members);
  if (hosts && !topology.isServerCentric) {
    // Hosts are placed below their switches, in the same order.
    const parent = new Map<number, number>();
    for (const host of hosts) {
      const peers = portsOf(topology, host).map((port) => x[ports[port]?.peer ?? 0] ?? 0);
      parent.set(host, peers.length > 0 ? peers.reduce((a, b) => a + b, 0) / peers.length : 2);
    }
    hosts.sort((a, b) => (parent.get(a) ?? 2) - (parent.get(b) ?? 2) || a - b);
    spread(hosts);
  }
  const isArched = rows.map(() => false);
  for (const port of ports) {
    const [here, there] = [row[port.node] ?? -1, row[port.peer] ?? -1];
    if (here === there && here >= 0) isArched[here] = (rows[here]?.length ?? 0) > 2;
  }
  return { rows, row, x, isArched, ...ends(topology, row, x) };
}

/** Returns the level of each node: 0 for hosts, null for switches without links. */
function heights(topology: Topology): (number | null)[] {
  const { nodes, ports, isServerCentric } = topology;
  return nodes.map((node) => {
    if (node.kind !== "switch") return 0;
    if (node.portCount === 0) return null;
    if (!isServerCentric) return Math.max(1, node.layer);
    // Port l of a host leads to layer l; behind a failed link, higher ports move down by one.
    const numbers = portsOf(topology, node.index).map((port) => ports[ports[port]?.peerPort ?? -1]?.number ?? 0);
    const layer = Math.max(...numbers);
    return layer === 0 ? -1 : layer;
  });
}

/**
 * Places the ports of each node by the position of their peers, so that links do not cross at the
 * node.
 */
function ends(topology: Topology, row: Int32Array, x: Float64Array): { side: Int8Array; along: Float64Array } {
  const side = new Int8Array(topology.ports.length);
  const along = new Float64Array(topology.ports.length);
  for (const node of topology.nodes) {
    const bySide = new Map<number, number[]>();
    for (const port of portsOf(topology, node.index)) {
      const peer = topology.ports[port]?.peer ?? 0;
      const which = Math.sign((row[peer] ?? 0) - (row[node.index] ?? 0));
      side[port] = which;
      bySide.set(which, [...(bySide.get(which) ?? []), port]);
    }
    for (const [which, members] of bySide) {
      const at = (port: number): number => x[topology.ports[port]?.peer ?? 0] ?? 0;
      members.sort((a, b) => at(a) - at(b) || a - b);
      members.forEach((port, index) => {
        const spread = ((index + 0.5) / members.length) * 2 - 1;
        along[port] = which === 0 ? Math.sign(at(port) - (x[node.index] ?? 0)) || 1 : spread;
      });
    }
  }
  return { side, along };
}

/** Returns the ports of a node. */
export function portsOf(topology: Topology, node: number): number[] {
  const { firstPort, portCount } = topology.nodes[node] ?? { firstPort: 0, portCount: 0 };
  return Array.from({ length: portCount }, (_, index) => firstPort + index);
}
