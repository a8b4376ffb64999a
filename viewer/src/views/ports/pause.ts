/** A single pause: its time, its cause, and the chain of pauses up to the root. */

import type { Pause } from "../../data/model";
import { duration, instant, size } from "../../format";
import { portName, portTitle, queueName } from "../../names";
import { around } from "../../state";
import { button, fill, h, link, quiet, reason, swatch } from "../../ui/dom";
import type { Context } from "../../ui/view";

/** Number of bins requested around one time; enough for single pauses instead of shares. */
const BINS = 64;

/** Finds the pause of a queue that began at a time. */
export async function findPause({ data }: Context, port: number, queue: number, start: number): Promise<Pause | null> {
  const bars = await data.pauses(port, Math.max(0, start - 1), Math.min(data.info.end, start + 1), BINS);
  return bars.find((bar) => bar.pause?.queue === queue && bar.pause.start === start)?.pause ?? null;
}

/** Returns the pause that caused this one; null at the end of the chain. */
async function parentOf(context: Context, { via, parentQueue, parentStart }: Pause): Promise<Pause | null> {
  return via === null || parentQueue === null || parentStart === null
    ? null
    : findPause(context, via, parentQueue, parentStart);
}

const key = ({ port, queue, start }: Pause): string => `${port} ${queue} ${start}`;

/** Returns the chain from a pause to the one next to the root. */
async function chainOf(context: Context, pause: Pause): Promise<Pause[]> {
  const chain = [pause];
  const seen = new Set([key(pause)]);
  for (let last = pause; ;) {
    const parent = await parentOf(context, last);
    // PAUSEs may form a cycle.
    if (!parent || seen.has(key(parent))) return chain;
    seen.add(key(parent));
    chain.push(parent);
    last = parent;
  }
}

/** Selects a pause, and moves the range if the pause is outside of it. */
export function select({ data, store }: Context, { port, queue, start, end }: Pause): void {
  const { from, to, time } = store.state;
  const middle = (start + end) / 2;
  const isOut = end < from || start > to;
  const range = isOut ? { from: middle - (to - from) / 2, to: middle + (to - from) / 2 } : {};
  const at = time >= start && time <= end ? time : Math.min(end, Math.max(start, isOut ? middle : from));
  store.jump({ view: "ports", port: portName(data.topology, port), pause: { queue, start }, time: at, ...range });
}

/** Writes the description of a pause into `box`, and its chain when known. */
export function describe(context: Context, box: HTMLElement, pause: Pause): void {
  const { data, store, hues } = context;
  const { topology } = data;
  const { port, queue, start, end, cause, via, parentStart, isOpen } = pause;
  const step = Math.max(1, store.span / 10000);
  const chain = h("ol", { class: "chain", "aria-live": "polite" }, h("li", { class: "quiet" }, "…"));
  const parent = h("button", { "data-key": "parent", disabled: true }, "Parent pause");
  const toRoot = (time: number): void =>
    store.jump({ view: "ports", port: portName(topology, cause), pause: null, time });
  const zoom = (): void => store.jump({ ...around(start, end, 0.5), time: start });
  const ending = parentStart === null ? "." : " and was paused itself.";
  const by =
    via === null
      ? "."
      : via === cause
        ? ", which held most of the bytes from here."
        : `, via ${portTitle(topology, via)}, which held most of the bytes from here${ending}`;
  const until = isOpen ? "the end of the run" : instant(end, step);
  const root = button(`Root: ${portName(topology, cause)}`, "root", () => toRoot(store.state.time));
  const title = `${queueName(queue)} of ${portName(topology, port)} paused for ${duration(end - start)}`;
  const facts = {
    class: "pause-facts",
    "data-pause": `${queue}@${start}`,
    "data-cause": portName(topology, cause),
    "data-via": via === null ? "" : portName(topology, via),
    "data-length": end - start,
  };
  fill(
    box,
    h(
      "div",
      facts,
      h("h3", {}, swatch(hues.of(cause)), title),
      h("p", {}, `From ${instant(start, step)} until ${until}, caused by `, h("b", {}, portTitle(topology, cause)), by),
      h("div", { class: "buttons" }, parent, root, button("Zoom to the pause", "zoom-pause", zoom)),
    ),
    h("div", { class: "pause-chain" }, h("h3", {}, "From here to the root"), chain),
  );
  void chainOf(context, pause).then(
    (pauses) => {
      const [before, last] = [pauses[1], pauses[pauses.length - 1] ?? pause];
      if (before) {
        parent.disabled = false;
        parent.addEventListener("click", () => select(context, before));
      } else
        parent.title =
          parentStart === null ? "No other pause caused this one." : "The parent pause is not in the result.";
      const links = pauses.map((each, index) => {
        const { port, queue, start, end } = each;
        const name = portTitle(topology, port);
        return h(
          "li",
          { "data-port": portName(topology, port), "data-queue": queue, "data-start": start },
          index === 0 ? h("b", {}, name) : link(name, key(each), () => select(context, each)),
          quiet(` ${queueName(queue)}, since ${instant(start, step)}, for ${duration(end - start)}`),
        );
      });
      const held = quiet("");
      const end = h(
        "li",
        { class: "chain-root", "data-root": portName(topology, last.cause) },
        swatch(hues.of(last.cause)),
        link(portTitle(topology, last.cause), "chain-root", () => toRoot(last.start)),
        quiet(" the root"),
        held,
      );
      fill(chain, ...links, end);
      void data.snapshot(last.start).then(
        (then) => (held.textContent = `, ${size(then.queued[last.cause] ?? 0)} queued at the start of the pause`),
        () => {},
      );
    },
    (error) => fill(chain, h("li", {}, reason(error))),
  );
}
