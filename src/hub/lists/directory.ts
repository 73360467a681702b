import type { DenialLogging } from "../../collector/log-tail/denial-watch.ts";
import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import type { ServerPicture, Snapshot } from "../../domain/picture.ts";
import { markStale } from "../../domain/polls/apply-poll.ts";
import { serverAt } from "../../domain/server.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { PictureHead } from "../../fleet/protocol.ts";
import type { SITE } from "../../http/lists/lists.ts";
import { type NAMED, shown, type Values } from "../../http/query.ts";
import { closestWords, namedServers } from "../../http/snapshot.ts";
import { fromRow, type Pool } from "../database/connect.ts";
import type { Sum, Sums } from "../push/sums.ts";
import { isSilent } from "../push/take-push.ts";

interface SiteRow {
  readonly site: string;
  readonly lastPushAt: number | null;
  /** Time at which the site announced its shutdown; null once the site has pushed again. */
  readonly stoppedAt: number | null;
  readonly allow: readonly string[];
}

interface Known {
  readonly site: string;
  readonly place: number;
  readonly picture: ServerPicture;
  readonly sums: Sums | null;
}

export type Directory = ReturnType<typeof createDirectory>;

/** Keeps sites and servers in memory without features, about 2 KB per server. */
export function createDirectory(pool: Pool, clock: Clock) {
  let sites = new Map<string, SiteRow>();
  let heads = new Map<string, Known>();
  /** Id below which all transactions had finished at the last look. */
  let since = "0";
  let snapshot: Snapshot = { version: 0, servers: [] };
  let silent = "";
  let spans = new Map<string, { readonly from: number; readonly counted: boolean }>();

  /** Loads changes. After a failure it loads everything, because the database may have been replaced. */
  async function renew(): Promise<void> {
    const from = since;
    since = "0";
    since = await renewSince(from);
  }

  async function renewSince(from: string): Promise<string> {
    const [{ horizon }] = await pool`SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon`;
    // Changes committed after this look have ids from the horizon on, so the next look begins there.
    const changed: { site: string; server: string; place: number; head: string; sums: string | null }[] =
      await pool`
      SELECT site, server, place, head, sums FROM servers WHERE head IS NOT NULL AND changed >= ${from}::text::xid8`;
    // Read sites after servers, so that the site of each known server is known as well.
    const rows: Record<string, string | null>[] = await pool`
      SELECT site, last_push_at, stopped_at, info::json ->> 'allow' AS allow FROM sites`;
    sites = new Map(
      rows.map((row) => {
        const site = fromRow<SiteRow>(row, ["lastPushAt", "stoppedAt"]);
        return [site.site, { ...site, allow: JSON.parse(row.allow ?? "[]") }];
      }),
    );
    const next = new Map(heads);
    for (const { site, server, place, head, sums } of changed)
      next.set(serverAt(site, server), {
        site,
        place,
        picture: pictureOf(site, JSON.parse(head)),
        sums: sums === null ? null : JSON.parse(sums),
      });
    const [count] = await pool`SELECT count(*)::int AS known FROM servers WHERE head IS NOT NULL`;
    if (count.known !== next.size) {
      const all: { site: string; server: string }[] =
        await pool`SELECT site, server FROM servers WHERE head IS NOT NULL`;
      const ids = new Set(all.map(({ site, server }) => serverAt(site, server)));
      for (const id of next.keys()) if (!ids.has(id)) next.delete(id);
    }
    const running: { site: string; server: string; from_at: string; counted: boolean }[] = await pool`
      SELECT site, server, from_at, counted FROM denial_spans WHERE to_at IS NULL`;
    spans = new Map(
      running.map(({ site, server, from_at, counted }) => [
        serverAt(site, server),
        { from: Number(from_at), counted },
      ]),
    );
    const quiet = [...sites.keys()].filter(isSilentSite).join(" ");
    if (changed.length === 0 && next.size === heads.size && quiet === silent) return horizon;
    [heads, silent] = [next, quiet];
    const servers = [...heads.values()]
      .sort((a, b) => (a.site === b.site ? a.place - b.place : a.site < b.site ? -1 : 1))
      .map(({ site, picture }) => (isSilentSite(site) ? markStale(picture) : picture));
    snapshot = { version: snapshot.version + 1, servers };
    return horizon;
  }

  function isSilentSite(site: string): boolean {
    const known = sites.get(site);
    return known === undefined || isSilent(known, clock.now());
  }

  return {
    renew,
    snapshot: (): Snapshot => snapshot,
    sites: (): readonly SiteRow[] => [...sites.values()],
    siteOf: (site: string): SiteRow | null => sites.get(site) ?? null,
    isSilent: isSilentSite,
    /** Returns the feature sums of these servers; null = of all servers. */
    sums(ids: readonly string[] | null): readonly Sums[] {
      const found = ids === null ? [...heads.values()] : ids.flatMap((id) => heads.get(id) ?? []);
      return found.flatMap(({ site, sums }) => {
        if (sums === null || !isSilentSite(site)) return sums ?? [];
        return { ...sums, stale: sums.features - sums.failed };
      });
    },
    /** Reports for each server whether denials can be seen, as of its site's last push. */
    logging: (): readonly DenialLogging[] =>
      snapshot.servers.map(({ server: { id } }) => {
        const span = spans.get(id);
        const message = null;
        if (span === undefined) return { server: id, state: "off", source: null, since: null, message };
        const source = span.counted ? "counters" : "debug_log";
        return { server: id, state: "on", source, since: span.from, message };
      }),
    serversOf: (site: string): readonly string[] =>
      snapshot.servers.flatMap(({ server }) => (server.id.startsWith(`${site}:`) ? [server.id] : [])),
  };
}

export function sumOf(sums: readonly Sums[], name: Sum): number {
  return sums.reduce((sum, each) => sum + (each[name] ?? 0), 0);
}

export function pictureOf(site: string, head: PictureHead): ServerPicture {
  return { ...head, server: { ...head.server, id: serverAt(site, head.server.id), site }, features: [] };
}

type Named = Values<typeof SITE & Pick<typeof NAMED, "server" | "label">>;

/** Returns the servers that a query covers; null = all. Throws NOT_FOUND for unknown names. */
export function serversIn(directory: Directory, { site, server, label }: Named) {
  const sites = directory.sites().map((row) => row.site);
  const unknown = site?.find((name) => !sites.includes(name));
  if (unknown !== undefined)
    throw new ApiError(
      "NOT_FOUND",
      `Unknown site ${shown(unknown)}; /api/fleet/sites lists them.${closestWords(closestNames(unknown, new Set(sites)))}`,
    );
  if (site === undefined && server === undefined && label === undefined) return null;
  const named = namedServers(directory.snapshot(), server, label).map((picture) => picture.server.id);
  if (site === undefined) return named;
  const ofSites = new Set(site.flatMap(directory.serversOf));
  return named.filter((id) => ofSites.has(id));
}
