import { describe, expect, it, vi } from "vitest";
import { SHORTEST, Store } from "./state";

const known = {
  end: 1_000_000,
  hasNode: (name: string) => name === "h0",
  hasPort: (name: string) => name === "h0:0" || name === "h1:0",
};

describe("the range and the cursor", () => {
  it("starts with the whole run", () => {
    expect(new Store(known).state).toMatchObject({ from: 0, to: 1_000_000, time: 0, view: "fabric" });
  });

  it("accepts ends in any order and clamps them to the run", () => {
    const store = new Store(known);
    store.range(700_000, 200_000);
    expect(store.state).toMatchObject({ from: 200_000, to: 700_000 });
    store.range(-5, 9e9);
    expect(store.state).toMatchObject({ from: 0, to: 1_000_000 });
  });

  it("keeps the cursor in the range, and moves the range to a cursor outside", () => {
    const store = new Store(known);
    store.range(200_000, 300_000);
    expect(store.state.time).toBe(200_000);
    store.set({ time: 500_000 });
    expect(store.state).toMatchObject({ from: 450_000, to: 550_000, time: 500_000 });
    store.set({ time: 9e9 });
    expect(store.state).toMatchObject({ from: 900_000, to: 1_000_000, time: 1_000_000 });
  });

  it("zooms around a time, within the run and the shortest range", () => {
    const store = new Store(known);
    store.zoom(0.5, 500_000);
    expect(store.state).toMatchObject({ from: 250_000, to: 750_000 });
    store.zoom(1e-9, 500_000);
    expect(store.state.to - store.state.from).toBe(SHORTEST);
    store.zoom(1e9);
    expect(store.state).toMatchObject({ from: 0, to: 1_000_000 });
  });

  it("pans up to the ends of the run", () => {
    const store = new Store(known);
    store.range(200_000, 300_000);
    store.pan(-500_000);
    expect(store.state).toMatchObject({ from: 0, to: 100_000 });
  });
});

describe("the selection", () => {
  it("contains only existing nodes and ports", () => {
    const store = new Store(known, { node: "nowhere", port: "nowhere:1", pause: { queue: 3, start: 5 } });
    expect(store.state).toMatchObject({ node: null, port: null, pause: null });
  });

  it("drops the pause when the port changes", () => {
    const store = new Store(known, { port: "h0:0", pause: { queue: 3, start: 5 } });
    expect(store.state.pause).toEqual({ queue: 3, start: 5 });
    store.set({ port: "h1:0" });
    expect(store.state.pause).toBeNull();
  });

  it("notifies listeners of the changed keys only", () => {
    const store = new Store(known);
    const listener = vi.fn();
    const stop = store.subscribe(listener);
    store.set({ port: "h0:0", flow: null });
    store.set({ port: "h0:0" });
    expect(listener).toHaveBeenCalledTimes(1);
    expect([...(listener.mock.calls[0]?.[0] as Set<string>)]).toEqual(["port"]);
    stop();
    store.set({ port: null });
    expect(listener).toHaveBeenCalledTimes(1);
  });
});
