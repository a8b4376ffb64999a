/** Painting of congestion trees, as arrows from their roots, and of the cycle of a deadlock. */

import type { Branch, DeadQueue, Tree } from "../../data/model";
import { size } from "../../format";
import { portName } from "../../names";
import { arrowWidth } from "../../scale";
import { token } from "../../ui/theme";
import type { Geometry } from "./geometry";
import { fillPath, halo, stroke } from "./paint";

type Point = [x: number, y: number];

/** An arrow to a paused port of a tree, for all paused queues of the port together. */
interface Arrow {
  port: number;
  bytes: number;
  /** Origin: the port whose congestion or pause caused the pause of `port`. */
  from: number;
}

/** Returns the arrows of a tree. */
export function arrows(tree: Tree): Arrow[] {
  const found = new Map<number, Arrow>();
  const visit = (branch: Branch, parent: number): void => {
    const { port, via } = branch.pause;
    const known = found.get(port);
    if (known) known.bytes += branch.bytes;
    else found.set(port, { port, bytes: branch.bytes, from: via ?? parent });
    for (const child of branch.children) visit(child, port);
  };
  for (const branch of tree.branches) visit(branch, tree.root);
  return [...found.values()];
}

export function paintTree(
  draw: CanvasRenderingContext2D,
  geometry: Geometry,
  tree: Tree,
  colour: string,
  rank: number,
): void {
  const bodies = new Path2D();
  const inside = new Path2D();
  for (const { port, bytes, from } of arrows(tree)) {
    const width = arrowWidth(bytes);
    // The arrow runs from the peer to the paused port, beside the link; trees that share a link are
    // offset.
    const { x, y, dx, dy, length } = geometry.ray(port);
    const aside = 5 + width / 2 + (rank % 3) * 5;
    const beside = (along: number): Point => [x - dy * aside + dx * along, y + dx * aside + dy * along];
    const start = beside(Math.max(length * 0.55, length - 10));
    arrow(bodies, start, beside(Math.min(length * 0.3, 15)), width);
    const [fx, fy] = geometry.end(from);
    const node = geometry.topology.ports[from]?.node ?? 0;
    if (node !== geometry.topology.ports[port]?.peer) continue;
    inside.moveTo(fx, fy);
    inside.quadraticCurveTo(geometry.x[node] ?? fx, geometry.y[node] ?? fy, ...start);
  }
  draw.lineJoin = "round";
  stroke(draw, inside, token("canvas"), 4);
  stroke(draw, inside, colour, 2);
  stroke(draw, bodies, token("canvas"), 3);
  fillPath(draw, bodies, colour);
}

/** Paints the root of a tree, above all arrows. */
export function paintRoot(draw: CanvasRenderingContext2D, geometry: Geometry, tree: Tree, colour: string): void {
  const [x, y] = geometry.end(tree.root);
  const ring = new Path2D();
  ring.arc(x, y, 7.5, 0, 2 * Math.PI);
  stroke(draw, ring, token("canvas"), 6);
  fillPath(draw, ring, token("canvas"));
  stroke(draw, ring, colour, 3);
  const dot = new Path2D();
  dot.arc(x, y, 3, 0, 2 * Math.PI);
  fillPath(draw, dot, colour);
}

/** Paints the names of roots, in the order of `trees`, where there is room. */
export function paintRootNames(draw: CanvasRenderingContext2D, geometry: Geometry, trees: readonly Tree[]): void {
  draw.font = `600 11px ${token("sans")}`;
  draw.textBaseline = "middle";
  const taken: [number, number, number][] = [];
  for (const { root, rootBytes } of trees) {
    const [x, y] = geometry.end(root);
    const text = `${portName(geometry.topology, root)} · ${size(rootBytes)}`;
    const wide = draw.measureText(text).width + 26;
    const isRight = x > (geometry.x[geometry.topology.ports[root]?.node ?? 0] ?? 0) || x < wide;
    const [left, middle] = [isRight ? x : x - wide, y + ((geometry.layout.side[root] ?? 0) > 0 ? -9 : 9)];
    if (taken.some(([from, to, level]) => left < to && left + wide > from && Math.abs(level - middle) < 15)) continue;
    taken.push([left, left + wide, middle]);
    draw.textAlign = isRight ? "left" : "right";
    halo(draw, text, x + (isRight ? 13 : -13), middle, token("ink"));
  }
}

/**
 * Paints the cycle of a deadlock: each queue waits for the next one, at the other end of its link.
 */
export function paintCycle(draw: CanvasRenderingContext2D, geometry: Geometry, cycle: readonly DeadQueue[]): void {
  const bodies = new Path2D();
  const joints = new Path2D();
  const ends = cycle.map(({ port }) => {
    const { x, y, dx, dy, length } = geometry.ray(port);
    const beside = (along: number): Point => [x + dy * 9 + dx * along, y - dx * 9 + dy * along];
    const [start, tip] = [beside(Math.min(4, length / 4)), beside(Math.max(length / 2, length - 6))];
    arrow(bodies, start, tip, 5);
    return { start, tip, peer: geometry.topology.ports[port]?.peer ?? 0 };
  });
  ends.forEach(({ tip, peer }, index) => {
    const next = ends[(index + 1) % ends.length];
    if (!next) return;
    joints.moveTo(...tip);
    joints.quadraticCurveTo(geometry.x[peer] ?? tip[0], geometry.y[peer] ?? tip[1], ...next.start);
  });
  draw.lineJoin = "round";
  stroke(draw, joints, token("canvas"), 5);
  stroke(draw, joints, token("deadlock"), 2.5);
  stroke(draw, bodies, token("canvas"), 4);
  fillPath(draw, bodies, token("deadlock"));
}

/** Adds an arrow with a shaft of the given width to a path. */
function arrow(path: Path2D, [fromX, fromY]: Point, [toX, toY]: Point, width: number): void {
  const length = Math.hypot(toX - fromX, toY - fromY);
  if (length < 3) return;
  const [dx, dy] = [(toX - fromX) / length, (toY - fromY) / length];
  const half = width / 2;
  const head = Math.min(length * 0.6, 6 + width * 0.9);
  const wing = half + 3 + width * 0.15;
  const [bx, by] = [toX - dx * head, toY - dy * head];
  path.moveTo(fromX - dy * half, fromY + dx * half);
  path.lineTo(bx - dy * half, by + dx * half);
  path.lineTo(bx - dy * wing, by + dx * wing);
  path.lineTo(toX, toY);
  path.lineTo(bx + dy * wing, by - dx * wing);
  path.lineTo(bx + dy * half, by - dx * half);
  path.lineTo(fromX + dy * half, fromY - dx * half);
  path.closePath();
}
