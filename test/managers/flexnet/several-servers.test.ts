import { describe, expect, test } from "bun:test";
import { mergeBlocks } from "../../../src/domain/polls/feature-picture.ts";
import type { Reading } from "../../../src/domain/reading.ts";
import { around, block, fixture, readText } from "./read.ts";

const seat = (handle: number, user = "amira", server = "lic/27000") =>
  `    ${user} pc-1 pc-1 (v1.0) (${server} ${handle}), start Fri 10/20 16:44`;
const IDLE = "Users of Idle:  (Total of 10 licenses issued;  Total of 0 licenses in use)";

/** Returns the part of one license server with one daemon. */
function part(spec: string, lines: readonly string[], state = "UP v11.13.1"): string {
  return around(lines)
    .replace("License server status: 27000@lic", `License server status: ${spec}`)
    .replace("vend: UP v11.13.1", `vend: ${state}`);
}

const sums = (reading: Reading) =>
  mergeBlocks(reading.features).map(
    ({ daemon, name, total, used, checkouts }) => `${daemon}/${name} ${total} ${used} ${checkouts.length}`,
  );
const members = (reading: Reading) =>
  reading.members.map(({ host, port, status }) => `${port}@${host} ${status}`);

describe("several license servers in one text", () => {
  const idle = [...block("F", 0, []), IDLE];

  test("equal blocks on both sides add up, whether a seat is used or none", () => {
    const used = [...block("F", 1, [seat(101)]), IDLE];
    const text = (one: readonly string[], other: readonly string[]) =>
      readText(part("27000@lic", one) + part("27001@lic", other));
    expect(sums(text(idle, idle))).toEqual(["vend/F 200 0 0", "vend/Idle 20 0 0"]);
    for (const reading of [text(used, idle), text(idle, used)]) {
      expect(sums(reading)).toEqual(["vend/F 200 1 1", "vend/Idle 20 0 0"]);
    }
    expect(sums(text(used, used))[0]).toBe("vend/F 200 2 2");
  });

  test("the same license server printed twice counts once", () => {
    const twice = readText(part("27000@lic", idle) + part("27000@LIC", idle));
    expect(sums(twice)).toEqual(["vend/F 100 0 0", "vend/Idle 10 0 0"]);
  });

  test("text before the first status line is a part of its own", () => {
    const headless = around(idle).split("\n").slice(8).join("\n");
    expect(sums(readText(headless + part("27000@lic", idle)))[0]).toBe("vend/F 200 0 0");
  });

  test("status lines without members separate parts", () => {
    expect(sums(readText(part("/a.lic", idle) + part("/b.lic", idle)))[0]).toBe("vend/F 200 0 0");
  });

  test("a host of a triad that another part names again is one member", () => {
    const text = part("1@lic,1@b,1@c", []).replace("lic: license server UP", "lic: license server DOWN");
    expect(members(readText(text + part("1@LIC", [])))).toEqual(["1@LIC up", "1@b unknown", "1@c unknown"]);
  });

  test("a second lmgrd on the host is a separate member, also if it is down", () => {
    const down = 'lic: Cannot connect to license server system. (-15,570:111 "Connection refused")';
    const second = part("27001@lic", []).replace(/^lic: [\s\S]*$/m, `${down}\n`);
    for (const text of [part("27000@lic", idle) + second, second + part("27000@lic", idle)]) {
      expect(members(readText(text)).toSorted()).toEqual(["27000@lic up", "27001@lic down"]);
    }
    const silent = second.replace(down, "lmgrd is not running: Server node is down (-96,7)");
    expect(members(readText(silent + part("27000@lic", idle)))).toEqual(["27001@lic down", "27000@lic up"]);
  });

  test("a host with two ports in one list is two members, in the order of their lines", () => {
    const lines = "lic: license server UP v11.1\nlic: license server DOWN";
    const text = part("27000@lic,27001@lic", []).replace(/^lic: .*$/m, lines);
    expect(members(readText(text))).toEqual(["27000@lic up", "27001@lic down"]);
  });

  test("of one text are all parsed", () => {
    const reading = readText(fixture("two-lmgrds"));
    expect(members(reading)).toEqual(["27000@lic up", "27001@lic up", "27002@lic down"]);
    const found = ["solverd/Solver 20 3 2", "solverd/Mesher 10 0 0", "solverd/Viewer null 0 0"];
    expect(sums(reading)).toEqual(found);
    expect(reading).toMatchObject({ unparsedLines: 5, cut: false });
    expect(reading.features.every(({ cut, consistency }) => !cut && consistency === "ok")).toBe(true);
  });

  test("daemons of one name in two parts are different", () => {
    const reading = readText(part("27000@lic", idle) + part("27001@lic", idle, "Down. (-97,121)"));
    expect(reading.daemons.map(({ name, status }) => `${name} ${status}`)).toEqual(["vend up", "vend down"]);
  });

  test("equal rows of their license files go to both", () => {
    const row = "Idle 1.0 10 vend 31-dec-2018";
    const table = ["Feature   Version     #licenses    Vendor        Expires", row, row];
    const reading = readText(part("27000@lic", [IDLE]) + part("27001@lic", [IDLE, ...table]));
    expect(reading.features.map(({ pools }) => pools.map(({ total }) => total))).toEqual([[10], [10]]);
  });
});

describe("the same blocks under two daemons", () => {
  const list = (daemon: string, lines: readonly string[]) => [`    ${daemon}: UP v11.13.1`, "", ...lines];
  const two = (one: readonly string[], other: readonly string[]) =>
    readText(around([...one, ...list("second", other)]));
  const used = [...block("F", 1, [seat(101)]), IDLE];

  test("count once if their seats are the same, and so do idle blocks next to them", () => {
    expect(sums(two(used, used))).toEqual(["vend/F 100 1 1", "vend/Idle 10 0 0"]);
  });

  test("pool lines decide the daemon", () => {
    const named = (vendor: string) => used.map((line) => line.replace("vendor: vend", `vendor: ${vendor}`));
    expect(sums(two(used, named("second")))[0]).toBe("vend/F 100 1 1");
    expect(sums(two(named("other"), named("other")))[0]).toBe("vend/F 100 1 1");
    expect(sums(two(named("second"), named("second")))).toEqual(["vend/Idle 10 0 0", "second/F 100 1 1"]);
  });

  test("by their queue", () => {
    const queued = "    bo pc-2 pc-2 (v1.0) (lic/27000 102) queued for 2 licenses";
    expect(sums(two(block("F", 0, [queued]), block("F", 0, [queued])))).toHaveLength(1);
  });

  const others: [string, readonly string[]][] = [
    ["another handle", block("F", 1, [seat(102)])],
    ["another user", block("F", 1, [seat(101, "bo")])],
    ["another server", block("F", 1, [seat(101, "amira", "lic2/27000")])],
    ["another port", block("F", 1, [seat(101, "amira", "lic/27001")])],
    ["another total", block("F", 1, [seat(101)], 99)],
  ];
  test.each(others)("%s is another feature", (_, other) => {
    const daemons = sums(two(block("F", 1, [seat(101)]), other)).map((sum) => sum.split("/")[0]);
    expect(daemons).toEqual(["vend", "second"]);
  });

  describe("line for line", () => {
    const other = "Users of Other:  (Total of 5 licenses issued;  Total of 0 licenses in use)";

    test("count once, with checkouts or idle", () => {
      expect(sums(two([IDLE], [IDLE]))).toEqual(["vend/Idle 10 0 0"]);
      expect(sums(two([IDLE, other], [IDLE]))).toEqual(["vend/Idle 10 0 0", "vend/Other 5 0 0"]);
      expect(sums(two([IDLE], [other, IDLE]))).toEqual(["vend/Idle 10 0 0", "second/Other 5 0 0"]);
      const handless = block("F", 1, [seat(101).replace(" 101)", ")")]);
      expect(sums(two(handless, handless))).toEqual(["vend/F 100 1 1"]);
    });

    test("belong to the daemon of the license file, even if they are idle", () => {
      const table = ["Feature Version #licenses Vendor Expires", "Idle 1.0 10 second permanent"];
      expect(sums(two([IDLE, other], [IDLE, ...table]))).toEqual(["vend/Other 5 0 0", "second/Idle 10 0 0"]);
    });

    test("not if one block has no copy, or its pool names another daemon", () => {
      const own = IDLE.replace("Idle", "Own");
      expect(sums(two([IDLE, other], [IDLE, own]))).toHaveLength(4);
      const named = block("F", 0, []).map((line) => line.replace("vendor: vend", "vendor: second"));
      expect(sums(two(block("F", 0, []), named))).toHaveLength(2);
    });

    test("count once if the text ends in the second list", () => {
      const cut = around([IDLE, ...block("F", 1, [seat(101)]), ...list("second", [IDLE])]);
      expect(sums(readText(`${cut}Users of F:  (Total of 100 licenses iss`))).toEqual([
        "vend/Idle 10 0 0",
        "vend/F 100 1 1",
      ]);
    });
  });

  test("in the parts of two license servers they are two", () => {
    const reading = readText(
      part("27000@lic", used) + part("27001@lic", []).replace("vend: UP", "second: UP") + used.join("\n"),
    );
    expect(sums(reading)).toHaveLength(4);
  });

  test("rows of the license file make no features for the dropped list", () => {
    const table = ["Feature   Version     #licenses    Vendor        Expires", "F 1.0 5 second permanent"];
    expect(sums(two(used, [...used, ...table]))).toHaveLength(2);
  });

  test.each([
    ["used", used],
    ["idle", [...block("F", 0, []), IDLE]],
  ])("thousands of daemons with one list that is %s take linear time", (_, lines) => {
    const lists = Array.from({ length: 3000 }, (_, index) => list(`d${3000 - index}`, lines)).flat();
    expect(sums(readText(around(lists)))).toHaveLength(2);
  });
});
