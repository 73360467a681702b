import { describe, expect, test } from "bun:test";
import { around, block, readText } from "./read.ts";

const SEAT = "    amira pc-1 pc-1 (v1.0) (lic/27000 101), start Fri 10/20 16:44";
const F = block("F", 1, [SEAT]);
const header = (total: number, used = 0) =>
  `Users of F:  (Total of ${total} licenses issued;  Total of ${used} licenses in use)`;
const dated = (expiry: string) =>
  F.map((line) => line.replace("vendor: vend", `vendor: vend, expiry: ${expiry}`));

function table(rows: readonly string[], order = "Vendor        Expires"): string[] {
  return [
    "NOTE: lmstat -i does not give information from the server,",
    "      but only reads the license file.  For this reason,",
    "      lmstat -a is recommended instead.",
    "",
    `Feature   Version     #licenses    ${order}`,
    "_______   _________   _________",
    ...rows,
  ];
}

/** Pools of each feature in the server's lines, merged with the rows of its license file. */
const pools = (lines: readonly string[], rows: readonly string[]) =>
  readText(around([...lines, ...table(rows)])).features.flatMap((feature) =>
    feature.fromFile
      ? []
      : [
          feature.pools.map(({ version, total, used, kind, expiry }) =>
            [version, total, used, kind, expiry.permanent ? "permanent" : expiry.expiresOn].join(" "),
          ),
        ],
  );

describe("the table of -i joins the pools of -a", () => {
  test.each<[string, readonly string[], readonly string[], readonly (readonly string[])[]]>([
    [
      "an old tool's pool gets its expiry from the one row of its version",
      F,
      ["F 1.0 100 vend 31-dec-2018"],
      [["v1.0 100 1 floating 2018-12-31"]],
    ],
    [
      "rows of other versions become pools, nothing of which is known to be used",
      F,
      ["F 1.0 90 vend 31-dec-2018", "F 2.0 10 vend permanent"],
      [["v1.0 90 1 floating 2018-12-31", "v2.0 10 0 unknown permanent"]],
    ],
    [
      "of two rows of one version, the count tells",
      F,
      ["F 1.0 2 vend 30-sep-2018", "F 1.0 100 vend 31-dec-2018"],
      [["v1.0 100 1 floating 2018-12-31", "v1.0 2  unknown 2018-09-30"]],
    ],
    [
      "where nothing tells, rows stand beside the pool and no use is invented",
      F,
      ["F 1.0 48 vend 30-sep-2018", "F 1.0 52 vend 31-dec-2018"],
      [["v1.0  1 floating ", "v1.0 48  unknown 2018-09-30", "v1.0 52  unknown 2018-12-31"]],
    ],
    [
      "an idle feature has the rows as its pools",
      [header(52)],
      ["F 1.0 50 vend 31-dec-2018", "F 1.0 2 vend 30-sep-2018"],
      [["v1.0 50 0 unknown 2018-12-31", "v1.0 2 0 unknown 2018-09-30"]],
    ],
    [
      "checkouts without any pool line may be any row's",
      [header(52, 1), "", SEAT],
      ["F 1.0 52 vend 31-dec-2018"],
      [["v1.0 52  unknown 2018-12-31"]],
    ],
    [
      "rows of another daemon or another name are not the feature's",
      F,
      ["F 1.0 100 other 31-dec-2018", "f 1.0 100 vend 31-dec-2018"],
      [["v1.0 100 1 floating "]],
    ],
    [
      "a block printed twice gets them once",
      [...F, ...F],
      ["F 1.0 100 vend 31-dec-2018"],
      [["v1.0 100 1 floating 2018-12-31"]],
    ],
    [
      "blocks of one identity with equal counts get the row of their own pool",
      [...dated("31-dec-2018"), ...dated("31-dec-2019")],
      ["F 1.0 100 vend 31-dec-2019", "F 1.0 100 vend 31-dec-2018"],
      [["v1.0 100 1 floating 2018-12-31"], ["v1.0 100 1 floating 2019-12-31"]],
    ],
    [
      "differing blocks of one identity share the rows by their counts",
      [header(50), header(2)],
      ["F 1.0 50 vend 31-dec-2018", "F 1.0 2 vend 30-sep-2018"],
      [["v1.0 50 0 unknown 2018-12-31"], ["v1.0 2 0 unknown 2018-09-30"]],
    ],
  ])("%s", (_, lines, rows, expected) => {
    expect(pools(lines, rows)).toEqual(expected.map((list) => [...list]));
  });

  test("both column orders give the same features, and every line is parsed", () => {
    const newer = readText(around([...F, ...table(["F 1.0 100 vend 31-dec-2018"])]));
    const older = around([...F, ...table(["F 1.0 100 31-dec-2018 vend"], "Expires      Vendor")]);
    expect(readText(older)).toEqual(newer);
    expect(newer.unparsedLines).toBe(0);
  });
});

describe("features that only the table has", () => {
  const G = table(["G 1.0 5 vend permanent"]);

  const unserved = { used: null, consistency: "ok", checkouts: [], fromFile: true, cut: true };

  test("have a total and no use, next to the features that the server lists", () => {
    expect(readText(around([...F, ...G])).features).toMatchObject([
      { daemon: "vend", name: "F", total: 100, used: 1 },
      { ...unserved, daemon: "vend", name: "G", total: 5 },
    ]);
  });

  test("of a daemon without any list, and of one without a line, are shown too", () => {
    const rows = ["G 1.0 5 vend permanent", "G 2.0 1 vend permanent", "H 1 1 silent permanent"];
    expect(readText(around(table(rows))).features).toMatchObject([
      { ...unserved, daemon: "vend", name: "G", total: 6 },
      { ...unserved, daemon: "silent", name: "H", total: 1 },
    ]);
  });

  test("are those without a block, whichever daemon the block is under", () => {
    const other = F.map((line) => line.replace("vendor: vend", "vendor: second"));
    const names = (lines: readonly string[]) =>
      readText(around([...lines, ...table(["F 1.0 100 second permanent"])])).features.map(({ name }) => name);
    expect(names(other)).toEqual(["F"]);
    expect(names(F)).toEqual(["F", "F"]);
  });

  test("are not read if the daemon is down or the query failed", () => {
    const down = around(G).replace("vend: UP v11.13.1", "vend: Down. (-97,121)");
    const failed = ["Error getting status: Cannot connect to license server (-15,570)", ...G, ""].join("\n");
    expect([readText(down).features, readText(failed).features]).toEqual([[], []]);
  });

  test("are the only features if only the table was printed", () => {
    const reading = readText(`${table(["G 1.0 uncounted v permanent", "H 1.0 5 w 1-jan-0"]).join("\n")}\n`);
    expect(reading.features).toMatchObject([
      { daemon: "v", name: "G", total: null, used: null, unlimited: true, fromFile: true },
      { daemon: "w", name: "H", total: 5, used: null, unlimited: false, fromFile: true },
    ]);
    expect(reading).toMatchObject({ recognised: true, unparsedLines: 0 });
  });

  test("an empty table changes nothing", () => {
    expect(readText(around([...F, ...table([])]))).toMatchObject({ unparsedLines: 0, cut: false });
  });
});
