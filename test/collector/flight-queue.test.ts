import { expect, test } from "bun:test";
import { createFlightQueue } from "../../src/collector/flights.ts";

test("equals go in the order in which they came, urgent ones first, and a removed one never", async () => {
  const queue = createFlightQueue(1);
  const order: string[] = [];
  const job = (name: string) => async () => {
    order.push(name);
    await Promise.resolve();
  };
  const [first, a, b, c, urgent] = [job("first"), job("a"), job("b"), job("c"), job("urgent")];
  queue.add(first, false, false);
  for (const each of [a, b, c]) queue.add(each, false, false);
  queue.add(urgent, true, false);
  queue.hasten(c);
  expect(queue.remove(a)).toBe(true);
  expect(queue.remove(first)).toBe(false);
  expect([queue.running, queue.waiting]).toEqual([1, 3]);
  await Bun.sleep(0);
  expect(order).toEqual(["first", "urgent", "c", "b"]);
  expect([queue.running, queue.waiting]).toEqual([0, 0]);
});

test.each([
  [1, 1],
  [3, 1],
  [8, 2],
  [20, 5],
])("of %d places slow jobs have %d at a time, urgent or not", async (limit, share) => {
  const queue = createFlightQueue(limit);
  const running = { slow: 0, quick: 0 };
  const ends: (() => void)[] = [];
  const job = (kind: "slow" | "quick") => () => {
    running[kind]++;
    return new Promise<void>((end) => {
      ends.push(() => {
        running[kind]--;
        end();
      });
    });
  };
  for (let count = 0; count < limit; count++) queue.add(job("slow"), count % 2 === 0, true);
  expect(running).toEqual({ slow: share, quick: 0 });
  for (let count = 0; count < limit; count++) queue.add(job("quick"), false, false);
  expect(running).toEqual({ slow: share, quick: limit - share });

  // A place that a slow job leaves goes to the next one: slow jobs wait longer, but not for ever.
  while (queue.running > 0) {
    expect(running.slow).toBeLessThanOrEqual(share);
    ends.shift()?.();
    await Bun.sleep(0);
  }
  expect(queue.waiting).toBe(0);
});
