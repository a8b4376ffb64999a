/**
 * Overview of the whole run in the footer: queued bytes and paused queues. A drag selects the time
 * range of all other charts.
 */

import type { Band } from "../data/model";
import { DASH, count, size } from "../format";
import { niceBytes } from "../scale";
import { GUTTER, RIGHT, faded, valueAt } from "./chart";
import { type Axis, bindClock } from "./clock";
import { h, reason } from "./dom";
import { prepare, strokeLine } from "./lanes";
import { onTheme, token } from "./theme";
import { type Context, type View, oncePerFrame, onResize, serialised, together } from "./view";

const HEIGHT = 56;
const SPLIT = 36;

export function overview({ data, store }: Context, name: string | null): View {
  const canvas = h("canvas", { role: "img", "aria-label": "Queued bytes and paused queues over the whole run" });
  const queued = h("span", { class: "value", "data-readout": "queued" });
  const paused = h("span", { class: "value", "data-readout": "paused" });
  const labels = h(
    "div",
    { class: "overview-labels" },
    name !== null && h("div", { class: "overview-run", title: name }, name),
    h("div", {}, h("span", {}, "queued"), queued),
    h("div", {}, h("span", { class: "paused-word" }, "paused"), paused),
  );
  const element = h("div", { class: "overview" }, canvas, labels);
  let bands: { queued: Band; paused: Band } | null = null;
  let width = 0;
  let loadedWidth = 0;
  const axis = (): Axis => ({
    left: GUTTER,
    width: Math.max(1, width - GUTTER - RIGHT),
    from: 0,
    to: store.end,
  });

  const redraw = oncePerFrame(() => {
    const draw = prepare(canvas, width, HEIGHT);
    if (!draw) return;
    const { left, width: across } = axis();
    const x = (time: number): number => left + (time / store.end) * across;
    if (bands) {
      area(draw, bands.queued, x, 4, SPLIT, token("hue-0"));
      area(draw, bands.paused, x, SPLIT + 4, HEIGHT - 2, token("paused"));
    }
    const { from, to } = store.state;
    draw.fillStyle = token("veil");
    draw.fillRect(left, 0, x(from) - left, HEIGHT);
    draw.fillRect(x(to), 0, left + across - x(to), HEIGHT);
    draw.strokeStyle = token("accent");
    draw.lineWidth = 1;
    draw.strokeRect(Math.round(x(from)) + 0.5, 0.5, Math.max(2, Math.round(x(to) - x(from)) - 1), HEIGHT - 1);
  });
  const write = (): void => {
    const [queuedRange] = bands ? [valueAt(bands.queued, store.state.time)] : [null];
    const pausedRange = bands ? valueAt(bands.paused, store.state.time) : null;
    queued.textContent = atMost(queuedRange, size);
    paused.textContent = atMost(pausedRange, count);
    queued.dataset["value"] = String(queuedRange?.[1] ?? "");
    paused.dataset["value"] = String(pausedRange?.[1] ?? "");
  };
  const load = serialised(
    async () => {
      loadedWidth = width;
      bands = await data.overview(0, store.end, Math.max(50, Math.round(axis().width / 1.5)));
      write();
      redraw();
    },
    (error) => {
      labels.title = reason(error);
    },
  );
  const resize = (): void => {
    width = element.clientWidth;
    clock.place();
    redraw();
    if (Math.abs(width - loadedWidth) > 40) load();
  };
  const clock = bindClock(element, axis, store);
  const destroy = together(
    onResize(element, resize),
    clock.destroy,
    redraw.stop,
    load.stop,
    onTheme(redraw),
    store.on(["from", "to"], redraw),
    store.on(["time"], write),
  );
  return { element, destroy };
}

/** Formats the maximum of a bin; `≤` marks a bin with different values. */
function atMost(found: [number, number] | null, write: (value: number) => string): string {
  return found === null ? DASH : `${found[0] === found[1] ? "" : "≤ "}${write(found[1])}`;
}

/** Draws the maxima of a band as a line, and the area below. */
function area(
  draw: CanvasRenderingContext2D,
  band: Band,
  x: (time: number) => number,
  top: number,
  bottom: number,
  colour: string,
): void {
  let maximum = 1;
  for (const value of band.max) if (value > maximum) maximum = value;
  if (maximum > 1000) maximum = niceBytes(maximum);
  const y = (value: number): number => bottom - (value / maximum) * (bottom - top);
  draw.strokeStyle = token("grid");
  strokeLine(draw, x(0), bottom + 0.5, x(band.times[band.times.length - 1] ?? 0), bottom + 0.5);
  draw.beginPath();
  let first: number | null = null;
  let last = 0;
  band.times.forEach((time, index) => {
    const value = band.max[index] ?? Number.NaN;
    if (Number.isNaN(value)) return;
    if (first === null) draw.moveTo(x(time), y(value));
    else draw.lineTo(x(time), y(value));
    first ??= time;
    last = time;
  });
  if (first === null) return;
  draw.strokeStyle = colour;
  draw.lineWidth = 1.2;
  draw.stroke();
  draw.lineTo(x(last), bottom);
  draw.lineTo(x(first), bottom);
  draw.fillStyle = faded(colour, 0.25);
  draw.fill();
}
