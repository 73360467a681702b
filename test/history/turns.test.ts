import { expect, test } from "bun:test";
import { createTurns } from "../../src/history/client.ts";

function all<Item>(turns: { next(): Item | undefined }): Item[] {
  const items: Item[] = [];
  for (let item = turns.next(); item !== undefined; item = turns.next()) items.push(item);
  return items;
}

test("everybody has a turn, in the order in which they came", () => {
  const turns = createTurns<string>();
  for (const item of ["a1", "a2", "a3", "b1", "a4", "c1", "b2"]) turns.add(item.charAt(0), item);
  expect(all(turns)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  expect(turns.next()).toBeUndefined();
});

test("who was served last comes last, also with what is asked then", () => {
  const turns = createTurns<string>();
  for (const item of ["a1", "a2", "b1"]) turns.add(item.charAt(0), item);
  expect(turns.next()).toBe("a1");
  turns.add("a", "a3");
  turns.add("c", "c1");
  expect(all(turns)).toEqual(["b1", "a2", "c1", "a3"]);
});

test("what was taken back has no turn", () => {
  const turns = createTurns<string>();
  for (const item of ["a1", "a2", "b1"]) turns.add(item.charAt(0), item);
  turns.remove("a", "a1");
  turns.remove("b", "b1");
  turns.remove("b", "b1");
  turns.remove("nobody", "x");
  expect(all(turns)).toEqual(["a2"]);
});
