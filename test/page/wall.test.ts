import { expect, test } from "bun:test";
import type { PictureServer } from "../../src/domain/live-picture.ts";
import { keptServer } from "../../src/domain/polls/kept-picture.ts";
import { serverJson } from "../../src/http/picture.ts";
import { idOf, sayOf, screensOf, seatsOf, tightestOf, tilesOf } from "../../src/page/daily/wall.ts";
import { feature, NOW, picture } from "../http/make.ts";

const server = (id: string, ...changes: Parameters<typeof picture>[1][]) =>
  keptServer(JSON.parse(serverJson(picture(id, Object.assign({}, ...changes)), 1)) as PictureServer);
const stale = { state: "stale" } as const;
const site = new Map(["a", "b", "c"].map((id) => [id, server(id, id === "c" ? stale : {})]));

test.each([
  ["", ["a", "b", "c"], 2],
  ["servers=c,gone,c,a&rows=4", ["c", "gone", "a"], 4],
  ["rows=5", ["a", "b", "c"], 2],
  ["label=location:nowhere&servers=a,gone", [], 2],
])("the wall of ?%s", (query, ids, rows) => {
  const wanted = tilesOf(site, new URLSearchParams(query));
  expect([wanted.tiles.map(idOf), wanted.rows]).toEqual([ids, rows]);
});

test("several screens begin with what is worst; one has the order of the address", () => {
  const { tiles } = tilesOf(site, new URLSearchParams("servers=a,b,c,gone"));
  expect(screensOf(tiles, 4).map((screen) => screen.map(idOf))).toEqual([["a", "b", "c", "gone"]]);
  expect(screensOf(tiles, 3).map((screen) => screen.map(idOf))).toEqual([["gone", "c", "a"], ["b"]]);
  expect(screensOf([], 3)).toEqual([[]]);
});

test("a tile says how its server is, and which features are tightest", () => {
  expect(sayOf(server("a"), [], NOW)).toEqual({ mark: null, text: "all is well" });
  expect(sayOf(server("a", stale), [], NOW)).toEqual({ mark: "stale", text: "is stale" });
  const features = [3, 0, 9, 1].map((free) =>
    feature(`f${free}`, { total: 20, used: 20 - free, available: free }),
  );
  const full = server("a", { features });
  expect(tightestOf(full).map(({ feature: { name } }) => name)).toEqual(["f0", "f1", "f3"]);
  // 67 of 80 in 160 pixels.
  expect(seatsOf(full).map(({ kind, width }) => [kind, width])).toEqual([
    ["e", 160],
    ["u", 134],
  ]);
});
