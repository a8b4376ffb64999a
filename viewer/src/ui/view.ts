/** Interface and context of views, and helpers for their updates. */

import type { Hues } from "../colours";
import type { Data } from "../data/run";
import type { PauseBar } from "../data/model";
import { duration, instant } from "../format";
import { portName, portTitle } from "../names";
import type { Store } from "../state";
import { link } from "./dom";
import type { Line } from "./tooltip";

/** Context of a view: a run, the store shared by all runs, and the colours of causes. */
export interface Context {
  data: Data;
  store: Store;
  hues: Hues;
}

export interface View {
  element: HTMLElement;
  destroy(): void;
}

/** Creates a link that opens a port. It names the port and, unless `isShort`, the peer. */
export function portLink({ data, store }: Context, port: number, key = `port ${port}`, isShort = false): HTMLElement {
  const [name, title] = [portName(data.topology, port), portTitle(data.topology, port)];
  const open = (): void => store.jump({ view: "ports", port: name });
  return isShort ? link(name, key, open, `${title}: open this port`) : link(title, key, open);
}

/** Lines of a tooltip about a pause or several. */
export function pauseLines({ data, store, hues }: Context, { start, end, cause }: PauseBar): Line[] {
  return [
    ["from", instant(start, store.span / 1000)],
    ["for", duration(end - start)],
    ["cause", portTitle(data.topology, cause), hues.of(cause)],
  ];
}

/** Returns a function that runs all actions, the last one first. */
export function together(...actions: (() => void)[]): () => void {
  return () => actions.reverse().forEach((action) => action());
}

/** Calls `act` whenever an element has a new size; returns a function that stops the calls. */
export function onResize(element: HTMLElement, act: () => void): () => void {
  const sizes = new ResizeObserver(act);
  sizes.observe(element);
  return () => sizes.disconnect();
}

/**
 * Returns a function that runs `work`, never twice at the same time. Calls during a run cause a
 * single further run, so that dragging the cursor builds up no queue. `failed` receives errors,
 * until `stop` is called.
 */
export function serialised(
  work: (isCurrent: () => boolean) => Promise<void>,
  failed: (error: unknown) => void,
): { (): void; stop(): void } {
  let isRunning = false;
  let isWanted = false;
  let isStopped = false;
  const go = async (): Promise<void> => {
    isRunning = true;
    while (isWanted && !isStopped) {
      isWanted = false;
      try {
        await work(() => !isStopped);
      } catch (error) {
        if (!isStopped) failed(error);
      }
    }
    isRunning = false;
  };
  const request = (): void => {
    isWanted = true;
    if (!isRunning && !isStopped) void go();
  };
  request.stop = () => {
    isStopped = true;
  };
  return request;
}

/** Returns a function that calls `draw` at most once per frame of the display. */
export function oncePerFrame(draw: () => void): { (): void; stop(): void } {
  let frame = 0;
  let isStopped = false;
  const request = (): void => {
    if (frame !== 0 || isStopped) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      draw();
    });
  };
  request.stop = () => {
    isStopped = true;
    cancelAnimationFrame(frame);
  };
  return request;
}

/** Waits a moment before a range is read, because the wheel passes through many ranges. */
export const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 60));
