import { describe, expect, test } from "bun:test";
import { UNKNOWN_EXPIRY } from "../../../src/domain/reading.ts";
import { around, readText } from "./read.ts";

describe("a text that was cut", () => {
  const seat = "    amira pc-1 pc-1 (v1.0) (lic/27000 101), start Fri 10/20 16:44";
  const head = [
    "Users of F:  (Total of 9 licenses issued;  Total of 2 licenses in use)",
    "",
    '  "F" v1.0, vendor: vend, expiry: 31-dec-2025',
  ];
  const body = [...head, "  floating license", seat, seat];
  test.each<[string, string, boolean, boolean, "ok" | "short"]>([
    ["behind half a header", around([...body, "", "Users of G"]), true, false, "ok"],
    ["inside half a header", around([...body, "", "Users of G"]).slice(0, -1), true, false, "ok"],
    ["behind the pool's line", around(head), true, true, "short"],
    ["behind half a kind", around([...head, "  floating lic"]), true, true, "short"],
    ["behind half a checkout", around([...body.slice(0, -1), seat.slice(0, 40)]), true, true, "short"],
    ["between two checkouts", around(body.slice(0, -1)), false, false, "short"],
    ["behind the last checkout", around(body), false, false, "ok"],
    ["before the last line end", around(body).slice(0, -1), true, true, "ok"],
  ])("%s", (_, text, cut, featureCut, consistency) => {
    const reading = readText(text);
    expect(reading.cut).toBe(cut);
    expect(reading.features.at(-1)).toMatchObject({ cut: featureCut, consistency });
  });

  test("by the collector's cap", () => {
    const reading = readText(around(body), { truncated: true });
    expect(reading).toMatchObject({ cut: true, features: [{ cut: true }] });
  });

  test("between two blocks: features that only the table has are partial", () => {
    const table = [
      "Feature Version #licenses Vendor Expires",
      "F 1.0 9 vend permanent",
      "G 1.0 5 vend permanent",
    ];
    const reading = readText(around([...body, ...table]));
    expect(reading.features).toMatchObject([
      { name: "F", cut: false },
      { name: "G", total: 5, used: null, cut: true, fromFile: true },
    ]);
  });

  test("in its table: the features above are whole", () => {
    const table = [
      "Feature   Version     #licenses    Vendor        Expires",
      "F         1.0         9            vend          31-dec-20",
    ];
    const reading = readText(around([...body, ...table]).slice(0, -1));
    const features = [{ cut: false, pools: [{ expiry: { expiresOn: "2025-12-31" } }] }];
    expect(reading).toMatchObject({ cut: true, unparsedLines: 1, features });
  });

  test("in the expiry of a pool: the date is unknown", () => {
    const text = around(head.map((line) => line.replace("31-dec-2025", "31-dec-20"))).slice(0, -1);
    expect(readText(text).features[0]?.pools[0]?.expiry).toEqual(UNKNOWN_EXPIRY);
  });
});

// Quadratic work would take minutes and time out.
describe("many equal parts take linear time", () => {
  const many = (line = "") => Array<string>(5000).fill(line);
  const idle = "Users of F:  (Total of 9 licenses issued;  Total of 0 licenses in use)";
  const pool = '"F" v1.0, vendor: vend, expiry: 31-dec-2025';
  const TABLE = "Feature   Version     #licenses    Vendor        Expires";

  test.each<[string, readonly string[]]>([
    ["headers of one name", many(idle)],
    ["rows and blocks of one name", [...many(idle), TABLE, ...many("F 1.0 9 vend permanent")]],
    ["pools and rows of one version", [idle, ...many(pool), TABLE, ...many("F 1.0 9 vend 31-dec-2025")]],
    ["members", many("x: license server UP v11.1").map((line, index) => `h${index}.${line}`)],
    ["daemons", many(": UP v11.1").map((line, index) => `d${index}${line}`)],
  ])("%s", (_, lines) => {
    expect(readText(around(lines))).toMatchObject({ unparsedLines: 0, recognised: true });
  });
});
