import { expect, test } from "bun:test";
import { mergeBlocks } from "../../../src/domain/polls/feature-picture.ts";
import { around, block, readText } from "./read.ts";

/** A line of Autodesk's daemon: the fourth word is the component. */
const seat = (user: string, component: string, more: { pid?: number | null; start?: string } = {}) => {
  const { pid = 1001, start = "10:00" } = more;
  const words = `${user} PC-${user} pc-${user}${component === "" ? "" : ` ${component}`}`;
  return `    ${words} (v1.000) (lic/27000 101), start Fri 10/20 ${start}${pid === null ? "" : `, PID: ${pid}`}`;
};
const idle = (name: string, total: number) =>
  `Users of ${name}:  (Total of ${total} licenses issued;  Total of 0 licenses in use)`;

const groupsOf = (...lines: readonly (readonly string[])[]) =>
  mergeBlocks(readText(around(lines.flat())).features).map(({ name, total, used, seatGroup = null }) =>
    [name, total, used, seatGroup].join(" "),
  );

test("a package and the components that its checkouts name are one seat group", () => {
  const found = groupsOf(
    block("88MFS_T_F", 2, [seat("ada", "ACD_2027_0F"), seat("bob", "RVT_2026_0F", { pid: 7 })], 4),
    block("ACD_2027_0F", 1, [seat("ada", "ACD_2027_0F")], 4),
    block("RVT_2026_0F", 1, [seat("bob", "", { pid: 7 })], 4),
    [idle("ACD_2025_0F", 4)],
  );
  expect(found).toEqual([
    "88MFS_T_F 4 2 package 88MFS_T_F",
    "ACD_2027_0F 4 1 package 88MFS_T_F",
    "RVT_2026_0F 4 1 package 88MFS_T_F",
    "ACD_2025_0F 4 0 ",
  ]);
});

test("older tools without PIDs, and a pair across the turn of a minute", () => {
  const found = groupsOf(
    block("P", 1, [seat("ada", "C", { pid: null, start: "9:59" })], 4),
    block("C", 1, [seat("ada", "", { pid: null })], 4),
  );
  expect(found).toEqual(["P 4 1 package P", "C 4 1 package P"]);
});

test("a component of two packages is in the group of the first", () => {
  const found = groupsOf(
    block("P", 1, [seat("ada", "C")], 4),
    block("Q", 1, [seat("bob", "C")], 10),
    block("C", 2, [seat("ada", "C"), seat("bob", "C")], 14),
  );
  expect(found).toEqual(["P 4 1 package P", "Q 10 1 package Q", "C 14 2 package P"]);
});

test.each<[string, string, number]>([
  ["another user", seat("bob", ""), 4],
  ["another PID", seat("ada", "", { pid: 1002 }), 4],
  ["another start", seat("ada", "", { start: "10:02" }), 4],
  ["fewer seats than the package", seat("ada", ""), 3],
])("%s makes no pair", (_, line, total) => {
  expect(groupsOf(block("P", 1, [seat("ada", "C")], 4), block("C", 1, [line], total))).toEqual([
    "P 4 1 ",
    `C ${total} 1 `,
  ]);
});

test("a word that names the feature itself, or a feature of another daemon, makes no package", () => {
  expect(groupsOf(block("C", 1, [seat("ada", "C")], 4))).toEqual(["C 4 1 "]);
  const second = ["    second: UP v11.13.1", ...block("C", 1, [seat("ada", "")], 4)];
  expect(groupsOf(block("P", 1, [seat("ada", "C")], 4), second)).toEqual(["P 4 1 ", "C 4 1 "]);
});
