/** Keyboard shortcuts, and their texts in the help. */

import type { Data } from "../data/run";
import { type Store, VIEWS } from "../state";
import type { Player } from "./player";
import { toggle } from "./theme";

export const KEYS: readonly (readonly [string, string])[] = [
  ["1 – 5", "open a view: fabric, ports, flow, packets, victims"],
  ["/", "search for a host, a switch, a port, a flow or a pair of hosts such as h2->h5"],
  ["space", "play or stop"],
  ["← →", "move the cursor by one sample; with shift by ten"],
  ["+ −", "zoom in or out at the cursor"],
  ["0", "show the whole run"],
  ["home end", "move the cursor to the start or end of the range"],
  ["esc", "clear the selection"],
  ["t", "switch between dark and light theme"],
  ["?", "open or close this help"],
];

export const POINTER: readonly (readonly [string, string])[] = [
  ["click", "set the cursor"],
  ["drag", "select a time range for all charts"],
  ["drag the cursor", "move the cursor"],
  ["shift and drag", "move the time range"],
  ["wheel", "zoom in or out at the pointer"],
  ["double click", "show the whole run"],
];

/** Steps per range in runs without samples. */
const STEPS = 200;

export function bindKeys(
  store: Store,
  runs: readonly Data[],
  player: Player,
  open: { search(): void; help(): void },
): void {
  const step = (): number => {
    const interval = Math.max(0, ...runs.map((run) => run.info.sampleInterval));
    // In a range of fewer than four samples, a sample is too large a step.
    return interval > 0 && interval <= store.span / 4 ? interval : Math.max(1, Math.round(store.span / STEPS));
  };
  const actions: Record<string, (event: KeyboardEvent) => void> = {
    "/": () => open.search(),
    "?": () => open.help(),
    " ": () => player.toggle(),
    ArrowLeft: (event) => store.set({ time: store.state.time - step() * (event.shiftKey ? 10 : 1) }),
    ArrowRight: (event) => store.set({ time: store.state.time + step() * (event.shiftKey ? 10 : 1) }),
    "+": () => store.zoom(0.5),
    "=": () => store.zoom(0.5),
    "-": () => store.zoom(2),
    "0": () => store.whole(),
    Home: () => store.set({ time: store.state.from }),
    End: () => store.set({ time: store.state.to }),
    Escape: () => store.jump({ node: null, port: null, flow: null, pause: null }),
    t: () => toggle(),
  };
  VIEWS.forEach((view, index) => {
    actions[String(index + 1)] = () => store.jump({ view });
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}

/** True if the focused element handles the key itself. */
function isTaken(event: KeyboardEvent): boolean {
  const target = event.target instanceof HTMLElement ? event.target : null;
  if (!target) return false;
  if (target.closest("input, textarea, select, dialog")) return true;
  return event.key === " " && target.closest("button, a, summary") !== null;
}
