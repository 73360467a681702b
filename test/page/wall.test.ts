import { expect, test } from "bun:test";
import { sayOf, screensOf, seatsOf, tightestOf, wallOf } from "../../src/page/daily/wall.ts";
import { feature, NOW, picture } from "../http/make.ts";
import { kept, siteOf } from "./kept-site.ts";

const server = (id: string, change: Parameters<typeof picture>[1] = {}) => kept(picture(id, change));
const stale = { state: "stale" } as const;
const site = siteOf(picture("a"), picture("b"), picture("c", stale));

const idsOf = (servers: readonly { readonly id: string }[]) => servers.map(({ id }) => id);

test.each([
  ["", ["a", "b", "c"], [], 2],
  ["servers=c,gone,c,a&rows=4", ["c", "a"], ["gone"], 4],
  ["rows=5", ["a", "b", "c"], [], 2],
  ["label=location:nowhere&servers=a,gone", [], ["gone"], 2],
])("the wall of ?%s", (query, ids, unknown, rows) => {
  const wall = wallOf(site, new URLSearchParams(query));
  expect({ ...wall, servers: idsOf(wall.servers) }).toEqual({ servers: ids, unknown, rows });
});

test("several screens begin with the worst servers; one screen has the order of the address", () => {
  const { servers } = wallOf(site, new URLSearchParams("servers=a,b,c"));
  expect(screensOf(servers, 3).map(idsOf)).toEqual([["a", "b", "c"]]);
  expect(screensOf(servers, 2).map(idsOf)).toEqual([["c", "a"], ["b"]]);
  expect(screensOf([], 3)).toEqual([[]]);
});

test("a tile shows the condition of its server and its tightest features", () => {
  expect(sayOf(server("a"), [], NOW)).toEqual({ mark: null, text: "all is well" });
  expect(sayOf(server("a", stale), [], NOW)).toEqual({ mark: "stale", text: "is stale" });
  const features = [3, 0, 9, 1].map((free) =>
    feature(`f${free}`, { total: 20, used: 20 - free, available: free }),
  );
  const full = server("a", { features });
  expect(tightestOf(full).map(({ feature: { name } }) => name)).toEqual(["f0", "f1", "f3"]);
  expect(seatsOf(full)).toMatchObject({ total: 80, available: 13, reserved: 0, state: "ok" });
});
