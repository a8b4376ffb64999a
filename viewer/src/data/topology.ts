/** Nodes, ports and links of the fabric: `topology.json`. */

import type { Link, Node, NodeKind, Port } from "./model";

interface Written {
  nodes: { name: string; kind: NodeKind; layer: number }[];
  links: {
    a: string;
    a_port: number;
    a_interface?: string | null;
    b: string;
    b_port: number;
    b_interface?: string | null;
    rate_bps: number;
    delay_ps: number;
  }[];
  /** Missing in files of early versions. */
  faults?: { link: number; down_ps: number; up_ps: number | null }[];
}

export class Topology {
  readonly nodes: Node[];
  readonly ports: Port[];
  readonly links: Link[];
  /** True if hosts relay and no link joins two switches, as in BCube. */
  readonly isServerCentric: boolean;
  readonly #nodes = new Map<string, Node>();
  readonly #ports = new Map<string, Port>();

  /**
   * @param document Content of `topology.json`.
   * @param end End of the run.
   */
  constructor(document: unknown, end: number) {
    const written = document as Written;
    this.nodes = written.nodes.map((node, index) => ({ ...node, index, firstPort: 0, portCount: 0 }));
    for (const node of this.nodes) this.#nodes.set(node.name, node);
    const named = (name: string): Node => {
      const node = this.#nodes.get(name);
      if (!node) throw new Error(`topology.json: a link names the node ${name}, which does not exist`);
      return node;
    };
    for (const link of written.links) {
      named(link.a).portCount += 1;
      named(link.b).portCount += 1;
    }
    let count = 0;
    for (const node of this.nodes) {
      node.firstPort = count;
      count += node.portCount;
    }
    this.ports = new Array<Port>(count);
    this.links = written.links.map((link, index) => {
      const [nodeA, nodeB] = [named(link.a), named(link.b)];
      const [a, b] = [nodeA.firstPort + link.a_port, nodeB.firstPort + link.b_port];
      const common = { link: index, rateBps: link.rate_bps, delayPs: link.delay_ps };
      const name = (node: Node, number: number, face?: string | null) => `${node.name}:${face ?? number}`;
      const ends = [
        { index: a, node: nodeA, peer: nodeB.index, peerPort: b, number: link.a_port, face: link.a_interface },
        { index: b, node: nodeB, peer: nodeA.index, peerPort: a, number: link.b_port, face: link.b_interface },
      ];
      for (const { index: port, node, face, ...end } of ends) {
        const made = { ...common, ...end, index: port, node: node.index, name: name(node, end.number, face) };
        this.ports[port] = made;
        this.#ports.set(made.name, made);
      }
      const faults = written.faults?.filter((fault) => fault.link === index) ?? [];
      const down = faults.map((fault): [number, number] => [fault.down_ps, fault.up_ps ?? end]);
      return { index, a, b, rateBps: link.rate_bps, delayPs: link.delay_ps, down };
    });
    // Ports are also found by number, unless another port has this name.
    for (const port of this.ports) {
      const number = `${this.nodes[port.node]?.name}:${port.number}`;
      if (!this.#ports.has(number)) this.#ports.set(number, port);
    }
    const isSwitch = (node: number) => this.nodes[node]?.kind === "switch";
    this.isServerCentric =
      this.nodes.some((node) => node.kind === "relay") &&
      !this.ports.some((port) => isSwitch(port.node) && isSwitch(port.peer));
  }

  nodeByName(name: string | null): Node | null {
    return this.#nodes.get(name ?? "") ?? null;
  }

  /** Finds a port by its name, or by node and number. */
  portByName(name: string | null): Port | null {
    return this.#ports.get(name ?? "") ?? null;
  }

  /** Returns the port with a number at a node; throws if it does not exist. */
  portAt(node: string, number: number): number {
    const first = this.#nodes.get(node);
    if (!first || number >= first.portCount) throw new Error(`port ${node}:${number} does not exist`);
    return first.firstPort + number;
  }
}
