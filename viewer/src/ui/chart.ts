/** A chart over time: bands of minima and maxima, on the time axis shared by all charts. */

import uPlot from "uplot";
import type { Band } from "../data/model";
import { DASH, instant } from "../format";
import { bisect, channels, ticks } from "../scale";
import type { Store } from "../state";
import { type Axis, bindClock, type Clock } from "./clock";
import { chartSection, fill, h, swatch } from "./dom";
import { align } from "./series";
import { onTheme, token } from "./theme";
import { onResize, together } from "./view";

/** Left and right margin of all plots, in pixels; equal, so that cursors are aligned. */
export const GUTTER = 128;
export const RIGHT = 20;
/** Height of a time axis, in pixels. */
export const AXIS = 24;

export interface Line {
  label: string;
  /** Colour on the canvas; called again when the theme changes. */
  colour: () => string;
  band: Band;
  dash?: number[];
  isFilled?: boolean;
  /** True if a value holds until the next one; otherwise lines connect values. */
  isStepped?: boolean;
}

interface ChartOptions {
  store: Store;
  title: string;
  /** Value of the attribute `data-chart`. */
  name: string;
  height: number;
  write: (value: number) => string;
  /** Minimum value of the upper end of the scale. */
  least: number;
  hasAxis?: boolean;
  /** Time between samples; lines bridge it. */
  interval?: number;
}

export class TimeChart {
  readonly element: HTMLElement;
  readonly #options: ChartOptions;
  readonly destroy: () => void;
  readonly #legend = h("div", { class: "chart-legend" });
  readonly #title: HTMLElement;
  readonly #plotted = h("div", { class: "chart-plot" });
  #plot: uPlot | null = null;
  #clock: Clock | null = null;
  #lines: Line[] = [];
  #hovered: number | null = null;
  #hasAxis: boolean;

  constructor(options: ChartOptions) {
    this.#options = options;
    this.#hasAxis = options.hasAxis === true;
    this.#title = h("h3", {}, options.title);
    this.element = chartSection(options.name, options.title, this.#title, this.#legend, this.#plotted);
    this.#plotted.style.height = `${this.#height()}px`;
    const resize = (): void => {
      const width = this.#plotted.clientWidth;
      if (width <= 0) return;
      if (this.#plot) this.#plot.setSize({ width, height: this.#height() });
      else this.#build();
      this.#clock?.place();
    };
    this.destroy = together(
      () => this.#plot?.destroy(),
      () => this.#clock?.destroy(),
      onResize(this.#plotted, resize),
      onTheme(() => this.#build()),
      options.store.on(["from", "to"], () => this.#rescale()),
      options.store.on(["time"], () => this.#write()),
    );
  }

  set(lines: Line[]): void {
    const isSame =
      lines.length === this.#lines.length && lines.every((line, index) => line.label === this.#lines[index]?.label);
    this.#lines = lines;
    if (isSame && this.#plot) this.#plot.setData(this.#data(), true);
    else this.#build();
    this.#write();
  }

  rename(title: string): void {
    this.#title.textContent = title;
    this.element.setAttribute("aria-label", title);
  }

  /** Shows or hides the time axis; in a stack, the last chart shows it. */
  showAxis(hasAxis: boolean): void {
    if (hasAxis === this.#hasAxis) return;
    this.#hasAxis = hasAxis;
    this.#plotted.style.height = `${this.#height()}px`;
    this.#build();
  }

  #height(): number {
    return this.#options.height + (this.#hasAxis ? AXIS : 6);
  }

  #extent(): [number, number] {
    const { from, to } = this.#options.store.state;
    return [from, to];
  }

  #data(): uPlot.AlignedData {
    return align(
      this.#lines.map((line) => line.band),
      this.#options.interval ?? 0,
    );
  }

  #rescale(): void {
    const [min, max] = this.#extent();
    this.#plot?.setScale("x", { min, max });
    this.#clock?.place();
  }

  #build(): void {
    const width = this.#plotted.clientWidth;
    this.#clock?.destroy();
    this.#plot?.destroy();
    this.#clock = null;
    this.#plot = null;
    // The element is hidden. The chart is built when the element has a size.
    if (width <= 0) return;
    const plot = new uPlot(this.#setup(width), this.#data(), this.#plotted);
    this.#plot = plot;
    const axis = (): Axis => {
      const [from, to] = this.#extent();
      return { left: 0, width: plot.over.clientWidth, from, to };
    };
    this.#clock = bindClock(plot.over, axis, this.#options.store);
  }

  #setup(width: number): uPlot.Options {
    const { write, least, name } = this.#options;
    const hasAxis = this.#hasAxis;
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    for (const line of this.#lines) {
      const colour = line.colour();
      const steps = line.isStepped === true ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
      const shape = {
        stroke: colour,
        width: 1.4,
        points: { show: false },
        ...(line.dash ? { dash: line.dash } : {}),
        ...(steps ? { paths: steps } : {}),
      };
      series.push(
        { ...shape, ...(line.isFilled === true ? { fill: faded(colour, 0.18) } : {}) },
        { ...shape, width: 0.6 },
      );
      bands.push({ series: [series.length - 2, series.length - 1], fill: faded(colour, 0.3) });
    }
    const grid = { stroke: token("grid"), width: 1 };
    const style = { stroke: token("muted"), font: `11px ${token("sans")}`, grid };
    const axes: uPlot.Axis[] = [
      {
        ...style,
        show: hasAxis,
        size: AXIS,
        ticks: { ...grid, size: 4 },
        gap: 4,
        splits: (plot) =>
          ticks(plot.scales["x"]?.min ?? 0, plot.scales["x"]?.max ?? 1, (plot.width - GUTTER - RIGHT) / 110),
        values: (_, marks) => marks.map((mark) => instant(mark, (marks[1] ?? mark * 2) - (marks[0] ?? 0))),
      },
      {
        ...style,
        size: GUTTER,
        ticks: { show: false },
        gap: 8,
        splits: (_, __, min, max) => ticks(min, max, Math.max(1, this.#options.height / 28)),
        values: (_, marks) => marks.map((mark) => write(mark)),
      },
    ];
    return {
      width,
      height: this.#height(),
      class: `chart-${name}`,
      series,
      bands,
      axes,
      padding: [6, RIGHT, hasAxis ? 0 : 4, 0],
      legend: { show: false },
      cursor: {
        drag: { x: false, y: false, setScale: false },
        y: false,
        points: { size: 5 },
        bind: { dblclick: () => null },
      },
      scales: {
        x: { time: false, range: () => this.#extent() },
        y: { range: (_, __, max) => [0, Math.max(max * 1.06, least)] },
      },
      hooks: {
        // The size of the plot is known only after drawing.
        draw: [() => this.#clock?.place()],
        setCursor: [
          (plot) => {
            const left = plot.cursor.left ?? -1;
            const next = left < 0 ? null : plot.posToVal(left, "x");
            if (next === this.#hovered) return;
            this.#hovered = next;
            this.#write();
          },
        ],
      },
    };
  }

  /** Writes the legend, with the values at the pointer or, without one, at the cursor. */
  #write(): void {
    const time = this.#hovered ?? this.#options.store.state.time;
    const items = this.#lines.map((line) => {
      const found = valueAt(line.band, time);
      const text =
        found === null
          ? DASH
          : found[0] === found[1]
            ? this.#options.write(found[1])
            : `${this.#options.write(found[0])} … ${this.#options.write(found[1])}`;
      const mark = swatch(line.colour(), line.dash ? "dash" : "line");
      const value = h("span", { class: "value", "data-value": found === null ? "" : found[1] }, text);
      return h("span", { class: "chart-key", "data-line": line.label }, mark, h("span", {}, line.label), value);
    });
    fill(this.#legend, ...items);
  }
}

/**
 * Returns the minimum and maximum of the bin nearest to a time. If values hold until the next one,
 * the last bin up to the time counts.
 */
export function valueAt(band: Band, time: number): [number, number] | null {
  const { isHeld } = band;
  const next = bisect(band.times.length, (bin) => (band.times[bin] ?? 0) <= time);
  const [before, after] = [band.times[next - 1], band.times[next]];
  const isBefore = before !== undefined && (isHeld || after === undefined || time - before <= after - time);
  const bin = isBefore ? next - 1 : next;
  const [min, max] = [band.min[bin], band.max[bin]];
  if ((isHeld && !isBefore) || min === undefined || max === undefined || Number.isNaN(max)) return null;
  return [min, max];
}

/** Adds transparency to a colour `#rrggbb`. */
export function faded(colour: string, share: number): string {
  return /^#[0-9a-f]{6}$/i.test(colour) ? `rgb(${channels(colour).join(" ")} / ${share})` : colour;
}
