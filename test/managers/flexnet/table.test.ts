import { describe, expect, test } from "bun:test";
import type { FeatureReading } from "../../../src/domain/reading.ts";
import { around, block, featureOf, readText } from "./read.ts";

const SEAT = "    amira pc-1 pc-1 (v1.0) (lic/27000 101), start Fri 10/20 16:44";
const NOTES = [
  "NOTE: lmstat -i does not give information from the server,",
  "      but only reads the license file.  For this reason,",
  "      lmstat -a is recommended instead.",
  "",
];

function table(rows: readonly string[], order = "Vendor        Expires"): string[] {
  return [
    ...NOTES,
    `Feature   Version     #licenses    ${order}`,
    "_______   _________   _________",
    ...rows,
  ];
}

const pools = (feature: FeatureReading) =>
  feature.pools.map(({ version, total, used, kind, expiry }) => [
    version,
    total,
    used,
    kind,
    expiry.permanent ? "permanent" : expiry.expiresOn,
  ]);

describe("the table of -i joins the pools of -a", () => {
  test("an old tool's pool gets its expiry from the one row of its version", () => {
    const reading = readText(around([...block("F", 1, [SEAT]), ...table(["F 1.0 100 vend 31-dec-2018"])]));
    expect(pools(featureOf(reading, "F"))).toEqual([["v1.0", 100, 1, "floating", "2018-12-31"]]);
    expect(reading.unparsedLines).toBe(0);
  });

  test("both column orders say the same", () => {
    const newer = around([...block("F", 1, [SEAT]), ...table(["F 1.0 100 vend 31-dec-2018"])]);
    const older = around([
      ...block("F", 1, [SEAT]),
      ...table(["F 1.0 100 31-dec-2018 vend"], "Expires      Vendor"),
    ]);
    expect(readText(older)).toEqual(readText(newer));
  });

  test("rows of other versions become pools, nothing of which is known to be used", () => {
    const reading = readText(
      around([...block("F", 1, [SEAT]), ...table(["F 1.0 90 vend 31-dec-2018", "F 2.0 10 vend permanent"])]),
    );
    expect(pools(featureOf(reading, "F"))).toEqual([
      ["v1.0", 90, 1, "floating", "2018-12-31"],
      ["v2.0", 10, 0, "unknown", "permanent"],
    ]);
  });

  test("of two rows of one version, the count tells", () => {
    const rows = ["F 1.0 2 vend 30-sep-2018", "F 1.0 100 vend 31-dec-2018"];
    const reading = readText(around([...block("F", 1, [SEAT]), ...table(rows)]));
    expect(pools(featureOf(reading, "F"))).toEqual([
      ["v1.0", 100, 1, "floating", "2018-12-31"],
      ["v1.0", 2, null, "unknown", "2018-09-30"],
    ]);
  });

  test("where nothing tells, rows stand beside the pool and nobody's use is invented", () => {
    const rows = ["F 1.0 48 vend 30-sep-2018", "F 1.0 52 vend 31-dec-2018"];
    const reading = readText(around([...block("F", 1, [SEAT]), ...table(rows)]));
    expect(pools(featureOf(reading, "F"))).toEqual([
      ["v1.0", null, 1, "floating", null],
      ["v1.0", 48, null, "unknown", "2018-09-30"],
      ["v1.0", 52, null, "unknown", "2018-12-31"],
    ]);
  });

  test("an idle feature has the rows as its pools", () => {
    const lines = ["Users of F:  (Total of 52 licenses issued;  Total of 0 licenses in use)"];
    const rows = ["F 1.0 50 vend 31-dec-2018", "F 1.0 2 vend 30-sep-2018"];
    expect(pools(featureOf(readText(around([...lines, ...table(rows)])), "F"))).toEqual([
      ["v1.0", 50, 0, "unknown", "2018-12-31"],
      ["v1.0", 2, 0, "unknown", "2018-09-30"],
    ]);
  });

  test("checkouts without any pool line may be any row's", () => {
    const lines = ["Users of F:  (Total of 52 licenses issued;  Total of 1 license in use)", "", SEAT];
    expect(
      pools(featureOf(readText(around([...lines, ...table(["F 1.0 52 vend 31-dec-2018"])])), "F")),
    ).toEqual([["v1.0", 52, null, "unknown", "2018-12-31"]]);
  });

  test("rows of another daemon or another name are not the feature's", () => {
    const rows = ["F 1.0 100 other 31-dec-2018", "f 1.0 100 vend 31-dec-2018"];
    const reading = readText(around([...block("F", 1, [SEAT]), ...table(rows)]));
    expect(pools(featureOf(reading, "F"))).toEqual([["v1.0", 100, 1, "floating", null]]);
  });

  test("a block printed twice gets them once", () => {
    const reading = readText(
      around([...block("F", 1, [SEAT]), ...block("F", 1, [SEAT]), ...table(["F 1.0 100 vend 31-dec-2018"])]),
    );
    expect(reading.features.map(pools)).toEqual([[["v1.0", 100, 1, "floating", "2018-12-31"]]]);
  });

  test("blocks of one identity with equal counts get the row of their own pool", () => {
    const dated = (expiry: string) =>
      block("F", 1, [SEAT]).map((line) => line.replace("vendor: vend", `vendor: vend, expiry: ${expiry}`));
    const rows = ["F 1.0 100 vend 31-dec-2019", "F 1.0 100 vend 31-dec-2018"];
    const reading = readText(around([...dated("31-dec-2018"), ...dated("31-dec-2019"), ...table(rows)]));
    expect(reading.features.map(pools)).toEqual([
      [["v1.0", 100, 1, "floating", "2018-12-31"]],
      [["v1.0", 100, 1, "floating", "2019-12-31"]],
    ]);
  });

  test("differing blocks of one identity share the rows by their counts", () => {
    const reading = readText(
      around([
        "Users of F:  (Total of 50 licenses issued;  Total of 0 licenses in use)",
        "Users of F:  (Total of 2 licenses issued;  Total of 0 licenses in use)",
        ...table(["F 1.0 50 vend 31-dec-2018", "F 1.0 2 vend 30-sep-2018"]),
      ]),
    );
    expect(reading.features.map(pools)).toEqual([
      [["v1.0", 50, 0, "unknown", "2018-12-31"]],
      [["v1.0", 2, 0, "unknown", "2018-09-30"]],
    ]);
  });
});

describe("features that stand in the table alone", () => {
  test("are not invented beside a feature list", () => {
    const reading = readText(around([...block("F", 1, [SEAT]), ...table(["G 1.0 5 vend permanent"])]));
    expect(reading.features.map(({ name }) => name)).toEqual(["F"]);
  });

  test("are taken for a daemon that is up and printed none: totals known, use not", () => {
    const reading = readText(
      around(table(["G 1.0 5 vend permanent", "G 2.0 1 vend permanent", "H 1 1 dead permanent"])),
    );
    expect(reading.features).toMatchObject([
      { daemon: "vend", name: "G", total: 6, used: null, consistency: "ok", checkouts: [], fromFile: true },
    ]);
  });

  test("are not taken for a daemon that is down", () => {
    const text = around(table(["G 1.0 5 vend permanent"])).replace(
      "vend: UP v11.13.1",
      "vend: Down. (-97,121)",
    );
    expect(readText(text).features).toEqual([]);
  });

  test("are not taken when the query failed", () => {
    const lines = [
      "Error getting status: Cannot connect to license server (-15,570)",
      ...table(["G 1 5 v permanent"]),
    ];
    expect(readText(`${lines.join("\n")}\n`).features).toEqual([]);
  });

  test("are all there is when only the table was printed", () => {
    const reading = readText(`${table(["G 1.0 uncounted v permanent", "H 1.0 5 w 1-jan-0"]).join("\n")}\n`);
    expect(reading.features).toMatchObject([
      { daemon: "v", name: "G", total: null, used: null, unlimited: true, fromFile: true },
      { daemon: "w", name: "H", total: 5, used: null, unlimited: false, fromFile: true },
    ]);
    expect(reading).toMatchObject({ recognised: true, unparsedLines: 0 });
  });

  test("an empty table says nothing", () => {
    const reading = readText(around([...block("F", 1, [SEAT]), ...table([])]));
    expect(reading).toMatchObject({ unparsedLines: 0, cut: false });
  });
});
