/** Pauses of a port's queues over time, a lane per queue, coloured by cause. */

import type { PauseBar } from "../../data/model";
import { counted, duration, instant, percent } from "../../format";
import { portName, portTitle, queueName } from "../../names";
import { GUTTER, faded } from "../../ui/chart";
import { fill, h, swatch } from "../../ui/dom";
import { Lanes, type Sheet } from "../../ui/lanes";
import { token } from "../../ui/theme";
import { type Line, hide, show } from "../../ui/tooltip";
import type { Context } from "../../ui/view";

const LANE = 22;
/** Narrowest that a pause is drawn, in pixels. */
const LEAST = 2;
/** Causes that the legend names. */
const NAMED = 8;

export class PauseBars {
  readonly element: HTMLElement;
  readonly #lanes: Lanes;
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
    const head = h("div", { class: "chart-head" }, h("h3", {}, "Paused, by cause"), this.#legend);
    this.element = h(
      "section",
      { class: "chart", "data-chart": "pauses", "aria-label": "Pauses" },
      head,
      this.#lanes.element,
    );
  }

  set(bars: PauseBar[]): void {
    this.#bars = bars;
    this.#isRead = true;
    this.#queues = [...new Set(bars.map((bar) => bar.queue))].sort((a, b) => a - b);
    this.#lanes.resize(LANE * Math.max(1, this.#queues.length));
    this.mark();
  }

  /** Before those of another port are read. */
  clear(): void {
    this.set([]);
    this.#isRead = false;
  }

  /** After a change of colours or of what is selected. */
  mark(): void {
    const { data, hues } = this.context;
    const causes = new Map<number, number>();
    const { from, to } = this.context.store.state;
    for (const bar of this.#bars) causes.set(bar.cause, (causes.get(bar.cause) ?? 0) + pausedIn(bar, from, to));
    const longest = [...causes].sort((a, b) => b[1] - a[1]).slice(0, NAMED);
    const keys = longest.map(([cause, length]) =>
      h(
        "span",
        { class: "chart-key", "data-cause": portName(data.topology, cause), "data-value": length },
        swatch(hues.of(cause)),
        portTitle(data.topology, cause),
        h("span", { class: "value" }, duration(length)),
      ),
    );
    fill(this.#legend, ...keys);
    this.#lanes.redraw();
  }

  destroy(): void {
    this.#lanes.destroy();
  }

  #at(y: number, time: number): PauseBar | null {
    const queue = this.#queues[Math.floor(y / LANE)];
    const slack = LEAST * this.#lanes.step;
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
    const { data, store, hues } = this.context;
    const lines: Line[] = [
      { label: "from", value: instant(bar.start, store.span / 1000) },
      { label: "for", value: duration(bar.end - bar.start) },
      { label: "cause", value: portTitle(data.topology, bar.cause), colour: hues.of(bar.cause) },
    ];
    if (bar.pause?.hops != null) lines.push({ label: "links from there", value: String(bar.pause.hops) });
    if (!bar.pause) lines.push({ label: "paused", value: percent(bar.share) });
    show(
      event,
      `${queueName(bar.queue)} paused`,
      lines,
      bar.pause ? "click to follow it to its cause" : "several pauses: click to zoom in",
    );
  }

  #paint({ draw, left, width, height, x }: Sheet): void {
    const { store, hues } = this.context;
    const { pause } = store.state;
    draw.font = `11px ${token("sans")}`;
    draw.textBaseline = "middle";
    draw.textAlign = "right";
    this.#queues.forEach((queue, index) => {
      draw.fillStyle = token("muted");
      draw.fillText(queueName(queue), GUTTER - 10, index * LANE + LANE / 2);
      draw.fillStyle = token("lane");
      draw.fillRect(left, index * LANE + 3, width, LANE - 6);
    });
    if (this.#queues.length === 0) {
      draw.textAlign = "left";
      draw.fillStyle = token("muted");
      const { hasPauses } = this.context.data.info;
      draw.fillText(this.#isRead ? summary(hasPauses, [], 0, 0) : "reading …", left + 6, height / 2);
      return;
    }
    draw.save();
    draw.beginPath();
    draw.rect(left, 0, width, height);
    draw.clip();
    for (const bar of this.#bars) {
      const top = this.#queues.indexOf(bar.queue) * LANE + 3;
      const [from, to] = [x(bar.start), x(bar.end)];
      const colour = hues.of(bar.cause);
      draw.fillStyle = bar.pause ? colour : faded(colour, 0.25 + 0.75 * bar.share);
      // Neighbours stay apart where there is room for it.
      draw.fillRect(from, top, Math.max(LEAST, to - from - (to - from > 4 ? 1 : 0)), LANE - 6);
      if (!pause || bar.pause?.queue !== pause.queue || bar.start !== pause.start) continue;
      draw.strokeStyle = token("ink");
      draw.lineWidth = 2;
      draw.strokeRect(from - 1, top - 1, Math.max(LEAST, to - from) + 2, LANE - 4);
    }
    draw.restore();
  }
}

/** How long a bar was paused within a range. */
function pausedIn(bar: PauseBar, from: number, to: number): number {
  return Math.max(0, Math.min(bar.end, to) - Math.max(bar.start, from)) * bar.share;
}

export function summary(hasPauses: boolean, bars: readonly PauseBar[], from: number, to: number): string {
  if (!hasPauses) return "pauses were not recorded";
  const total = bars.reduce((sum, bar) => sum + pausedIn(bar, from, to), 0);
  if (total === 0) return "not paused in this range";
  const single = bars.every((bar) => bar.pause);
  return single
    ? `${counted(bars.length, "pause")}, ${duration(total)} in all`
    : `paused for ${duration(total)} in all`;
}
