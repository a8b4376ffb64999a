/** Positions on the screen: nodes, and both ends of every link. */

import type { Topology } from "../../data/topology";
import type { Layout } from "../../layout";
import { bisect, clamp } from "../../scale";

/** Visible part of the fabric. */
export interface Camera {
  /** Zoom factor; 1 shows the full width. */
  zoom: number;
  /** Horizontal position of the centre, 0 to 1, and vertical offset in pixels. */
  centre: number;
  down: number;
}

const MARGIN = { side: 36, top: 44, bottom: 56 };
/** Maximum spacing of neighbours in a row, in pixels; more for switches, which have many ports. */
const MAX_SPACING = { host: 160, switch: 300 };
const LETTER = 7;
/** Drop of the ends of an arched row, as a share of the distance between rows. */
const ARCH = 0.45;

export class Geometry {
  /** Centre of each node. */
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** Half of the width and height of each node. */
  readonly halfWidth: Float32Array;
  readonly halfHeight: Float32Array;
  /** End of the link at each port. */
  readonly endX: Float32Array;
  readonly endY: Float32Array;
  /** Spacing of neighbours by row, in pixels. */
  spacing: number[] = [];
  /** Width of the widest row, in pixels; the scale of horizontal movements. */
  pictureWidth = 1;
  /** Maximum zoom factor. */
  maxZoom = 1;

  constructor(
    readonly topology: Topology,
    readonly layout: Layout,
  ) {
    const [nodes, ports] = [topology.nodes.length, topology.ports.length];
    this.x = new Float32Array(nodes);
    this.y = new Float32Array(nodes);
    this.halfWidth = new Float32Array(nodes);
    this.halfHeight = new Float32Array(nodes);
    this.endX = new Float32Array(ports);
    this.endY = new Float32Array(ports);
  }

  /**
   * Computes all positions for a canvas size. The zoom is horizontal, and a row grows only until
   * its nodes have room. The switches of visible hosts thus remain visible.
   */
  place(width: number, height: number, camera: Camera): void {
    const { rows, row, x, side, along } = this.layout;
    const inner = Math.max(10, width - 2 * MARGIN.side);
    const widest = rows.map(
      (members) =>
        members.length * MAX_SPACING[this.topology.nodes[members[0] ?? 0]?.kind === "switch" ? "switch" : "host"],
    );
    this.maxZoom = Math.max(1.5, ...widest.map((most) => most / inner));
    const full = widest.map((most) => Math.min(inner * camera.zoom, Math.max(inner, most)));
    this.pictureWidth = Math.max(inner, ...full);
    const innerHeight = Math.max(10, height - MARGIN.top - MARGIN.bottom);
    const top = MARGIN.top + camera.down;
    this.spacing = rows.map((members, at) => (full[at] ?? inner) / Math.max(1, members.length));
    for (const node of this.topology.nodes) {
      const at = row[node.index] ?? -1;
      const space = this.spacing[at] ?? 1;
      this.x[node.index] = width / 2 + ((x[node.index] ?? 0) - camera.centre) * (full[at] ?? inner);
      const level =
        rows.length === 1 ? top + innerHeight / 2 : top + innerHeight - (at / (rows.length - 1)) * innerHeight;
      const sag =
        this.layout.isArched[at] === true
          ? (ARCH * innerHeight * (2 * (x[node.index] ?? 0.5) - 1) ** 2) / Math.max(1, rows.length - 1)
          : 0;
      this.y[node.index] = level + sag;
      const isSwitch = node.kind === "switch";
      const wish = isSwitch ? Math.max(22, (node.name.length * LETTER) / 2 + 10, Math.min(110, node.portCount * 8)) : 7;
      this.halfWidth[node.index] = Math.max(0.75, Math.min(wish, space * 0.45));
      this.halfHeight[node.index] = isSwitch ? clamp(space * 0.42, 3, 13) : clamp(space * 0.36, 1.5, 7);
    }
    for (const port of this.topology.ports) {
      const { index, node } = port;
      const [which, where] = [side[index] ?? 0, along[index] ?? 0];
      const [halfWidth, halfHeight] = [this.halfWidth[node] ?? 0, this.halfHeight[node] ?? 0];
      this.endX[index] = (this.x[node] ?? 0) + (which === 0 ? where * halfWidth : where * halfWidth * 0.86);
      this.endY[index] = (this.y[node] ?? 0) - which * halfHeight;
    }
  }

  /** Returns the node at a point of the canvas, by binary search in each row. */
  nodeAt(x: number, y: number): number | null {
    for (const members of this.layout.rows) {
      const right = bisect(members.length - 1, (index) => (this.x[members[index] ?? 0] ?? 0) < x);
      for (const node of [members[right - 1], members[right]]) {
        if (node === undefined) continue;
        const near = Math.abs(x - (this.x[node] ?? 0)) <= Math.max(5, this.halfWidth[node] ?? 0);
        if (near && Math.abs(y - (this.y[node] ?? 0)) <= Math.max(6, this.halfHeight[node] ?? 0)) return node;
      }
    }
    return null;
  }

  /**
   * Returns the port whose half of a link is at a point. A scan of all links is cheaper than a grid
   * that must be updated whenever the picture moves.
   */
  portAt(x: number, y: number, reach: number): number | null {
    let best: number | null = null;
    let nearest = reach;
    for (const link of this.topology.links) {
      const [ax, ay] = this.end(link.a);
      const [bx, by] = this.end(link.b);
      const [isRight, isBelow] = [x > Math.max(ax, bx) + reach, y > Math.max(ay, by) + reach];
      if (isRight || isBelow || x < Math.min(ax, bx) - reach || y < Math.min(ay, by) - reach) continue;
      const [dx, dy] = [bx - ax, by - ay];
      const along = clamp(((x - ax) * dx + (y - ay) * dy) / Math.max(1, dx * dx + dy * dy), 0, 1);
      const away = Math.hypot(x - ax - along * dx, y - ay - along * dy);
      if (away > nearest) continue;
      nearest = away;
      best = along <= 0.5 ? link.a : link.b;
    }
    return best;
  }

  /** Returns the end of the link at a port. */
  end(port: number): [x: number, y: number] {
    return [this.endX[port] ?? 0, this.endY[port] ?? 0];
  }

  /** Returns the line from a port to its peer: start, unit vector and length. */
  ray(port: number): { x: number; y: number; dx: number; dy: number; length: number } {
    const peer = this.topology.ports[port]?.peerPort ?? port;
    const [x, y] = this.end(port);
    const [dx, dy] = [(this.endX[peer] ?? 0) - x, (this.endY[peer] ?? 0) - y];
    const length = Math.hypot(dx, dy) || 1;
    return { x, y, dx: dx / length, dy: dy / length, length };
  }
}
