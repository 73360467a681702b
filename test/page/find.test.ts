import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { groupedByName, groupedHolders } from "../../src/page/groups.ts";
import { allFeatures, allHolders } from "../../src/page/model.ts";
import { slotsOf } from "../../src/page/rows.ts";
import { matchingHolders } from "../../src/page/search.ts";
import { type Entry, ranked } from "../../src/page/shell/rank.ts";
import { checkout, feature, NOW, picture } from "../http/make.ts";
import { siteOf } from "./kept-site.ts";

describe("the palette", () => {
  const entry = (kind: Entry["kind"], name: string, detail = ""): Entry => ({
    id: `${kind} ${name}`,
    kind,
    name,
    detail,
  });
  const entries = [
    entry("person", "ada", "ws01, 2 seats"),
    entry("host", "ws01", "ada"),
    entry("feature", "Ada_Compiler", "eda acmed"),
    entry("feature", "Canada", "eda acmed"),
    entry("server", "ada", "Chip design"),
    { ...entry("page", "People"), also: "users hosts" },
    entry("action", "Sign out"),
    entry("feature", '<img src=x onerror="1">', "eda"),
  ];
  test.each<[string, string[]]>([
    ["", ["page People", "action Sign out"]],
    ["ada", ["server ada", "person ada", "feature Ada_Compiler", "feature Canada", "host ws01"]],
    ["ADA eda", ["feature Ada_Compiler", "feature Canada"]],
    ["compiler", ["feature Ada_Compiler"]],
    ['<img src=x onerror="1">', ['feature <img src=x onerror="1">']],
    ["nobody", []],
    ["users", ["page People"]],
  ])("finds %p, best first", (search, ids) => {
    expect(ranked(entries, search).map(({ id }) => id)).toEqual(ids);
  });

  test("limits each kind, so that none hides another", () => {
    const many = Array.from({ length: 500 }, (_, at) => entry("person", `ada${at}`));
    expect(ranked([...many, ...entries], "ada").map(({ kind }) => kind)).toContain("host");
    expect(ranked(many, "ada")).toHaveLength(8);
  });
});

const site = siteOf(
  ...["eda", "cae"].map((id) =>
    picture(id, {
      features: [
        feature("solver", { checkouts: [checkout("ada")] }),
        feature(`only-${id}`, { checkouts: [] }),
      ],
    }),
  ),
);

describe("groups", () => {
  test("add up the seats of one name; an unknown part makes the sum unknown", () => {
    const rows = allFeatures(site);
    const [solver, ...others] = groupedByName(rows);
    const [one] = rows;
    expect(solver).toMatchObject({
      of: 2,
      feature: { total: 2 * (one?.feature.total ?? 0), used: 2 * (one?.feature.used ?? 0) },
    });
    expect(others.map(({ of, feature: { name } }) => [name, of])).toEqual([
      ["only-eda", undefined],
      ["only-cae", undefined],
    ]);
    const unknown = rows.map((row, at) =>
      at === 0 ? { ...row, feature: { ...row.feature, used: null } } : row,
    );
    expect(groupedByName(unknown)[0]?.feature.used).toBeNull();
  });

  test("of people, hosts and features count each seat once", () => {
    const all = allHolders(site);
    expect(groupedHolders(all, "user")).toMatchObject([{ name: "ada", others: 2, waiting: 0 }]);
    expect(groupedHolders(all, "feature").map(({ name, others }) => [name, others])).toEqual([
      ["solver", 1],
      ["solver", 1],
    ]);
    const seats = all.reduce((sum, { count }) => sum + count, 0);
    for (const by of ["user", "host", "feature"] as const)
      expect(groupedHolders(all, by).reduce((sum, row) => sum + row.count, 0)).toBe(seats);
  });

  test("contain only checkouts from before a time", () => {
    const filter = { search: "", server: null, feature: null };
    expect(matchingHolders(allHolders(site), { ...filter, before: NOW - 1e12 })).toEqual([]);
    expect(matchingHolders(allHolders(site), { ...filter, before: NOW })).toHaveLength(2);
  });
});

test("each row keeps its own slot while it is shown", () => {
  const view = fc.uniqueArray(fc.nat(30), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(view, { maxLength: 8 }), (views) => {
      let slots: ReadonlyMap<string, number> = new Map();
      for (const ids of views) {
        const before = slots;
        slots = slotsOf(
          ids.map((id) => ({ id: `${id}` })),
          before,
        );
        expect(new Set(slots.values()).size).toBe(ids.length);
        for (const [id, slot] of slots) if (before.has(id)) expect(slot).toBe(before.get(id) as number);
      }
    }),
  );
});
