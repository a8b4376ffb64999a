import { expect, it } from "vitest";
import { senderBand } from "./sender";

const points = [0, 10, 20].map((time, index) => ({
  time,
  rateBps: index === 1 ? 50 : 100,
  inFlight: null,
  window: null,
}));

it("a value holds until the next one", () => {
  const { times, max, min } = senderBand(points, (point) => point.rateBps, 0, 30);
  expect([...times]).toEqual([0, 10, 20]);
  expect([...max]).toEqual([100, 50, 100]);
  expect([...min]).toEqual([100, 50, 100]);
});

it("the last value before a range holds at its start", () => {
  const { times, max } = senderBand(points, (point) => point.rateBps, 5, 8);
  expect([times[0], max[0]]).toEqual([5, 100]);
});

it("too many values become bins with minimum and maximum", () => {
  const many = Array.from({ length: 9000 }, (_, time) => ({ time, rateBps: time % 2, inFlight: null, window: null }));
  const { times, min, max } = senderBand(many, (point) => point.rateBps, 0, 9000);
  expect(times.length).toBeLessThan(3000);
  expect([min[5], max[5]]).toEqual([0, 1]);
});

it("is empty without points", () => expect(senderBand(points, (point) => point.window, 0, 30).times.length).toBe(0));
