import { expect, test } from "bun:test";
import { arranged, type Keyed, slugOf } from "../../src/page/arrange.ts";

interface Row {
  readonly name: string;
  readonly used: number | null;
  readonly at: string | null;
}

const rows: readonly Row[] = [
  { name: "beta", used: 9, at: "2026-11-02T10:00:00Z" },
  { name: "Alpha", used: null, at: null },
  { name: "gamma", used: 10, at: "2026-11-01T10:00:00Z" },
];
const columns: readonly Keyed<Row>[] = [
  { head: "Name", by: ({ name }) => name },
  { head: "In use", value: ({ used }) => used },
  { head: "Last used", time: ({ at }) => at },
  { head: "Action", by: null },
];
const names = (sort: string, search = "") =>
  arranged(rows, columns, { sort, search, now: Date.parse("2026-11-24T12:00:00Z") }).map(({ name }) => name);

test.each([
  ["", ["beta", "Alpha", "gamma"]],
  ["name", ["Alpha", "beta", "gamma"]],
  ["-name", ["gamma", "beta", "Alpha"]],
  ["in-use", ["beta", "gamma", "Alpha"]],
  ["-in-use", ["gamma", "beta", "Alpha"]],
  ["-last-used", ["beta", "gamma", "Alpha"]],
  ["no-such-column", ["beta", "Alpha", "gamma"]],
])("sorts by %p, unknown values last", (sort, wanted) => {
  expect(names(sort)).toEqual(wanted);
});

test.each([
  ["A", ["beta", "Alpha", "gamma"]],
  ["alp", ["Alpha"]],
  ["nov amm", ["gamma"]],
  ["end", []],
])("finds rows with the words %p", (search, wanted) => {
  expect(names("", search)).toEqual(wanted);
});

test("heads become words of the address", () => {
  expect(["Last used", "p95", "Effect of fewer seats"].map(slugOf)).toEqual([
    "last-used",
    "p95",
    "effect-of-fewer-seats",
  ]);
});
