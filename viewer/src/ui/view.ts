/** Interface and context of views, and helpers for their updates. */

import type { Hues } from "../colours";
import type { Data } from "../data/data";
import type { Store } from "../state";

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

/** Actions to run when a view is destroyed. */
export class Cleanup {
  readonly #actions: (() => void)[] = [];

  add(...actions: (() => void)[]): void {
    this.#actions.push(...actions);
  }

  /** Runs all actions, the last one first. */
  run(): void {
    for (const action of this.#actions.splice(0).reverse()) action();
  }
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

/** Message of an error. */
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Waits a moment before a range is read, because the wheel passes through many ranges. */
export const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 60));
