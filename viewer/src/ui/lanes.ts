/** A canvas with a time axis aligned to the charts, for shapes that uPlot does not have. */

import type { Store } from "../state";
import { ticks } from "../scale";
import { instant } from "../format";
import { type Axis, bindClock, type Clock } from "./clock";
import { AXIS, GUTTER, RIGHT } from "./chart";
import { h } from "./dom";
import { onTheme, token } from "./theme";
import { hide } from "./tooltip";
import { oncePerFrame, onResize, together } from "./view";

/** Drawing surface of a canvas of lanes. */
export interface Sheet {
  draw: CanvasRenderingContext2D;
  left: number;
  width: number;
  height: number;
  x(time: number): number;
}

interface LaneOptions {
  store: Store;
  label: string;
  height: number;
  paint(sheet: Sheet): void;
  /** Called with the position of the pointer on the canvas, in pixels, and its time. */
  hover?(event: PointerEvent, y: number, time: number): void;
  click?(event: MouseEvent, y: number, time: number): void;
  /** True if the time axis is drawn below. */
  hasAxis?: boolean;
}

export class Lanes {
  readonly element: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #options: LaneOptions;
  readonly destroy: () => void;
  readonly #clock: Clock;
  readonly redraw: ReturnType<typeof oncePerFrame>;
  #height: number;
  #width = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#height = options.height;
    this.#canvas = h("canvas", { role: "img", "aria-label": options.label });
    this.element = h("div", { class: "lanes" }, this.#canvas);
    this.redraw = oncePerFrame(() => this.#draw());
    this.#clock = bindClock(
      this.element,
      () => this.#axis(),
      options.store,
      (event, time) => options.click?.(event, this.#y(event), time),
    );
    const resize = (): void => {
      this.#width = this.element.clientWidth;
      this.#clock.place();
      this.redraw();
    };
    this.destroy = together(
      onResize(this.element, resize),
      () => this.redraw.stop(),
      () => this.#clock.destroy(),
      onTheme(() => this.redraw()),
      options.store.on(["from", "to"], () => this.redraw()),
      hide,
    );
    this.element.addEventListener("pointermove", (event) =>
      options.hover?.(event, this.#y(event), this.#clock.timeAt(event.clientX)),
    );
    this.element.addEventListener("pointerleave", hide);
    this.resize(options.height);
  }

  resize(height: number): void {
    this.#height = height;
    this.element.style.height = `${height + (this.#options.hasAxis === true ? AXIS : 0)}px`;
    this.redraw();
  }

  /** Time per pixel. */
  get step(): number {
    return this.#options.store.span / Math.max(1, this.#axis().width);
  }

  #axis(): Axis {
    const { from, to } = this.#options.store.state;
    return { left: GUTTER, width: Math.max(1, this.#width - GUTTER - RIGHT), from, to };
  }

  #y(event: MouseEvent): number {
    return event.clientY - this.element.getBoundingClientRect().top;
  }

  #draw(): void {
    const { left, width, from, to } = this.#axis();
    const full = this.#height + (this.#options.hasAxis === true ? AXIS : 0);
    const draw = prepare(this.#canvas, this.#width, full);
    if (!draw) return;
    const x = (time: number): number => left + ((time - from) / (to - from)) * width;
    if (this.#options.hasAxis === true) this.#drawAxis(draw, left, width, x);
    this.#options.paint({ draw, left, width, height: this.#height, x });
  }

  #drawAxis(draw: CanvasRenderingContext2D, left: number, width: number, x: (time: number) => number): void {
    const { from, to } = this.#options.store.state;
    const marks = ticks(from, to, width / 110);
    const step = (marks[1] ?? to) - (marks[0] ?? from);
    draw.font = `11px ${token("sans")}`;
    draw.textBaseline = "top";
    for (const mark of marks) {
      const at = Math.round(x(mark)) + 0.5;
      draw.strokeStyle = token("grid");
      strokeLine(draw, at, 0, at, this.#height + 4);
      draw.fillStyle = token("muted");
      draw.textAlign = at > left + width - 30 ? "right" : at < left + 30 ? "left" : "center";
      draw.fillText(instant(mark, step), at, this.#height + 8);
    }
  }
}

/** Paints within a rectangle. */
export function clipped(
  draw: CanvasRenderingContext2D,
  [x, y, width, height]: readonly [number, number, number, number],
  paint: () => void,
): void {
  draw.save();
  draw.beginPath();
  draw.rect(x, y, width, height);
  draw.clip();
  paint();
  draw.restore();
}

export function strokeLine(draw: CanvasRenderingContext2D, ax: number, ay: number, bx: number, by: number): void {
  draw.beginPath();
  draw.moveTo(ax, ay);
  draw.lineTo(bx, by);
  draw.stroke();
}

/** Writes a text beside the lanes, shortened to the available width. */
export function gutterText(draw: CanvasRenderingContext2D, text: string, y: number, isName = false): void {
  draw.textAlign = "right";
  draw.textBaseline = "middle";
  draw.font = `${isName ? "600 " : ""}11px ${token("sans")}`;
  draw.fillStyle = token(isName ? "ink" : "muted");
  draw.fillText(fit(draw, text, GUTTER - 16), GUTTER - 10, y);
}

/** Shortens a text to the available width. */
function fit(draw: CanvasRenderingContext2D, text: string, room: number): string {
  if (draw.measureText(text).width <= room) return text;
  let length = text.length - 1;
  while (length > 1 && draw.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return `${text.slice(0, length)}…`;
}

/** Resizes a canvas to its size on the screen, and clears it. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  if (width <= 0 || height <= 0) return null;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const draw = canvas.getContext("2d");
  if (!draw) return null;
  draw.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw.clearRect(0, 0, width, height);
  return draw;
}
