import { expect, it } from "vitest";
import { align } from "./series";

const band = (times: number[], values: number[]) => ({
  isHeld: true,
  times: Float64Array.from(times),
  min: Float64Array.from(values),
  max: Float64Array.from(values),
});
const none = Number.NaN;

it("bands with equal bins share their times", () => {
  expect(align([band([1, 2], [5, 6]), band([1, 2], [7, 8])], 1)).toEqual([
    [1, 2],
    [5, 6],
    [5, 6],
    [7, 8],
    [7, 8],
  ]);
});

it("bands with different bins are merged, and lines bridge the times of others", () => {
  expect(align([band([1, 3], [5, 6]), band([2], [7])], 1)).toEqual([
    [1, 2, 3],
    [5, undefined, 6],
    [5, undefined, 6],
    [undefined, 7, undefined],
    [undefined, 7, undefined],
  ]);
});

it("bins between two samples are no gap, missing samples are a gap", () => {
  expect(align([band([0, 1, 2, 3], [5, none, none, 6])], 3)[1]).toEqual([5, undefined, undefined, 6]);
  expect(align([band([0, 1, 2, 3], [5, none, none, 6])], 1)[1]).toEqual([5, null, undefined, 6]);
});
