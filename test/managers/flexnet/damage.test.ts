import { describe, expect, test } from "bun:test";
import type { FeatureReading, PoolReading, Reading } from "../../../src/domain/reading.ts";
import { UNKNOWN_EXPIRY } from "../../../src/domain/reading.ts";
import { around, FIXTURES, fixture, readText } from "./read.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

/** Checks the properties of every reading, including readings of damaged text. */
function expectSound(reading: Reading): void {
  for (const feature of reading.features) {
    const held = [...feature.checkouts, ...feature.reservations, ...feature.queue];
    for (const { count, pool } of held) {
      expect(count).toBeGreaterThanOrEqual(1);
      if (pool !== null) expect(feature.pools[pool]).toBeDefined();
    }
    const seats = [...feature.checkouts, ...feature.reservations].reduce((sum, { count }) => sum + count, 0);
    const { used, total } = feature;
    const isWrong = used !== null && (seats < used || (seats > used && seats > (total ?? seats)));
    expect(feature.consistency).toBe(isWrong ? "short" : used === null || seats === used ? "ok" : "shared");
    if (feature.error !== null || feature.unlimited)
      expect([feature.total, feature.used]).toEqual([null, null]);
  }
  expect(reading.unparsed.length).toBeLessThanOrEqual(reading.unparsedLines);
}

describe("a text that was cut", () => {
  /** Checks that pools are equal or unknown; those with more data in the table may lack it. */
  function expectNothingWrong(pools: readonly PoolReading[], whole: readonly PoolReading[]): void {
    for (const pool of pools) {
      const own = whole.find(({ version }) => version === pool.version);
      expect(own).toBeDefined();
      if (pool.total !== null) expect(pool.total).toBe(own?.total as number);
      if (pool.used !== null) expect(pool.used).toBe(own?.used as number);
      if (pool.expiry.expiresOn !== null || pool.expiry.permanent) {
        expect(pool.expiry).toEqual(own?.expiry as PoolReading["expiry"]);
      }
    }
  }

  function expectHonest(feature: FeatureReading, whole: FeatureReading, isLast: boolean): void {
    if (feature.cut || feature.consistency === "short") return;
    const { total, used, unlimited, reservations } = whole;
    expect(feature).toMatchObject({ total, used, unlimited });
    expect(feature.reservations).toEqual(reservations as never);
    expectNothingWrong(feature.pools, whole.pools);
    // A cut between two lines cannot be detected without an end mark or a count.
    const seats = isLast && unlimited ? feature.checkouts.length : undefined;
    expect(feature.checkouts).toEqual(whole.checkouts.slice(0, seats) as never);
    expect(feature.queue).toEqual(whole.queue.slice(0, isLast ? feature.queue.length : undefined) as never);
  }

  const names = [...FIXTURES, "two-lmgrds"];
  test.each(names)("%s cut at every byte is never a wrong picture that looks whole", (name) => {
    const bytes = utf8(fixture(name));
    const whole = readText(bytes);
    for (let length = 0; length < bytes.length; length++) {
      const reading = readText(bytes.subarray(0, length));
      expectSound(reading);
      const endsInLine = length > 0 && bytes[length - 1] !== 0x0a;
      if (endsInLine) expect(reading.cut).toBe(true);
      for (const [index, feature] of reading.features.entries()) {
        const own = whole.features[index];
        expect(own).toMatchObject({ name: feature.name, daemon: feature.daemon });
        if (own !== undefined) expectHonest(feature, own, index === reading.features.length - 1);
      }
    }
  });

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

  test("in the expiry of a pool: the date is not known", () => {
    const text = around(head.map((line) => line.replace("31-dec-2025", "31-dec-20"))).slice(0, -1);
    expect(readText(text).features[0]?.pools[0]?.expiry).toEqual(UNKNOWN_EXPIRY);
  });
});

describe("time is linear", () => {
  const SIZE = 300_000;
  const many = (line = "") => Array<string>(5000).fill(line);
  const long = (unit: string) => unit.repeat(Math.ceil(SIZE / unit.length));
  const head = around([
    "Users of F:  (Total of 9 licenses issued;  Total of 2 licenses in use)",
    '"F" v1, vendor: vend',
  ]);
  const idle = "Users of F:  (Total of 9 licenses issued;  Total of 0 licenses in use)";
  const pool = '"F" v1.0, vendor: vend, expiry: 31-dec-2025';
  const TABLE = "Feature   Version     #licenses    Vendor        Expires";
  const rows = ["F 1.0 9 vend permanent", "F 1.0 9 vend 31-dec-2025"];
  const texts: [string, string][] = [
    ...'(~)~ ~:~: ~"~(-~(-1,~), start ~) queued for ~, vendor: ~a ~1 ~/~\t'
      .split("~")
      .map((unit): [string, string] => [`a line of ${JSON.stringify(unit)}`, `${head}${long(unit)}\n`]),
    ["a long header", `${head}Users of ${long(": (Total of ")}\n`],
    ["a long checkout", `${head}${long("pc ")}(v1) (lic/1 2), start Fri 10/20 16:44\n`],
    ["a long tail", `${head}a b c (v1) (lic/1 2), start Fri 10/20 16:44${long(" ")}x\n`],
    ["a long vendor_string", `${head}vendor_string: ${long("x|")}\n`],
    ["a long reservation", `${head}1 RESERVATION for USER ${long("x (a/")}\n`],
    ["many headers of one name", around(many(idle))],
    ["many rows and blocks of one name", around([...many(idle), TABLE, ...many(rows[0])])],
    ["many pools and rows of one version", around([idle, ...many(pool), TABLE, ...many(rows[1])])],
    ["many members", around(many("x: license server UP v11.1").map((line, index) => `h${index}.${line}`))],
    ["many daemons", around(many(": UP v11.1").map((line, index) => `d${index}${line}`))],
  ];
  // Quadratic work on 300,000 characters would take minutes and time out.
  test.each(texts)("%s", (_, text) => {
    expectSound(readText(text));
  });
});
