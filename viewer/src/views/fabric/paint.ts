/** Painting of the fabric: links by utilisation, nodes, pauses, names. */

import type { Snapshot } from "../../data/model";
import { nodeName, shortName } from "../../names";
import { LEVELS, between, levelOf } from "../../scale";
import { token } from "../../ui/theme";
import type { Geometry } from "./geometry";

export interface Scene {
  geometry: Geometry;
  width: number;
  height: number;
  time: number;
  snapshot: Snapshot | null;
  /** Node and port under the pointer. */
  hoverNode: number | null;
  hoverPort: number | null;
  node: number | null;
  port: number | null;
  /** Egress ports on the path of the selected flow. */
  path: readonly number[];
}

/** Maximum utilisation of a link that counts as idle. */
const IDLE = 0.0005;
/** Maximum number of visible links that are drawn with outlines. */
const MAX_OUTLINED = 3000;

export function isDown(down: readonly (readonly [number, number])[], time: number): boolean {
  return down.some(([from, until]) => from <= time && time < until);
}

export function paintLinks(draw: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry, snapshot, time } = scene;
  const { topology, endX, endY } = geometry;
  const visible = topology.links.filter((link) => isVisible(scene, link.a, link.b));
  const isDense = visible.length > MAX_OUTLINED;
  const idle = new Path2D();
  const dead = new Path2D();
  const levels: (Path2D | undefined)[] = new Array<Path2D | undefined>(LEVELS);
  for (const { a, b, down } of visible) {
    const [ax, ay, bx, by] = [endX[a] ?? 0, endY[a] ?? 0, endX[b] ?? 0, endY[b] ?? 0];
    if (isDown(down, time)) {
      line(dead, ax, ay, bx, by);
      continue;
    }
    const [mx, my] = [(ax + bx) / 2, (ay + by) / 2];
    const halves: [number, number, number][] = [
      [a, ax, ay],
      [b, bx, by],
    ];
    for (const [port, x, y] of halves) {
      const utilisation = snapshot?.utilisation[port] ?? 0;
      if (!(utilisation > IDLE)) {
        line(idle, x, y, mx, my);
        continue;
      }
      line((levels[levelOf(utilisation)] ??= new Path2D()), x, y, mx, my);
    }
  }
  draw.lineCap = "butt";
  stroke(draw, idle, token("link-idle"), isDense ? 0.6 : 1.4);
  const loads = ["load-0", "load-1", "load-2"].map(token);
  const widthOf = (level: number): number => (isDense ? 0.9 + level / LEVELS : 1.8 + (2.6 * level) / LEVELS);
  if (!isDense) levels.forEach((path, level) => path && stroke(draw, path, token("casing"), widthOf(level) + 1.4));
  levels.forEach((path, level) => path && stroke(draw, path, between(loads, level / (LEVELS - 1)), widthOf(level)));
  draw.setLineDash([5, 5]);
  stroke(draw, dead, token("link-down"), isDense ? 1 : 2);
  draw.setLineDash([]);
}

/** Paints the path of the selected flow, below the links. */
export function paintPath(draw: CanvasRenderingContext2D, { geometry, path }: Scene): void {
  if (path.length === 0) return;
  const trail = new Path2D();
  for (const port of path) {
    const { x, y, dx, dy, length } = geometry.ray(port);
    line(trail, x, y, x + dx * length, y + dy * length);
  }
  draw.lineCap = "round";
  stroke(draw, trail, token("trail"), 13);
  draw.lineCap = "butt";
}

/** Paints a red bar across the link at every paused port; the shape does not rely on the colour. */
export function paintPauses(draw: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry, snapshot } = scene;
  const bars = new Path2D();
  const stubs = new Path2D();
  for (const port of new Set(snapshot?.pauses.map((pause) => pause.port))) {
    if (!isVisible(scene, port, port)) continue;
    const { x, y, dx, dy, length } = geometry.ray(port);
    const space = geometry.spacing[geometry.layout.row[geometry.topology.ports[port]?.node ?? 0] ?? 0] ?? 100;
    const [at, half] = [Math.min(9, length / 4), Math.min(7, Math.max(2.5, space / 4))];
    line(stubs, x, y, x + dx * at, y + dy * at);
    line(bars, x + dx * at - dy * half, y + dy * at + dx * half, x + dx * at + dy * half, y + dy * at - dx * half);
  }
  stroke(draw, stubs, token("paused"), 3);
  stroke(draw, bars, token("canvas"), 7);
  stroke(draw, bars, token("paused"), 4.5);
}

export function paintNodes(draw: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry } = scene;
  const { topology, layout, x, y, halfWidth, halfHeight } = geometry;
  const shapes = new Map<string, Path2D>();
  for (const node of topology.nodes) {
    const { index, kind } = node;
    if ((layout.row[index] ?? -1) < 0 || !isNodeVisible(scene, index)) continue;
    const path = shapes.get(kind) ?? new Path2D();
    shapes.set(kind, path);
    const [w, hh] = [halfWidth[index] ?? 1, halfHeight[index] ?? 1];
    path.roundRect((x[index] ?? 0) - w, (y[index] ?? 0) - hh, 2 * w, 2 * hh, Math.min(3, w, hh));
  }
  for (const [kind, path] of shapes) {
    fillPath(draw, path, token(kind === "switch" ? "switch" : "host"));
    stroke(draw, path, token(kind === "switch" ? "switch-edge" : "host-edge"), 1);
  }
}

/** Paints rings and names of the selected node and of the node or link under the pointer. */
export function paintHighlights(draw: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, x, y, halfWidth, halfHeight } = scene.geometry;
  for (const [node, colour] of [
    [scene.node, "accent"],
    [scene.hoverNode, "ink"],
  ] as const) {
    if (node === null || (layout.row[node] ?? -1) < 0) continue;
    const [w, hh] = [(halfWidth[node] ?? 1) + 2.5, (halfHeight[node] ?? 1) + 2.5];
    const ring = new Path2D();
    ring.roundRect((x[node] ?? 0) - w, (y[node] ?? 0) - hh, 2 * w, 2 * hh, 5);
    stroke(draw, ring, token(colour), 2);
  }
  const nodes = [scene.node, scene.hoverNode].filter((node) => node !== null);
  paintNames(draw, scene, new Set(nodes));
  paintPorts(draw, scene, new Set(nodes));
}

/**
 * Paints the names of nodes where there is room, or the names of `highlighted` nodes in any case.
 */
export function paintNames(
  draw: CanvasRenderingContext2D,
  scene: Scene,
  highlighted: ReadonlySet<number> | null = null,
): void {
  const { geometry } = scene;
  const { topology, layout, x, y, halfWidth, halfHeight } = geometry;
  draw.textAlign = "center";
  draw.textBaseline = "middle";
  layout.rows.forEach((members, row) => {
    const space = geometry.spacing[row] ?? 0;
    if (highlighted ? !members.some((node) => highlighted.has(node)) : space < 13) return;
    const isInside = members.every(
      (node) =>
        topology.nodes[node]?.kind === "switch" &&
        textWidth(draw, nodeName(topology, node)) <= 2 * (halfWidth[node] ?? 0) - 6,
    );
    const longest = members.reduce((most, node) => Math.max(most, nodeName(topology, node).length), 0);
    for (const node of members) {
      if (!isNodeVisible(scene, node) || (highlighted && !highlighted.has(node))) continue;
      const [name, isSwitch] = [nodeName(topology, node), topology.nodes[node]?.kind === "switch"];
      const [cx, cy] = [x[node] ?? 0, y[node] ?? 0];
      draw.font = `${isSwitch ? 600 : 400} 11.5px ${token("sans")}`;
      draw.textAlign = "center";
      if (isInside) {
        draw.fillStyle = token("switch-ink");
        draw.fillText(name, cx, cy + 0.5);
        continue;
      }
      const isUpright = highlighted !== null || space >= longest * 6.6 + 8;
      const away = (halfHeight[node] ?? 0) + 10;
      if (isUpright && row > 0 && row < layout.rows.length - 1) {
        // Links leave above and below, so names are placed at the side.
        draw.textAlign = "left";
        halo(draw, name, cx + (halfWidth[node] ?? 0) + 5, cy, token("ink"));
      } else if (isUpright) halo(draw, name, cx, row === 0 ? cy + away : cy - away, token("ink"));
      else if (row === 0) {
        draw.save();
        draw.translate(cx, cy + away - 4);
        draw.rotate(Math.PI / 2);
        draw.textAlign = "left";
        halo(draw, name, 0, 0, token("ink"));
        draw.restore();
      }
    }
  });
}

/**
 * Paints the names of ports where there is room, or those of `nodes` and of the link under the
 * pointer.
 */
export function paintPorts(
  draw: CanvasRenderingContext2D,
  scene: Scene,
  nodes: ReadonlySet<number> | null = null,
): void {
  const { geometry } = scene;
  const { topology, layout, along, halfWidth } = { ...geometry, along: geometry.layout.along };
  draw.font = `10px ${token("sans")}`;
  draw.textAlign = "center";
  draw.textBaseline = "middle";
  const highlighted = new Set<number>();
  if (nodes && scene.hoverPort !== null)
    for (const port of [scene.hoverPort, topology.ports[scene.hoverPort]?.peerPort ?? -1]) highlighted.add(port);
  for (const node of topology.nodes) {
    if ((layout.row[node.index] ?? -1) < 0 || !isNodeVisible(scene, node.index)) continue;
    const perPort = (2 * (halfWidth[node.index] ?? 0)) / Math.max(1, node.portCount);
    // Links diverge from the node; names are placed where the links are apart.
    const hasRoom = nodes
      ? nodes.has(node.index)
      : node.kind === "switch"
        ? perPort >= 14
        : (geometry.spacing[layout.row[node.index] ?? 0] ?? 0) >= 70;
    for (let port = node.firstPort; port < node.firstPort + node.portCount; port++) {
      if (!hasRoom && !highlighted.has(port)) continue;
      const { x, y, dx, dy, length } = geometry.ray(port);
      const stagger = perPort < 20 && Math.round(((along[port] ?? 0) + 1) * 50) % 2 === 1 ? 12 : 0;
      const at = Math.min(length / 3, 23 + stagger);
      const isPort = highlighted.has(port);
      halo(
        draw,
        isPort ? (topology.ports[port]?.name ?? "") : shortName(topology, port),
        x + dx * at,
        y + dy * at,
        token(isPort ? "ink" : "muted"),
      );
    }
  }
}

function textWidth(draw: CanvasRenderingContext2D, name: string): number {
  draw.font = `600 11.5px ${token("sans")}`;
  return draw.measureText(name).width;
}

export function fillPath(draw: CanvasRenderingContext2D, path: Path2D, colour: string): void {
  draw.fillStyle = colour;
  draw.fill(path);
}

export function stroke(draw: CanvasRenderingContext2D, path: Path2D, colour: string, width: number): void {
  draw.strokeStyle = colour;
  draw.lineWidth = width;
  draw.stroke(path);
}

/** Paints text with a halo, readable on lines. */
export function halo(draw: CanvasRenderingContext2D, text: string, x: number, y: number, colour: string): void {
  draw.lineJoin = "round";
  draw.lineWidth = 3.5;
  draw.strokeStyle = token("canvas");
  draw.strokeText(text, x, y);
  draw.fillStyle = colour;
  draw.fillText(text, x, y);
}

function line(path: Path2D, ax: number, ay: number, bx: number, by: number): void {
  path.moveTo(ax, ay);
  path.lineTo(bx, by);
}

function isVisible({ geometry, width, height }: Scene, a: number, b: number): boolean {
  const { endX, endY } = geometry;
  const [ax, ay, bx, by] = [endX[a] ?? 0, endY[a] ?? 0, endX[b] ?? 0, endY[b] ?? 0];
  const isOutside =
    Math.max(ax, bx) < 0 || Math.min(ax, bx) > width || Math.max(ay, by) < 0 || Math.min(ay, by) > height;
  return !isOutside && !(ax === bx && ay === by && a !== b);
}

function isNodeVisible({ geometry, width }: Scene, node: number): boolean {
  const [x, halfWidth] = [geometry.x[node] ?? 0, geometry.halfWidth[node] ?? 0];
  return x + halfWidth + 60 >= 0 && x - halfWidth - 60 <= width;
}
