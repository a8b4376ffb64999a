/** What every view has, and what it gets. */

import type { Hues } from "../colours";
import type { Data } from "../data/data";
import type { Store } from "../state";

/** A run, the store that all runs share, and the colours of its causes. */
export interface Context {
  data: Data;
  store: Store;
  hues: Hues;
}

export interface View {
  element: HTMLElement;
  destroy(): void;
}

/** What has to be undone when a view goes. */
export class Bin {
  readonly #undo: (() => void)[] = [];

  add(...undo: (() => void)[]): void {
    this.#undo.push(...undo);
  }

  empty(): void {
    for (const undo of this.#undo.splice(0).reverse()) undo();
  }
}

/**
 * Runs one after the other: of calls while one is running, only the last counts, so that a cursor that is dragged never builds up a queue.
 * What fails is told to `failed`; nothing is told once it has been stopped.
 */
export function paced(
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
  const ask = (): void => {
    isWanted = true;
    if (!isRunning && !isStopped) void go();
  };
  ask.stop = () => {
    isStopped = true;
  };
  return ask;
}

/** Calls once per frame at most. */
export function framed(draw: () => void): { (): void; stop(): void } {
  let frame = 0;
  let isStopped = false;
  const ask = (): void => {
    if (frame !== 0 || isStopped) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      draw();
    });
  };
  ask.stop = () => {
    isStopped = true;
    cancelAnimationFrame(frame);
  };
  return ask;
}

export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Waits until a range has stood for a moment before it is read: a wheel turns through many. */
export const rest = (): Promise<void> => new Promise((done) => setTimeout(done, 60));
