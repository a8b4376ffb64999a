/** Colours of things: Okabe and Ito's palette, as in `python/backwater/style.py`. */

import { token } from "./ui/theme";

const SIZE = 8;

/** The palette in the present theme: on dark, lighter shades of the same hues. */
export const hue = (index: number): string => token(`hue-${((index % SIZE) + SIZE) % SIZE}`);

/** Hues of causes: without the blues, in which most else is drawn. */
const CAUSES = [1, 2, 3, 4, 6, 7];

/**
 * A colour for each port that causes pauses: the same in all views, wherever one has looked before, and in all runs that are shown together. The six ports
 * that paused others longest are told apart; all others share their colours.
 */
export class Hues {
  readonly #name: (port: number) => string;
  readonly #ranks: Map<string, number>;

  /** What the ports of a run are called, and the names of those that caused pauses in any run, the worst first. */
  constructor(name: (port: number) => string, causes: readonly string[]) {
    this.#name = name;
    this.#ranks = new Map([...new Set(causes)].map((cause, rank) => [cause, rank]));
  }

  of(port: number): string {
    return hue(CAUSES[(this.#ranks.get(this.#name(port)) ?? 0) % CAUSES.length] ?? 1);
  }
}

/** Classes, and queues beyond those of the classes. */
export const classHue = (index: number): string => hue(index);

/** What time went by with: blues for what moves, quiet colours for what waits. Waiting behind PAUSEs has the colour of its cause instead, and is hatched. */
const TERMS: Record<string, string> = {
  serialisation: "term-wire",
  propagation: "term-link",
  forwarding: "term-forward",
  sending: "term-wire",
  resending: "term-order",
  unanswered: "term-quiet",
  window: "term-window",
  pacing: "term-pacing",
  "link-down": "paused",
  "own-queue": "hue-5",
  paused: "paused",
  order: "term-order",
  "other-flow": "term-other",
  "other-queue": "term-other",
  "other-class": "term-class",
  ack: "term-quiet",
  cnp: "term-quiet",
  "control-class": "term-quiet",
  "link-local": "term-quiet",
  unexplained: "bad",
};
export const termColour = (term: string): string => token(TERMS[term] ?? "term-quiet");

const FRAMES: Record<string, string> = { data: "hue-0", ack: "hue-2", nack: "hue-7", cnp: "hue-4", notice: "hue-3" };
/** Kinds of frames; link-local ones, PFC and its kin, are those that stop others. */
export const frameColour = (kind: string): string => token(FRAMES[kind] ?? "paused");
export const isLinkLocal = (kind: string): boolean => !(kind in FRAMES);
