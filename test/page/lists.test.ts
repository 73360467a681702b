import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { day, moment } from "../../src/page/format.ts";
import {
  allFeatures,
  allHolders,
  countStates,
  inState,
  sorted,
  sortedHolders,
} from "../../src/page/model.ts";
import { steady } from "../../src/page/rows.ts";
import { matching, matchingHolders } from "../../src/page/search.ts";
import { partsOf } from "../../src/page/seats.ts";
import { checkout, feature, NOW, picture } from "../http/make.ts";
import { siteOf } from "./kept-site.ts";

const expired = { expiresOn: "2026-02-01", expiresAt: NOW - 9e8, permanent: false };
const site = siteOf(
  picture("eda", {
    features: [
      feature("full", { used: 4, available: 0, queued: 2, checkouts: [checkout("O'Neil")] }),
      feature("old", { used: 4, available: 0, state: "stale", checkouts: [] }),
      feature("server:x", { used: 1, available: 3, expiry: expired, checkouts: [] }),
      feature("open", { total: null, available: null, unlimited: true, checkouts: [] }),
    ],
  }),
  picture("cae", { features: [feature("full", { checkouts: [checkout("ada")] })] }),
);
const rows = allFeatures(site);
const any = { search: "", server: null, label: null };
const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id.split("/")[1]);

describe("the list of features", () => {
  test.each<[string, string[]]>([
    ["", ["full", "old", "server:x", "open", "full"]],
    ["o'neil", ["full"]],
    ["FULL eda", ["full"]],
    ["server:cae", ["full"]],
    ["server:x", ["server:x"]],
    ["free:0", ["full", "old"]],
    ["ws01", ["full", "full"]],
    ["nobody", []],
  ])("is searched for %p", (search, found) => {
    expect(ids(matching(rows, { ...any, search }))).toEqual(found);
  });

  test("is filtered by server, label and state; stale features are not full", () => {
    expect(matching(rows, { ...any, server: "cae" })).toHaveLength(1);
    expect(matching(rows, { ...any, label: "site:muc" })).toHaveLength(5);
    expect(matching(rows, { ...any, label: "site:ber" })).toEqual([]);
    expect(ids(inState(rows, "full", NOW))).toEqual(["full"]);
    expect(countStates(rows, NOW)).toMatchObject({ full: 1, waiting: 1, stale: 1, expiring: 5, partial: 0 });
  });

  test("is sorted with unknown values last in both directions", () => {
    expect(ids(sorted([...rows], "free")).at(-1)).toBe("open");
    expect(ids(sorted([...rows], "-free")).at(-1)).toBe("open");
    expect(ids(sorted([...rows], "free"))[0]).toBe("full");
    expect(ids(sorted([...rows], "-name"))[0]).toBe("server:x");
  });

  test("keeps rows in place, and counts those that would move", () => {
    const [a, b, c] = ["a", "b", "c"].map((id) => ({ id }));
    if (!a || !b || !c) throw new Error("three");
    expect(steady([c, a], [a, b, c])).toEqual({ rows: [a, c], moved: 2 });
    expect(steady([a, b, c], [a, b])).toEqual({ rows: [a, b, c], moved: 0 });
  });
});

test("people are searched by user, host, feature and server, longest checkouts first", () => {
  const holders = allHolders(site);
  const of = (search: string) =>
    sortedHolders(matchingHolders(holders, { search, server: null, feature: null }), "since").map(
      ({ user }) => user,
    );
  expect(of("")).toEqual(["ada", "O'Neil"]);
  expect(of("full cae")).toEqual(["ada"]);
  expect(matchingHolders(holders, { search: "", server: null, feature: "eda acmed/full" })).toHaveLength(1);
});

test("a bar has a part for each seat, or lengths that fill it", () => {
  const count = fc.option(fc.integer({ min: 0, max: 5000 }), { nil: null });
  fc.assert(
    fc.property(count, count, count, count, (total, free, reserved, queued) => {
      const available = free === null ? null : Math.min(free, total ?? 0) - (free % 3);
      const parts = partsOf({ total, available, reserved, queued, state: "ok" });
      for (const { x, width } of parts) expect([x >= 0, width > 0, x <= 184]).toEqual([true, true, true]);
      const cells = parts.filter(({ kind }) => kind !== "w");
      if (total !== null && total > 0 && total <= 32) {
        expect(cells).toHaveLength(total);
        if (available !== null)
          expect(cells.filter(({ kind }) => kind === "e")).toHaveLength(
            Math.min(total, Math.max(0, available)),
          );
      }
    }),
  );
});

test("a time of another year has its year", () => {
  const year = new Date(NOW).getFullYear();
  expect([day(`${year}-03-31`, NOW), day(`${year + 1}-01-02`, NOW), day("never", NOW)]).toEqual([
    "31 Mar",
    `2 Jan ${year + 1}`,
    "never",
  ]);
  const of = (...parts: [number, number, number, number]) => new Date(...parts).getTime();
  const noon = of(2026, 10, 24, 12);
  expect(
    [of(2026, 10, 24, 8), of(2026, 10, 23, 8), of(2025, 11, 31, 8)].map((at) => moment(at, noon)),
  ).toEqual(["08:00", "23 Nov, 08:00", "31 Dec 2025, 08:00"]);
});
