import { describe, expect, it } from "vitest";
import { Topology } from "./data/topology";
import { layout } from "./layout";

const link = (a: string, aPort: number, b: string, bPort: number) => ({
  a,
  a_port: aPort,
  b,
  b_port: bPort,
  rate_bps: 1e11,
  delay_ps: 1e6,
});
const node = (name: string, kind: string, layer: number) => ({ name, kind, layer });

describe("layers", () => {
  // The hosts are not in the order of their switches.
  const topology = new Topology(
    {
      nodes: [
        node("x", "host", 0),
        node("y", "host", 0),
        node("l0", "switch", 1),
        node("l1", "switch", 1),
        node("s", "switch", 2),
        node("alone", "switch", 1),
      ],
      links: [link("x", 0, "l1", 0), link("y", 0, "l0", 0), link("l0", 1, "s", 0), link("l1", 1, "s", 1)],
    },
    1e9,
  );
  const { rows, row, x, side } = layout(topology);

  it("are above their hosts, which follow the order of their switches", () => {
    expect(rows.map((members) => members.map((index) => topology.nodes[index]?.name))).toEqual([
      ["y", "x"],
      ["l0", "l1"],
      ["s"],
    ]);
    expect([...x.slice(0, 5)]).toEqual([0.75, 0.25, 0.25, 0.75, 0.5]);
  });

  it("leave out switches without links", () => expect(row[5]).toBe(-1));

  it("have ports on the side of the link", () => {
    expect(side[topology.portByName("l0:0")?.index ?? -1]).toBe(-1);
    expect(side[topology.portByName("l0:1")?.index ?? -1]).toBe(1);
  });
});

it("in BCube, layer 0 is below the hosts and the others above", () => {
  const hosts = ["h00", "h01", "h10", "h11"];
  const topology = new Topology(
    {
      nodes: [
        ...hosts.map((name) => node(name, "relay", 0)),
        ...["s00", "s01", "s10", "s11"].map((name) => node(name, "switch", 1)),
      ],
      links: hosts.flatMap((name, host) => [
        link(name, 0, `s0${host >> 1}`, host & 1),
        link(name, 1, `s1${host & 1}`, host >> 1),
      ]),
    },
    1e9,
  );
  expect(layout(topology).rows.map((members) => members.map((index) => topology.nodes[index]?.name))).toEqual([
    ["s00", "s01"],
    hosts,
    ["s10", "s11"],
  ]);
});

it("switches with links between them are on an arch", () => {
  const topology = new Topology(
    {
      nodes: [
        ...["a", "b", "c"].map((name) => node(name, "host", 0)),
        ...["A", "B", "C"].map((name) => node(name, "switch", 1)),
      ],
      links: [
        link("a", 0, "A", 0),
        link("b", 0, "B", 0),
        link("c", 0, "C", 0),
        link("A", 1, "B", 1),
        link("B", 2, "C", 1),
        link("C", 2, "A", 2),
      ],
    },
    1e9,
  );
  expect(layout(topology).isArched).toEqual([false, true]);
});
