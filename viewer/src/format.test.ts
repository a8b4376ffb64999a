import { describe, expect, it } from "vitest";
import { count, counted, duration, instant, parseTime, percent, rate, ratio, size } from "./format";

describe("quantities have the format of the reports", () => {
  it.each([
    [509_659_360, "509.7 µs"],
    [1_000, "1 ns"],
    [0, "0 µs"],
    [2_040_000_000, "2.04 ms"],
    [12_345e12, "12,345 s"],
  ])("%d ps", (ps, text) => expect(duration(ps)).toBe(text));

  it("bytes and rates are decimal", () => {
    expect([size(2_000_000), size(1_086), size(0), size(null)]).toEqual(["2 MB", "1.086 KB", "0 B", "–"]);
    expect([rate(100e9), rate(25e9), rate(40e6)]).toEqual(["100 Gb/s", "25 Gb/s", "40 Mb/s"]);
  });

  it("shares, ratios and counts", () => {
    expect([percent(0), percent(0.0191), percent(0.64), percent(1), percent(Number.NaN)]).toEqual([
      "0 %",
      "1.9 %",
      "64 %",
      "100 %",
      "–",
    ]);
    expect([ratio(2.876), ratio(null), count(1_089_141), counted(1, "flow"), counted(2, "class")]).toEqual([
      "2.88",
      "–",
      "1,089,141",
      "1 flow",
      "2 classes",
    ]);
  });

  it("instants have enough digits to distinguish neighbours", () => {
    expect(instant(120_000_000, 1_000_000)).toBe("120 µs");
    expect(instant(120_000_000, 10_000)).toBe("120.00 µs");
    expect(instant(1_200_000_000, 200_000_000)).toBe("1.2 ms");
    expect(instant(0, 50_000_000)).toBe("0 µs");
  });

  it("parses entered times", () => {
    expect([parseTime("120 us"), parseTime("1.5ms"), parseTime("7 µs"), parseTime("12"), parseTime("soon")]).toEqual([
      120e6,
      1.5e9,
      7e6,
      12,
      null,
    ]);
  });
});
