import { describe, expect, it } from "vitest";
import { read, write } from "./address";
import { Store } from "./state";

const known = { end: 509_700_000, hasNode: () => true, hasPort: () => true };

describe("addresses", () => {
  it("survive a round trip", () => {
    const store = new Store(known);
    store.set({
      view: "ports",
      from: 1_000_000,
      to: 9_000_000,
      time: 2_000_000,
      node: "a b/ü&=#",
      port: "leaf1:Ethernet0",
      flow: "3.2",
      pause: { queue: 3, start: 1_234 },
      order: "slowdown",
    });
    expect(new Store(known, read(write(store.state))).state).toEqual(store.state);
  });

  it("have the form in the documentation", () => {
    const store = new Store(known, read("#view=flow&flow=3&from=0&to=509700000&t=12000000&port=leaf1:0"));
    expect(store.state).toMatchObject({
      view: "flow",
      flow: "3",
      from: 0,
      to: 509_700_000,
      time: 12_000_000,
      port: "leaf1:0",
    });
    expect(write(store.state)).toBe("#view=flow&from=0&to=509700000&t=12000000&port=leaf1:0&flow=3");
  });

  it.each([
    "",
    "#",
    "#view=nothing&from=-1&to=1e9&t=now&flow=x&pause=3",
    "#%",
    "#from=99999999999999999999",
    "#pause=@",
  ])("that make no sense show the whole run: %s", (hash) => {
    expect(new Store(known, read(hash)).state).toEqual(new Store(known).state);
  });

  it("with a reversed range or one beyond the end are corrected", () => {
    expect(new Store(known, read("#from=900&to=100&t=5000")).state).toMatchObject({ from: 0, to: 1000, time: 1000 });
    expect(new Store(known, read("#from=600000000&to=700000000")).state).toMatchObject({
      from: 509_699_000,
      to: 509_700_000,
    });
  });
});
