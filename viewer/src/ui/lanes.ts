/** A canvas with a time axis aligned to the charts, for shapes that uPlot does not have. */

import type { Store } from "../state";
import { ticks } from "../scale";
import { instant } from "../format";
import { bindClock, type Clock } from "./clock";
import { AXIS, GUTTER, RIGHT } from "./chart";
import { h } from "./dom";
import { onTheme, token } from "./theme";
import { hide } from "./tooltip";
import { Cleanup, oncePerFrame } from "./view";

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
  readonly #cleanup = new Cleanup();
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
    const sizes = new ResizeObserver(() => {
      this.#width = this.element.clientWidth;
      this.#clock.place();
      this.redraw();
    });
    sizes.observe(this.element);
    this.#cleanup.add(
      () => sizes.disconnect(),
      () => this.redraw.stop(),
      () => this.#clock.destroy(),
      onTheme(() => this.redraw()),
      options.store.subscribe((_, changed) => {
        if (changed.has("from") || changed.has("to")) this.redraw();
      }),
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

  destroy(): void {
    hide();
    this.#cleanup.run();
  }

  #axis(): { left: number; width: number; from: number; to: number } {
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
      draw.beginPath();
      draw.moveTo(at, 0);
      draw.lineTo(at, this.#height + 4);
      draw.stroke();
      draw.fillStyle = token("muted");
      draw.textAlign = at > left + width - 30 ? "right" : at < left + 30 ? "left" : "center";
      draw.fillText(instant(mark, step), at, this.#height + 8);
    }
  }
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
