import { expect, test } from "bun:test";
import { createSendBudget } from "../../../src/http/streams/broadcaster.ts";

const reader = (name: string, tookAt: number, bytes: number) => ({
  name,
  tookAt,
  bytes,
  waiting() {
    return this.bytes;
  },
});

/** A budget of 100 bytes; `turn` runs callbacks of the next turn of the event loop. */
function rig(...members: ReturnType<typeof reader>[]) {
  const readers = new Set(members);
  const cuts: { names: string[]; bytes: number }[] = [];
  let due: (() => void)[] = [];
  const cut = (slowest: readonly (typeof members)[number][], bytes: number) => {
    cuts.push({ names: slowest.map(({ name }) => name), bytes });
    for (const one of slowest) readers.delete(one);
  };
  const budget = createSendBudget(
    readers,
    () => 100,
    cut,
    (work) => void due.push(work),
  );
  const turn = () => {
    const works = due;
    due = [];
    for (const work of works) work();
    return works.length;
  };
  return { cuts, turn, sent: budget.sent };
}

test("readers that read nothing for the longest time are cut, until three quarters of the budget remain", () => {
  const { cuts, turn, sent } = rig(
    reader("busy", 900, 60),
    reader("stalled", 100, 30),
    reader("idle", 50, 0),
    reader("slow", 200, 30),
  );
  sent(101);
  expect(cuts).toEqual([]);
  turn();
  expect(cuts).toEqual([{ names: ["stalled", "slow"], bytes: 120 }]);
});

test("bytes that are read by the next turn do not count", () => {
  const keepsUp = reader("keeps up", 0, 0);
  const { cuts, turn, sent } = rig(keepsUp);
  keepsUp.bytes = 500;
  sent(500);
  keepsUp.bytes = 0;
  expect([turn(), cuts]).toEqual([1, []]);
});

test("readers are counted only if enough was sent to use up the budget", () => {
  const { turn, sent } = rig(reader("slow", 0, 80));
  sent(90);
  expect(turn()).toBe(0);
  sent(20);
  sent(20);
  expect(turn()).toBe(1);
  sent(20);
  expect(turn()).toBe(0);
  sent(1);
  expect(turn()).toBe(1);
});
