import { expect, test } from "bun:test";
import { createFlights } from "../../src/collector/flights.ts";

/** Flights whose work ends when the test says so. */
function site(limit: number) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const frees = new Map<string, () => void>();
  const flights = createFlights<void>({
    limit,
    work: (key, control) => {
      begun.push(key);
      frees.set(key, control.freePlace);
      return new Promise((end) => {
        ends.set(key, end);
      });
    },
    onLanding: () => {},
  });
  const end = async (key: string) => {
    ends.get(key)?.();
    ends.delete(key);
    await Bun.sleep(0);
  };
  return { flights, begun, ends, frees, end };
}

test("equals go in the order in which they came, urgent ones first, and a grounded one never", async () => {
  const { flights, begun, end } = site(1);
  void flights.launch("first", false, false);
  for (const key of ["a", "b", "c"]) void flights.launch(key, false, false);
  void flights.launch("urgent", true, false);
  // Asked for again by somebody who waits.
  void flights.launch("c", true, false);
  flights.ground("a", new Error("gone"));
  expect([flights.inPlaces().size, flights.waiting]).toEqual([1, 3]);
  await Bun.sleep(0);
  for (const key of ["first", "urgent", "c", "b"]) await end(key);
  expect(begun).toEqual(["first", "urgent", "c", "b"]);
  expect([flights.inPlaces().size, flights.waiting]).toEqual([0, 0]);
});

test.each([
  [1, 1],
  [3, 1],
  [8, 2],
  [20, 5],
])("of %d places slow flights have %d at a time, urgent or not", async (limit, share) => {
  const { flights, ends, end } = site(limit);
  const slow = () => [...flights.inPlaces()].filter((key) => key.startsWith("slow")).length;
  for (let count = 0; count < limit; count++) void flights.launch(`slow ${count}`, count % 2 === 0, true);
  expect([slow(), flights.inPlaces().size]).toEqual([share, share]);
  for (let count = 0; count < limit; count++) void flights.launch(`quick ${count}`, false, false);
  expect([slow(), flights.inPlaces().size]).toEqual([share, limit]);
  await Bun.sleep(0);

  // A place that a slow flight leaves goes to the next one: slow ones wait longer, but not for ever.
  while (ends.size > 0) {
    expect(slow()).toBeLessThanOrEqual(share);
    await end([...ends.keys()][0] ?? "");
  }
  expect(flights.waiting).toBe(0);
});

test("a flight that needs its place no longer lets the next one begin, and is joined until it ends", async () => {
  const { flights, begun, frees, end } = site(1);
  const first = flights.launch("first", false, false);
  void flights.launch("second", false, false);
  await Bun.sleep(0);
  frees.get("first")?.();
  await Bun.sleep(0);
  expect(begun).toEqual(["first", "second"]);
  expect(flights.isRunning("first")).toBe(true);
  expect(flights.launch("first", true, false)).toBe(first);
  await end("first");
  expect(flights.has("first")).toBe(false);
  expect([...flights.inPlaces()]).toEqual(["second"]);
});
