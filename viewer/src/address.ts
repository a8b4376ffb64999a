/**
 * The state of the page in the address bar, such as
 * `#view=flow&flow=3&from=0&to=509700000&t=12000000&port=leaf1:0`.
 */

import { type State, type Store, VIEWS, type Weight } from "./state";

/** Minimum time in milliseconds between two small changes of the address. */
const PACE = 200;

/** Parses an address. Invalid fields are ignored. */
export function read(hash: string): Partial<State> {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const found: Partial<State> = {};
  const view = VIEWS.find((name) => name === fields.get("view"));
  if (view !== undefined) found.view = view;
  const from = whole(fields.get("from"));
  const to = whole(fields.get("to"));
  const time = whole(fields.get("t"));
  if (from !== null) found.from = from;
  if (to !== null) found.to = to;
  if (time !== null) found.time = time;
  found.node = fields.get("node");
  found.port = fields.get("port");
  const flow = fields.get("flow") ?? "";
  found.flow = /^\d{1,10}(\.\d{1,10})?$/.test(flow) ? flow : null;
  const [queue, start] = (fields.get("pause") ?? "").split("@").map((part) => whole(part));
  found.pause = queue != null && start != null ? { queue, start } : null;
  found.order = fields.get("order") === "slowdown" ? "slowdown" : "blocked";
  return found;
}

/** Formats the state as an address. */
export function write(state: Readonly<State>): string {
  const { view, from, to, time, node, port, flow, pause, order } = state;
  const parts = [`view=${view}`, `from=${from}`, `to=${to}`, `t=${time}`];
  if (node !== null) parts.push(`node=${escaped(node)}`);
  if (port !== null) parts.push(`port=${escaped(port)}`);
  if (flow !== null) parts.push(`flow=${flow}`);
  if (pause !== null) parts.push(`pause=${pause.queue}@${pause.start}`);
  if (order !== "blocked") parts.push(`order=${order}`);
  return `#${parts.join("&")}`;
}

/** Synchronises the store and the address bar in both directions. */
export function bind(store: Store): void {
  let timer = 0;
  let written = "";
  const save = (weight: Weight): void => {
    window.clearTimeout(timer);
    timer = 0;
    const hash = write(store.state);
    if (hash === location.hash || hash === written) return;
    written = hash;
    try {
      if (weight === "jump") history.pushState(null, "", hash);
      else history.replaceState(null, "", hash);
    } catch {
      // The browser forbids or limits changes of the address; the page works without them.
    }
  };
  store.onWeight = (weight) => {
    if (weight === "jump") save(weight);
    else if (timer === 0) timer = window.setTimeout(() => save("step"), PACE);
  };
  const load = (): void => {
    window.clearTimeout(timer);
    timer = 0;
    if (location.hash === written) return;
    written = location.hash;
    const onWeight = store.onWeight;
    // A change read from the address is not written back.
    store.onWeight = () => {};
    store.set({ from: 0, to: store.end, ...read(location.hash) });
    store.onWeight = onWeight;
  };
  window.addEventListener("popstate", load);
  window.addEventListener("hashchange", load);
}

function whole(text: string | null): number | null {
  if (text === null || !/^\d{1,16}$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

/** Encodes a name; colons and slashes stay as they are, to keep addresses readable. */
const escaped = (name: string): string => encodeURIComponent(name).replaceAll("%3A", ":").replaceAll("%2F", "/");
