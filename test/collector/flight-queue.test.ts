import { expect, test } from "bun:test";
import { createFlightQueue } from "../../src/collector/flight-queue.ts";

test("equals go in the order in which they came, urgent ones first, and a removed one never", async () => {
  const queue = createFlightQueue(1);
  const order: string[] = [];
  const job = (name: string) => async () => {
    order.push(name);
    await Promise.resolve();
  };
  const [first, a, b, c, urgent] = [job("first"), job("a"), job("b"), job("c"), job("urgent")];
  queue.add(first, false);
  for (const each of [a, b, c]) queue.add(each, false);
  queue.add(urgent, true);
  queue.hasten(c);
  expect(queue.remove(a)).toBe(true);
  expect(queue.remove(first)).toBe(false);
  expect([queue.running, queue.waiting]).toEqual([1, 3]);
  await Bun.sleep(0);
  expect(order).toEqual(["first", "urgent", "c", "b"]);
  expect([queue.running, queue.waiting]).toEqual([0, 0]);
});
