/** Pauses of a port's queues over time, one lane per queue, coloured by cause. */

import type { PauseBar } from "../../data/model";
import { counted, duration, percent } from "../../format";
import { portName, portTitle, queueName } from "../../names";
import { faded } from "../../ui/chart";
import { chartSection, fill, h, legendKey } from "../../ui/dom";
import { Lanes, type Sheet, clipped, gutterText } from "../../ui/lanes";
import { token } from "../../ui/theme";
import { hide, show } from "../../ui/tooltip";
import { type Context, pauseLines } from "../../ui/view";

const LANE = 22;
/** Minimum width of a pause, in pixels. */
const MIN_WIDTH = 2;
/** Maximum number of causes in the legend. */
const MAX_CAUSES = 8;

export class PauseBars {
  readonly element: HTMLElement;
  readonly #lanes: Lanes;
  readonly destroy: () => void;
  readonly #legend = h("div", { class: "chart-legend" });
  #bars: PauseBar[] = [];
  #queues: number[] = [];
  #isRead = false;

  constructor(
    readonly context: Context,
    readonly choose: (bar: PauseBar) => void,
  ) {
    this.#lanes = new Lanes({
      store: context.store,
      label: "Pauses of this port's queues, by cause",
      height: LANE,
      paint: (sheet) => this.#paint(sheet),
      hover: (event, y, time) => this.#hover(event, y, time),
      click: (_, y, time) => {
        const bar = this.#at(y, time);
        if (bar) choose(bar);
      },
    });
    this.destroy = this.#lanes.destroy;
    const title = h("h3", {}, "Paused, by cause");
    this.element = chartSection("pauses", "Pauses", title, this.#legend, this.#lanes.element);
  }

  set(bars: PauseBar[]): void {
    this.#bars = bars;
    this.#isRead = true;
    this.#queues = [...new Set(bars.map((bar) => bar.queue))].sort((a, b) => a - b);
    this.#lanes.resize(LANE * Math.max(1, this.#queues.length));
    this.mark();
  }

  /** Removes all bars, before those of another port are read. */
  clear(): void {
    this.set([]);
    this.#isRead = false;
  }

  /** Updates legend and selection. */
  mark(): void {
    const { data, hues } = this.context;
    const causes = new Map<number, number>();
    const { from, to } = this.context.store.state;
    for (const bar of this.#bars) causes.set(bar.cause, (causes.get(bar.cause) ?? 0) + pausedIn(bar, from, to));
    const longest = [...causes].sort((a, b) => b[1] - a[1]).slice(0, MAX_CAUSES);
    const keys = longest.map(([cause, length]) => {
      const facts = { "data-cause": portName(data.topology, cause), "data-value": length };
      return legendKey(hues.of(cause), portTitle(data.topology, cause), duration(length), facts);
    });
    fill(this.#legend, ...keys);
    this.#lanes.redraw();
  }

  #at(y: number, time: number): PauseBar | null {
    const queue = this.#queues[Math.floor(y / LANE)];
    const slack = MIN_WIDTH * this.#lanes.step;
    let best: PauseBar | null = null;
    for (const bar of this.#bars) {
      if (bar.queue !== queue || time < bar.start - slack || time > bar.end + slack) continue;
      if (time >= bar.start && time <= bar.end) return bar;
      if (!best || bar.end - bar.start > best.end - best.start) best = bar;
    }
    return best;
  }

  #hover(event: PointerEvent, y: number, time: number): void {
    const bar = this.#at(y, time);
    if (!bar) return hide();
    const lines = pauseLines(this.context, bar);
    if (bar.pause?.hops != null) lines.push(["links from the cause", String(bar.pause.hops)]);
    if (!bar.pause) lines.push(["paused", percent(bar.share)]);
    show(
      event,
      `${queueName(bar.queue)} paused`,
      lines,
      bar.pause ? "click to follow the pause to its cause" : "several pauses: click to zoom in",
    );
  }

  #paint({ draw, left, width, height, x }: Sheet): void {
    const { store, hues } = this.context;
    const { pause } = store.state;
    this.#queues.forEach((queue, index) => {
      gutterText(draw, queueName(queue), index * LANE + LANE / 2);
      draw.fillStyle = token("lane");
      draw.fillRect(left, index * LANE + 3, width, LANE - 6);
    });
    if (this.#queues.length === 0) {
      draw.font = `11px ${token("sans")}`;
      draw.textBaseline = "middle";
      draw.textAlign = "left";
      draw.fillStyle = token("muted");
      const { hasPauses } = this.context.data.info;
      draw.fillText(this.#isRead ? summary(hasPauses, [], 0, 0) : "loading …", left + 6, height / 2);
      return;
    }
    clipped(draw, [left, 0, width, height], () => {
      for (const bar of this.#bars) {
        const top = this.#queues.indexOf(bar.queue) * LANE + 3;
        const [from, to] = [x(bar.start), x(bar.end)];
        const colour = hues.of(bar.cause);
        draw.fillStyle = bar.pause ? colour : faded(colour, 0.25 + 0.75 * bar.share);
        // Adjacent bars have a gap if they are wide enough.
        draw.fillRect(from, top, Math.max(MIN_WIDTH, to - from - (to - from > 4 ? 1 : 0)), LANE - 6);
        if (!pause || bar.pause?.queue !== pause.queue || bar.start !== pause.start) continue;
        draw.strokeStyle = token("ink");
        draw.lineWidth = 2;
        draw.strokeRect(from - 1, top - 1, Math.max(MIN_WIDTH, to - from) + 2, LANE - 4);
      }
    });
  }
}

/** Returns the paused time of a bar within a range. */
function pausedIn(bar: PauseBar, from: number, to: number): number {
  return Math.max(0, Math.min(bar.end, to) - Math.max(bar.start, from)) * bar.share;
}

/** Summarises the pauses of a port in a range. */
export function summary(hasPauses: boolean, bars: readonly PauseBar[], from: number, to: number): string {
  if (!hasPauses) return "pauses were not recorded";
  const total = bars.reduce((sum, bar) => sum + pausedIn(bar, from, to), 0);
  if (total === 0) return "not paused in this range";
  const single = bars.every((bar) => bar.pause);
  return single
    ? `${counted(bars.length, "pause")}, ${duration(total)} in all`
    : `paused for ${duration(total)} in all`;
}
