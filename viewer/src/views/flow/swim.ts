/** Latency breakdown of a flow's last packet as swim lanes, one per port. */

import { termColour } from "../../colours";
import type { PauseBar, Step } from "../../data/model";
import { duration, instant, percent } from "../../format";
import { portName, portTitle } from "../../names";
import { faded } from "../../ui/chart";
import { chartSection, fill, h, legendKey, link, swatch } from "../../ui/dom";
import { inkOn } from "../../ui/ink";
import { Lanes, type Sheet, clipped, gutterText, strokeLine } from "../../ui/lanes";
import { type Row, table } from "../../ui/table";
import { token } from "../../ui/theme";
import { hide, show } from "../../ui/tooltip";
import { type Context, pauseLines } from "../../ui/view";
import { reasonOf } from "../../words";

const LANE = 36;
const PAD = 4;
/** Height of the strip below a lane that shows the pauses of the port. */
const STRIP = 5;
/** Maximum number of causes in the legend that appear in strips only. */
const NAMED = 6;
const BAR = LANE - 2 * PAD - STRIP - 2;

/** Pauses of a port. */
export interface PortPauses {
  port: number;
  bars: readonly PauseBar[];
}

export class SwimLanes {
  readonly element: HTMLElement;
  readonly #lanes: Lanes;
  readonly destroy: () => void;
  readonly #legend = h("div", { class: "chart-legend" });
  readonly #table = h("details", { class: "steps" });
  readonly #title = h("h3", {});
  readonly #note = h("p", { class: "quiet lanes-note" });
  #steps: Step[] = [];
  #ports: number[] = [];
  #pauses: readonly PortPauses[] = [];

  constructor(readonly context: Context) {
    this.#lanes = new Lanes({
      store: context.store,
      label: "Latency breakdown of the packet that completed the flow; the table below has the same data",
      height: LANE,
      hasAxis: true,
      paint: (sheet) => this.#paint(sheet),
      hover: (event, y, time) => this.#hover(event, y, time),
    });
    this.destroy = this.#lanes.destroy;
    const content = [this.#lanes.element, this.#note, this.#table];
    this.element = chartSection("path", "Swim lanes", this.#title, this.#legend, ...content);
  }

  set(steps: Step[], path: readonly number[]): void {
    this.#steps = steps;
    this.#pauses = [];
    this.#ports = [...new Set([...path, ...steps.map((step) => step.port)])];
    this.#lanes.resize(LANE * Math.max(1, this.#ports.length));
    this.mark();
    const strips = "The strip below each lane shows when the port was paused for the flow's class.";
    this.element.dataset["chart"] = steps.length > 0 ? "lanes" : "path";
    this.#title.textContent = steps.length > 0 ? "Last packet" : "Path";
    this.#note.textContent =
      steps.length > 0
        ? "Lengths are exact. Times with the same reason at one port are added up, " +
          `so their order at a port is not that of time. ${strips}`
        : strips;
    this.#table.hidden = steps.length === 0;
    const total = steps.reduce((sum, step) => sum + step.length, 0);
    const rows = steps.map((step, index) => this.#row(step, index, total));
    fill(
      this.#table,
      h("summary", {}, `Data as a table: ${steps.length} steps, ${duration(total)}`),
      table(["<port", "<reason", "from", "for", "share"], rows),
    );
  }

  get ports(): readonly number[] {
    return this.#ports;
  }

  /** Sets the pauses of the ports. */
  setPauses(pauses: readonly PortPauses[]): void {
    this.#pauses = pauses;
    this.mark();
  }

  mark(): void {
    const sums = new Map<string, { step: Step; length: number }>();
    for (const step of this.#steps) {
      const key = `${step.term} ${step.cause ?? ""}`;
      sums.set(key, { step, length: (sums.get(key)?.length ?? 0) + step.length });
    }
    const keys = [...sums.values()]
      .sort((a, b) => b.length - a.length)
      .map(({ step, length }) => {
        const facts = { "data-term": step.term, "data-cause": this.#name(step.cause), "data-value": length };
        return legendKey(this.#colour(step), this.#label(step), duration(length), facts);
      });
    const inSteps = new Set(this.#steps.map((step) => step.cause));
    const causes = new Set(
      this.#pauses.flatMap(({ bars }) => bars.map((bar) => bar.cause)).filter((cause) => !inSteps.has(cause)),
    );
    const others = [...causes].slice(0, NAMED).map((cause) => {
      const name = this.#name(cause);
      return legendKey(this.context.hues.of(cause), `paused by ${name}`, null, { "data-cause": name });
    });
    fill(this.#legend, ...keys, ...others);
    this.#lanes.redraw();
  }

  #name(port: number | null): string {
    return port === null ? "" : portName(this.context.data.topology, port);
  }

  #label({ term, cause }: Step): string {
    return term === "paused" ? `paused by ${cause === null ? "unknown ports" : this.#name(cause)}` : term;
  }

  #colour({ term, cause }: Step): string {
    return term === "paused" && cause !== null ? this.context.hues.of(cause) : termColour(term);
  }

  #row(step: Step, index: number, total: number): Row {
    const { store, data } = this.context;
    const { port, term, cause, start, length } = step;
    const jump = (): void => store.jump({ time: start + length / 2 });
    return [
      {
        "data-port": this.#name(port),
        "data-term": term,
        "data-cause": this.#name(cause),
        "data-start": start,
        "data-length": length,
      },
      link(portTitle(data.topology, port), `step ${index}`, jump, "Set the cursor to this step"),
      [swatch(this.#colour(step)), reasonOf(term, cause === null ? null : this.#name(cause))],
      instant(start, Math.max(1, store.end / 10000)),
      duration(length),
      percent(length / Math.max(1, total)),
    ];
  }

  #hover(event: PointerEvent, y: number, time: number): void {
    const port = this.#ports[Math.floor(y / LANE)];
    if (y % LANE > PAD + BAR) return this.#hoverPause(event, port, time);
    const slack = 2 * this.#lanes.step;
    const near = this.#steps.filter(
      (step) => step.port === port && time >= step.start - slack && time <= step.start + step.length + slack,
    );
    const step = near.find((step) => time >= step.start && time <= step.start + step.length) ?? near[0];
    if (!step) return hide();
    const { store, data } = this.context;
    const lines = [
      ["at", portTitle(data.topology, step.port)],
      ["from", instant(step.start, store.span / 1000)],
      ["for", duration(step.length)],
    ] as const;
    show(event, reasonOf(step.term, step.cause === null ? null : this.#name(step.cause)), lines);
  }

  #hoverPause(event: PointerEvent, port: number | undefined, time: number): void {
    const slack = 2 * this.#lanes.step;
    const bars = this.#pauses.find((entry) => entry.port === port)?.bars;
    const bar = bars?.find((bar) => time >= bar.start - slack && time <= bar.end + slack);
    if (!bar || port === undefined) return hide();
    show(event, `${this.#name(port)} paused`, pauseLines(this.context, bar));
  }

  #paint({ draw, left, width, height, x }: Sheet): void {
    draw.textBaseline = "middle";
    this.#ports.forEach((port, index) => {
      draw.fillStyle = token("lane");
      draw.fillRect(left, index * LANE + PAD, width, BAR);
      draw.fillRect(left, index * LANE + PAD + BAR + 2, width, STRIP);
      gutterText(draw, portTitle(this.context.data.topology, port), index * LANE + PAD + BAR / 2);
    });
    clipped(draw, [left, 0, width, height], () => {
      for (const { port, bars } of this.#pauses) {
        const top = this.#ports.indexOf(port) * LANE + PAD + BAR + 2;
        for (const bar of bars) {
          draw.fillStyle = faded(this.context.hues.of(bar.cause), bar.pause ? 1 : 0.25 + 0.75 * bar.share);
          draw.fillRect(x(bar.start), top, Math.max(1, x(bar.end) - x(bar.start)), STRIP);
        }
      }
      for (const step of this.#steps) this.#paintStep(draw, step, x, left, width);
      this.#paintMoves(draw, x);
    });
  }

  #paintStep(
    draw: CanvasRenderingContext2D,
    step: Step,
    x: (time: number) => number,
    left: number,
    width: number,
  ): void {
    const top = this.#ports.indexOf(step.port) * LANE + PAD;
    const [from, to] = [x(step.start), x(step.start + step.length)];
    if (to < left || from > left + width) return;
    const colour = this.#colour(step);
    const height = BAR;
    draw.fillStyle = colour;
    draw.fillRect(from, top, Math.max(1, to - from), height);
    if (step.term === "paused") hatch(draw, Math.max(from, left - 20), top, Math.min(to, left + width + 20), height);
    const [shownFrom, shownTo] = [Math.max(from, left), Math.min(to, left + width)];
    const text = step.term === "paused" ? this.#label(step) : step.term;
    draw.font = `600 11px ${token("sans")}`;
    const wide = draw.measureText(text).width;
    if (wide + 10 > shownTo - shownFrom) return;
    draw.textAlign = "center";
    const middle = (shownFrom + shownTo) / 2;
    if (step.term === "paused") {
      draw.fillStyle = colour;
      draw.fillRect(middle - wide / 2 - 4, top + 2, wide + 8, height - 4);
    }
    draw.fillStyle = inkOn(colour);
    draw.fillText(text, middle, top + height / 2 + 0.5);
  }

  /** Paints thin lines between lanes where the packet moves to the next port. */
  #paintMoves(draw: CanvasRenderingContext2D, x: (time: number) => number): void {
    draw.strokeStyle = token("muted");
    draw.lineWidth = 1;
    this.#steps.forEach((step, index) => {
      const next = this.#steps[index + 1];
      if (!next || next.port === step.port) return;
      const [from, to] = [this.#ports.indexOf(step.port), this.#ports.indexOf(next.port)];
      const at = Math.round(x(next.start)) + 0.5;
      strokeLine(draw, at, from * LANE + PAD + BAR / 2, at, to * LANE + PAD + BAR / 2);
    });
  }
}

/** Paints stripes, so that time behind a PAUSE does not rely on the colour. */
function hatch(draw: CanvasRenderingContext2D, from: number, top: number, to: number, height: number): void {
  clipped(draw, [from, top, to - from, height], () => {
    draw.strokeStyle = token("hatch");
    draw.lineWidth = 2;
    draw.beginPath();
    for (let at = from - height - (from % 8); at < to; at += 8) {
      draw.moveTo(at, top + height);
      draw.lineTo(at + height, top);
    }
    draw.stroke();
  });
}
