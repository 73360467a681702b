import type { AlertRecord } from "../../domain/alerts.ts";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { type FeatureRow, featuresOf, labelsOf, type Site, sorted } from "../model.ts";
import { type Part, partsOf } from "../seats.ts";
import { type Trouble, troublesOf } from "./attention.ts";
import { conditionOf, isOld, KINDS, kindOf, MARK_OF } from "./condition.ts";
import { daily } from "./words.ts";

/** A server, or the id of one that the address names and the config does not have. */
export type Tile = KeptServer | string;

const ROWS = 2;
export const idOf = (tile: Tile): string => (typeof tile === "string" ? tile : tile.id);

/** `servers=eda,cae` in that order, else all in the config's; `label=location:muc` of them; `rows` of tiles, 1 to 4. */
export function tilesOf(site: Site, query: URLSearchParams) {
  const ids = query.get("servers")?.split(",").filter(Boolean) ?? [...site.keys()];
  const label = query.get("label");
  const tiles = [...new Set(ids)]
    .map((id): Tile => site.get(id) ?? id)
    .filter((tile) => label === null || (typeof tile !== "string" && labelsOf(tile).includes(label)));
  const rows = query.get("rows") ?? "";
  return { tiles, rows: /^[1-4]$/.test(rows) ? Number(rows) : ROWS };
}

/** What one screen shows after the other. Where there are several, the first has what is worst. */
export function screensOf(tiles: readonly Tile[], most: number): Tile[][] {
  if (tiles.length <= most) return [[...tiles]];
  const rank = (tile: Tile) => (typeof tile === "string" ? -1 : KINDS.indexOf(kindOf(tile)));
  const worst = tiles.toSorted((a, b) => rank(a) - rank(b));
  return Array.from({ length: Math.ceil(worst.length / most) }, (_, at) =>
    worst.slice(at * most, (at + 1) * most),
  );
}

/** What a tile says of its server: how it is, else the worst that fires for it; `mark` is null where all is well. */
export function sayOf(
  server: KeptServer,
  firing: readonly AlertRecord[],
  now: number,
): { readonly mark: Trouble["mark"] | null; readonly text: string } {
  const kind = kindOf(server);
  if (kind !== "fine") return { mark: MARK_OF[kind], text: conditionOf(server) };
  const own = firing.filter((alert) => alert.server === server.id);
  const [worst] = troublesOf(new Map([[server.id, server]]), own, now);
  if (worst === undefined) return { mark: null, text: daily.allWell };
  const { mark, subject, text, days } = worst;
  const when = days === null || days < 0 ? [] : [daily.expiresIn(days)];
  return { mark, text: [subject, text, ...when].join(" ") };
}

/** The seats of a server together, as those of one feature are drawn. Features without a limit are no part of them. */
export function seatsOf(server: KeptServer): Part[] {
  const sum = { total: 0, available: 0, reserved: 0, queued: 0 };
  for (const { free, feature } of featuresOf(server)) {
    if (free === null || feature.total === null) continue;
    sum.total += feature.total;
    sum.available += free;
    sum.reserved += Math.min(feature.reserved ?? 0, feature.total - free);
  }
  return partsOf({ ...sum, state: isOld(server) ? "stale" : "ok" });
}

const TIGHTEST = 3;

/** Features with the fewest free seats, those that are waited for first. */
export function tightestOf(server: KeptServer): FeatureRow[] {
  const limited = featuresOf(server).filter(({ free, feature }) => free !== null && (feature.total ?? 0) > 0);
  return sorted(limited, "free").slice(0, TIGHTEST);
}
