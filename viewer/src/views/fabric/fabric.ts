/**
 * View of the fabric at the time of the cursor: a picture, and a panel with the same data as text.
 */

import type { Snapshot, Tree } from "../../data/model";
import { duration, percent, rate, size } from "../../format";
import { type Layout, layout } from "../../layout";
import { nodeName, portName, portTitle, queueName } from "../../names";
import { clamp } from "../../scale";
import { button, failure, fill, h } from "../../ui/dom";
import { CLICK, NOTCH } from "../../ui/clock";
import { prepare } from "../../ui/lanes";
import { onTheme } from "../../ui/theme";
import { type Line, hide, show } from "../../ui/tooltip";
import { type Context, type View, oncePerFrame, onResize, serialised, together } from "../../ui/view";
import { paintCycle, paintRoot, paintRootNames, paintTree } from "./arrows";
import { type Camera, Geometry } from "./geometry";
import { legend } from "./legend";
import {
  isDown,
  paintLinks,
  paintNames,
  paintNodes,
  paintHighlights,
  paintPath,
  paintPauses,
  paintPorts,
  type Scene,
} from "./paint";
import { panel } from "./panel";

const REACH = 7;
/** Spacing of neighbours in pixels at which names are readable. */
const NEAR = 48;

export function fabric(context: Context): View {
  const { data, store, hues } = context;
  const { topology } = data;
  const places: Layout = layout(topology);
  const geometry = new Geometry(topology, places);
  const camera: Camera = { zoom: 1, centre: 0.5, down: 0 };
  const picture = h("canvas", {
    role: "img",
    "aria-label": "The fabric; the panel beside it has the same data as text",
  });
  // Highlights have their own canvas, because redrawing a large fabric is slow.
  const canvas = h("canvas", { "aria-hidden": "true" });
  const home = button("Fit", "fit", () => move({ zoom: 1, centre: 0.5, down: 0 }), {
    class: "small fabric-home",
    title: "Show the whole fabric",
  });
  const stage = h("div", { class: "fabric-stage" }, picture, canvas, home);
  const side = h("aside", { class: "panel", "aria-label": "Data of the fabric" });
  const element = h("div", { class: "view fabric" }, h("div", { class: "fabric-main" }, stage, legend(data)), side);
  let [width, height] = [0, 0];
  let snapshot: Snapshot | null = null;
  let trees: Tree[] = [];
  let path: readonly number[] = [];
  let pathOf: string | null = null;
  let hover: { node: number | null; port: number | null } = { node: null, port: null };
  let drag: { x: number; y: number; camera: Camera; hasMoved: boolean } | null = null;

  const scene = (): Scene => ({
    geometry,
    width,
    height,
    time: store.state.time,
    snapshot,
    hoverNode: hover.node,
    hoverPort: hover.port,
    node: topology.nodeByName(store.state.node)?.index ?? null,
    port: topology.portByName(store.state.port)?.index ?? null,
    path,
  });
  const redraw = oncePerFrame(() => {
    const draw = prepare(picture, width, height);
    if (!draw) return;
    geometry.place(width, height, camera);
    const now = scene();
    paintPath(draw, now);
    paintLinks(draw, now);
    paintNodes(draw, now);
    trees.forEach((tree, rank) => paintTree(draw, geometry, tree, hues.of(tree.root), rank));
    paintPauses(draw, now);
    const { deadlock } = data.info;
    if (deadlock && store.state.time >= deadlock.onset) paintCycle(draw, geometry, deadlock.cycle);
    paintNames(draw, now);
    paintPorts(draw, now);
    [...trees].reverse().forEach((tree) => paintRoot(draw, geometry, tree, hues.of(tree.root)));
    paintRootNames(draw, geometry, trees);
    highlight();
    home.hidden = camera.zoom === 1 && camera.down === 0 && camera.centre === 0.5;
  });
  const highlight = oncePerFrame(() => {
    const draw = prepare(canvas, width, height);
    if (draw) paintHighlights(draw, scene());
  });
  const load = serialised(
    async (isCurrent) => {
      const found = await data.snapshot(store.state.time);
      if (!isCurrent()) return;
      snapshot = found;
      trees = data.trees(found);
      write();
      redraw();
    },
    (error) => fill(side, failure("Cannot show this time.", error)),
  );
  const write = (): void => {
    if (snapshot) fill(side, ...panel(context, snapshot, trees));
  };
  const loadPath = serialised(
    async (isCurrent) => {
      const { flow } = store.state;
      if (flow === pathOf) return;
      pathOf = flow;
      const found = flow === null ? null : await data.flow(flow);
      if (!isCurrent()) return;
      path = found?.flow.path ?? [];
      redraw();
    },
    () => {
      path = [];
    },
  );
  const move = (next: Partial<Camera>): void => {
    Object.assign(camera, next);
    camera.zoom = clamp(camera.zoom, 1, geometry.maxZoom);
    const slack = 0.5 / camera.zoom;
    camera.centre = camera.zoom === 1 ? 0.5 : clamp(camera.centre, slack * 0.6, 1 - slack * 0.6);
    if (camera.zoom === 1) camera.down = clamp(camera.down, -height / 3, height / 3);
    redraw();
  };
  /**
   * Moves and zooms the picture until the selected node is visible and apart from its neighbours.
   */
  const reveal = (): void => {
    const node = topology.nodeByName(store.state.node);
    const row = places.row[node?.index ?? -1] ?? -1;
    if (!node || row < 0 || width <= 0) return;
    geometry.place(width, height, camera);
    const [x, space] = [geometry.x[node.index] ?? 0, geometry.spacing[row] ?? 0];
    if (x >= 0 && x <= width && space >= NEAR / 4) return;
    move({ zoom: camera.zoom * Math.max(1, NEAR / space), centre: places.x[node.index] ?? 0.5 });
  };
  const positionOf = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const inspect = (event: MouseEvent): void => {
    const [x, y] = positionOf(event);
    const node = geometry.nodeAt(x, y);
    const port = node === null ? geometry.portAt(x, y, REACH) : null;
    if (node !== hover.node || port !== hover.port) highlight();
    hover = { node, port };
    stage.classList.toggle("pointing", node !== null || port !== null);
    if (port !== null)
      show(event, portTitle(topology, port), portLines(context, snapshot, port), "click to open the port");
    else if (node !== null) show(event, nodeName(topology, node), nodeLines(context, snapshot, node));
    else hide();
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = positionOf(event);
    drag = { x, y, camera: { ...camera }, hasMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return inspect(event);
    const [x, y] = positionOf(event);
    drag.hasMoved ||= Math.hypot(x - drag.x, y - drag.y) >= CLICK;
    if (!drag.hasMoved) return;
    hide();
    move({ centre: drag.camera.centre - (x - drag.x) / geometry.pictureWidth, down: drag.camera.down + y - drag.y });
  });
  canvas.addEventListener("pointerup", (event) => {
    const wasClick = drag !== null && !drag.hasMoved;
    drag = null;
    if (!wasClick) return;
    inspect(event);
    if (hover.port !== null) {
      hide();
      store.jump({ view: "ports", port: portName(topology, hover.port) });
    } else store.jump({ node: hover.node === null ? null : nodeName(topology, hover.node) });
  });
  canvas.addEventListener("pointerleave", () => {
    hover = { node: null, port: null };
    hide();
    highlight();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const [x] = positionOf(event);
      const away = (x - width / 2) / geometry.pictureWidth;
      const zoom = clamp(camera.zoom * NOTCH ** -event.deltaY, 1, geometry.maxZoom);
      move({ zoom, centre: camera.centre + away * (1 - camera.zoom / zoom) });
    },
    { passive: false },
  );
  const resize = (): void => {
    const isFirst = width === 0;
    [width, height] = [stage.clientWidth, stage.clientHeight];
    if (isFirst) reveal();
    redraw();
  };
  const destroy = together(
    onResize(stage, resize),
    redraw.stop,
    highlight.stop,
    load.stop,
    loadPath.stop,
    hide,
    onTheme(() => {
      redraw();
      write();
    }),
    store.on(["time"], load),
    store.on(["flow"], loadPath),
    store.on(["node"], () => {
      write();
      reveal();
    }),
    store.on(["node", "port"], highlight),
  );
  load();
  loadPath();
  return { element, destroy };
}

function portLines({ data, hues }: Context, snapshot: Snapshot | null, port: number): Line[] {
  const found = data.topology.ports[port];
  if (!found) return [];
  const lines: Line[] = [["link", `${rate(found.rateBps)}, ${duration(found.delayPs)}`]];
  if (!snapshot) return lines;
  if (isDown(data.topology.links[found.link]?.down ?? [], snapshot.time)) lines.push(["state", "link down"]);
  lines.push(["utilisation", percent(snapshot.utilisation[port] ?? Number.NaN)]);
  lines.push(["queued", size(snapshot.queued[port] ?? 0)]);
  for (const [key, bytes] of snapshot.queueBytes ?? [])
    if (Math.floor(key / 65536) === port) lines.push([queueName(key % 65536), size(bytes)]);
  for (const pause of snapshot.pauses) {
    if (pause.port !== port) continue;
    const by = `by ${portName(data.topology, pause.cause)}, for ${duration(snapshot.time - pause.start)}`;
    lines.push([`${queueName(pause.queue)} paused`, by, hues.of(pause.cause)]);
  }
  return lines;
}

function nodeLines({ data }: Context, snapshot: Snapshot | null, node: number): Line[] {
  const found = data.topology.nodes[node];
  if (!found) return [];
  const kind =
    found.kind === "switch" ? `switch, layer ${found.layer}` : found.kind === "relay" ? "relaying host" : "host";
  const lines: Line[] = [
    ["kind", kind],
    ["ports", String(found.portCount)],
  ];
  if (!snapshot) return lines;
  const last = found.firstPort + found.portCount;
  const bytes = snapshot.queued.subarray(found.firstPort, last).reduce((a, b) => a + b, 0);
  const paused = snapshot.pauses.filter(({ port }) => port >= found.firstPort && port < last);
  return [...lines, ["queued", size(bytes)], ["paused queues", String(paused.length)]];
}
