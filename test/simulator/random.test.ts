import { expect, test } from "bun:test";
import { draws, hash } from "../../src/simulator/random.ts";

test("a hash does not run keys together, and tells numbers from their text", () => {
  expect(hash("ab", "c")).not.toBe(hash("a", "bc"));
  expect(hash(12, 3)).not.toBe(hash(1, 23));
  expect(hash("7")).not.toBe(hash(7));
});

test("draws of equal keys are equal, stay in their bounds, reach both ends, and are even", () => {
  const row = (seed: number) => {
    const draw = draws(seed, "x");
    return Array.from({ length: 6000 }, () => draw.integer(1, 6));
  };
  expect(row(1)).toEqual(row(1));
  expect(row(1)).not.toEqual(row(2));
  const faces = Object.values(Object.groupBy(row(1), String));
  expect(faces).toHaveLength(6);
  for (const times of faces) expect(Math.abs((times?.length ?? 0) - 1000)).toBeLessThan(150);
  const { between } = draws("bounds");
  const all = Array.from({ length: 500 }, () => between(-2, 3));
  expect(all.every((value) => value >= -2 && value < 3)).toBe(true);
});
