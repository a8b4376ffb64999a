/**
 * Pauses as intervals, by length and start, and as shares of bins. The files are written by
 * `crates/export/src/view/pauses.rs`.
 */

import type { Branch, Snapshot, Pause, PauseBar, Tree } from "./model";
import { type Window, at, isWithin, levelCount, levelFor } from "./pyramid";
import { type Columns, type Group, type Table, numbers, rowAt } from "./tables";

/** Maximum number of pauses that are shown as intervals instead of shares of bins. */
const MAX_INTERVALS = 1 << 14;

export class Pauses {
  readonly #levels: number;

  /**
   * @param width Width of the narrowest bins.
   * @param end End of the run.
   */
  constructor(
    private readonly intervals: Table,
    private readonly bins: Table,
    private readonly width: number,
    private readonly end: number,
  ) {
    this.#levels = levelCount(Math.ceil(end / width));
  }

  /** Returns the pauses that are active at a time, from their start until before their end. */
  async at(time: number): Promise<Pause[]> {
    const found: Pause[] = [];
    await this.#each(this.#overlapping(time, time), null, (pause) => {
      if (pause.start <= time && (time < pause.end || (pause.isOpen && time >= this.end))) found.push(pause);
    });
    return found;
  }

  /**
   * Returns the pauses of a port in a window, or the paused shares of bins if there are too many.
   */
  async bars(port: number, { from, to, bins }: Window): Promise<PauseBar[]> {
    const level = levelFor(to - from, this.width, bins, this.#levels);
    let groups = this.#overlapping(from, to);
    const isShared = groups.reduce((rows, group) => rows + group.end - group.start, 0) > MAX_INTERVALS;
    // Pauses of higher levels are at least sixteen bins wide.
    if (isShared) groups = groups.filter((group) => (group.min["level"] ?? 0) > level);
    const bars: PauseBar[] = [];
    await this.#each(groups, port, (pause) => {
      if (pause.start >= to || pause.end <= from) return;
      const { queue, start, end, cause } = pause;
      bars.push({ queue, start, end, share: 1, cause, pause });
    });
    if (isShared) bars.push(...(await this.#shares(port, level, from, to)));
    return bars.sort((one, other) => one.start - other.start || one.queue - other.queue);
  }

  async #shares(port: number, level: number, from: number, to: number): Promise<PauseBar[]> {
    const width = this.width * 4 ** level;
    const [first, last] = [Math.floor(from / width), Math.ceil(to / width)];
    const isWanted = (group: Group) =>
      group.min["level"] === level && isWithin(group, "bin", first, last) && isWithin(group, "port", port, port);
    const bars: PauseBar[] = [];
    for (const group of this.bins.groups.filter(isWanted)) {
      const read = await this.bins.group(group, ["port", "queue", "bin", "cause", "paused"]);
      const [ports, queue, bin] = [numbers(read, "port"), numbers(read, "queue"), numbers(read, "bin")];
      const [cause, paused] = [numbers(read, "cause"), numbers(read, "paused")];
      for (let row = 0; row < ports.length; row++) {
        if (ports[row] !== port || at(bin, row) < first || at(bin, row) > last) continue;
        const start = at(bin, row) * width;
        const end = Math.min(start + width, this.end);
        const share = Math.min(1, at(paused, row) / (end - start));
        bars.push({ queue: at(queue, row), start, end, share, cause: at(cause, row), pause: null });
      }
    }
    return bars;
  }

  /** Returns the row groups that may contain pauses between two times. */
  #overlapping(from: number, to: number): Group[] {
    return this.intervals.groups.filter(
      (group) => (group.min["start"] ?? 0) <= to && (group.max["end"] ?? Infinity) >= from,
    );
  }

  /** Calls `each` with the pauses of row groups, or with those of `port` alone. */
  async #each(groups: Group[], port: number | null, each: (pause: Pause) => void): Promise<void> {
    for (const read of await Promise.all(groups.map((group) => this.intervals.group(group)))) {
      const ports = numbers(read, "port");
      for (let row = 0; row < ports.length; row++) if (port === null || ports[row] === port) each(pauseAt(read, row));
    }
  }
}

function pauseAt(read: Columns, row: number): Pause {
  const { number } = rowAt(read, row);
  const known = (name: string) => (number(name) < 0 ? null : number(name));
  return {
    port: number("port"),
    queue: number("queue"),
    start: number("start"),
    end: number("end"),
    isOpen: number("open") === 1,
    cause: number("cause"),
    via: known("via"),
    parentQueue: known("parent_queue"),
    parentStart: known("parent_start"),
    hops: known("hops"),
  };
}

/** Identifier of a pause. */
const key = (port: number, queue: number, start: number) => `${port}:${queue}:${start}`;

/** Returns the congestion trees of a snapshot, one per cause, the one with most bytes first. */
export function treesOf(snapshot: Snapshot): Tree[] {
  const branches = snapshot.pauses.map((pause): Branch => {
    const bytes = snapshot.queueBytes === null ? NaN : (snapshot.queueBytes.get(pause.port * 65536 + pause.queue) ?? 0);
    return { pause, bytes, children: [] };
  });
  const known = new Map(
    branches.map((branch) => [key(branch.pause.port, branch.pause.queue, branch.pause.start), branch]),
  );
  const parents = new Map<Branch, Branch>();
  const trees = new Map<number, Tree>();
  for (const branch of branches) {
    const { via, parentQueue, parentStart, cause } = branch.pause;
    const isMade = via !== null && parentQueue !== null && parentStart !== null;
    const parent = isMade ? known.get(key(via, parentQueue, parentStart)) : undefined;
    let tree = trees.get(cause);
    if (!tree) trees.set(cause, (tree = { root: cause, rootBytes: snapshot.queued[cause] ?? 0, branches: [] }));
    // PAUSEs may form a cycle; its last pause becomes a child of the root.
    if (parent && parent.pause.cause === cause && !isAbove(branch, parent, parents)) {
      parents.set(branch, parent);
      parent.children.push(branch);
    } else {
      tree.branches.push(branch);
    }
  }
  for (const branch of branches) branch.children.sort(heaviestFirst);
  const held = new Map([...trees.values()].map((tree) => [tree, tree.rootBytes + sum(tree.branches)]));
  trees.forEach((tree) => tree.branches.sort(heaviestFirst));
  return [...trees.values()].sort(
    (one, other) => (held.get(other) ?? 0) - (held.get(one) ?? 0) || one.root - other.root,
  );
}

/** True if `branch` is `other` or one of its ancestors. */
function isAbove(branch: Branch, other: Branch, parents: Map<Branch, Branch>): boolean {
  for (let at: Branch | undefined = other; at; at = parents.get(at)) if (at === branch) return true;
  return false;
}

function sum(branches: Branch[]): number {
  return branches.reduce((bytes, branch) => bytes + branch.bytes + sum(branch.children), 0);
}

function heaviestFirst(one: Branch, other: Branch): number {
  return other.bytes - one.bytes || one.pause.port - other.pause.port || one.pause.queue - other.pause.queue;
}
