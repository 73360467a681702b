import type { AlertRecord } from "../../domain/alerts.ts";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { type FeatureRow, featuresOf, labelsOf, type Site, sorted } from "../model.ts";
import { inDays } from "../words.ts";
import { type Trouble, troublesOf } from "./attention.ts";
import { conditionOf, isOld, KINDS, kindOf, MARK_OF } from "./condition.ts";

const ROWS = 2;

/**
 * Reads the parameters of a wall: `servers=eda,cae` (shown in this order; default: all),
 * `label=location:muc`, and `rows` of tiles, 1 to 4. `unknown` are names in the address that the config
 * does not have.
 */
export function wallOf(site: Site, query: URLSearchParams) {
  const ids = new Set(query.get("servers")?.split(",").filter(Boolean) ?? site.keys());
  const label = query.get("label");
  const servers = [...ids]
    .flatMap((id) => site.get(id) ?? [])
    .filter((server) => label === null || labelsOf(server).includes(label));
  const rows = query.get("rows") ?? "";
  return {
    servers,
    unknown: [...ids].filter((id) => !site.has(id)),
    rows: /^[1-4]$/.test(rows) ? Number(rows) : ROWS,
  };
}

export function screensOf(servers: readonly KeptServer[], most: number): KeptServer[][] {
  if (servers.length <= most) return [[...servers]];
  const worst = servers.toSorted((a, b) => KINDS.indexOf(kindOf(a)) - KINDS.indexOf(kindOf(b)));
  return Array.from({ length: Math.ceil(worst.length / most) }, (_, at) =>
    worst.slice(at * most, (at + 1) * most),
  );
}

/** Returns the server's condition, or for a healthy server its worst alert. `mark` is null if everything is fine. */
export function sayOf(
  server: KeptServer,
  firing: readonly AlertRecord[],
  now: number,
): { readonly mark: Trouble["mark"] | null; readonly tone?: Trouble["tone"]; readonly text: string } {
  const kind = kindOf(server);
  if (kind !== "fine") return { mark: MARK_OF[kind], text: conditionOf(server) };
  const own = firing.filter((alert) => alert.server === server.id);
  const [worst] = troublesOf(new Map([[server.id, server]]), own, now);
  if (worst === undefined) return { mark: null, text: "all is well" };
  const { mark, tone, subject, text, days } = worst;
  return { mark, tone, text: [subject, text, ...(days === null ? [] : [inDays(days)])].join(" ") };
}

export function seatsOf(server: KeptServer, isStale = isOld(server)) {
  const { total, used } = server.counts;
  const reserved = limitedOf(server).filter(({ feature }) => feature.unit === "seats");
  return {
    total,
    used,
    available: Math.max(0, (total ?? 0) - (used ?? 0)),
    reserved: reserved.reduce(
      (sum, { free, feature }) => sum + Math.min(feature.reserved ?? 0, (feature.total ?? 0) - (free ?? 0)),
      0,
    ),
    queued: 0,
    unlimited: false,
    state: isStale ? ("stale" as const) : ("ok" as const),
  };
}

const limitedOf = (server: KeptServer) =>
  featuresOf(server).filter(({ free, feature }) => free !== null && (feature.total ?? 0) > 0);
const TIGHTEST = 3;

export const tightestOf = (server: KeptServer): FeatureRow[] =>
  sorted(limitedOf(server), "free").slice(0, TIGHTEST);
