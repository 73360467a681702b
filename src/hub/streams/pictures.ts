import type { ServerPicture } from "../../domain/picture.ts";
import { serverAt } from "../../domain/server.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { NOTHING, patchBetween } from "../../http/streams/picture-feed.ts";
import type { StreamFilter } from "../../http/streams/stream-filter.ts";
import type { Pool, Sql } from "../database/connect.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import { pictureOf } from "../lists/directory.ts";
import { wholePictures } from "../lists/servers.ts";
import { SILENT_MS } from "../push/take-push.ts";
import type { Feed } from "./feed.ts";

const GROUP = 20;
/** Maximum number of features and rows kept in memory to compute differences, of about 1 KB each. */
const MAX_KEPT_ROWS = 40_000;

interface ServerRow {
  readonly site: string;
  readonly server: string;
  readonly changed_at: string;
  /** Read together with the picture, so that silence is judged at the same moment. */
  readonly last_push_at: string | null;
}

const isSilent = ({ last_push_at }: ServerRow, now: number) => now - Number(last_push_at) > SILENT_MS;

/**
 * Returns the number of a server's picture, which is the same at all hubs. Becoming silent changes the
 * number, too.
 */
const numberOf = (row: ServerRow, now: number) => 2 * Number(row.changed_at) + (isSilent(row, now) ? 1 : 0);

interface Numbered {
  readonly number: number;
  readonly picture: ServerPicture;
}

/** Returns complete pictures from one snapshot, in the order of the ids. */
export async function numberedPictures(pool: Pool, ids: readonly string[], now: number): Promise<Numbered[]> {
  if (ids.length === 0) return [];
  return pool.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", async (tx) => {
    const rows = await headsOf(tx, ids);
    const silent = new Set(rows.filter((row) => isSilent(row, now)).map(({ site }) => site));
    const heads = rows.map(({ site, head }) => pictureOf(site, JSON.parse(head)));
    const pictures = await wholePictures(tx, heads, (site) => silent.has(site));
    return pictures.map((picture, index) => ({ number: numberOf(rows[index] as ServerRow, now), picture }));
  });
}

async function numberedHeads(pool: Pool, ids: readonly string[], now: number): Promise<Numbered[]> {
  const rows = await headsOf(pool, ids);
  return rows.map((row) => ({
    number: numberOf(row, now),
    picture: pictureOf(row.site, JSON.parse(row.head)),
  }));
}

type HeadRow = ServerRow & { readonly head: string };

async function headsOf(sql: Sql, ids: readonly string[]): Promise<HeadRow[]> {
  const conditions = createConditions();
  conditions.servers("s", ids);
  const found: HeadRow[] = await sql.unsafe(
    `SELECT s.site, s.server, s.changed_at, t.last_push_at, s.head FROM servers s JOIN sites t USING (site)
     WHERE s.head IS NOT NULL AND ${conditions.where()}`,
    conditions.values,
  );
  const rows = new Map(found.map((row) => [serverAt(row.site, row.server), row]));
  return ids.flatMap((id) => rows.get(id) ?? []);
}

interface WatchDeps {
  readonly pool: Pool;
  readonly bus: Pick<Feed["bus"], "pass">;
  readonly watching: () => readonly Pick<StreamFilter, "sites" | "servers">[];
  readonly clock: Clock;
  readonly anonymous: (picture: ServerPicture) => ServerPicture;
}

interface Kept {
  readonly number: number;
  readonly picture: ServerPicture | null;
}

/**
 * Sends `picture` events with the difference to the last sent picture. If the last sent picture is unknown,
 * the event has only a number; clients with another number read the picture again.
 */
export function createPictureWatch({ pool, bus, watching, clock, anonymous }: WatchDeps) {
  const kept = new Map<string, Kept>();
  let keptRows = 0;
  /** Sites that were watched completely at the last look. A server of theirs that is not known yet is new. */
  let before = new Set<string>();

  function tell(id: string, number: number, after: ServerPicture, isWhole: boolean): void {
    const [site] = partsOf(id);
    const last = kept.get(id);
    const isNew = last === undefined && before.has(site);
    const notice = { type: "picture", site, server: id, to: number, status: after.status } as const;
    if (isWhole && isNew) bus.pass({ ...notice, from: null }, patchBetween(null, after, anonymous));
    else if (isWhole && last?.picture)
      bus.pass({ ...notice, from: last.number }, patchBetween(last.picture, after, anonymous));
    else bus.pass({ ...notice, from: number }, () => NOTHING);
  }

  function keep(id: string, number: number, picture: ServerPicture | null): void {
    forget(id);
    kept.set(id, { number, picture });
    if (picture !== null) keptRows += rowsIn(picture);
  }

  function forget(id: string): void {
    const { picture = null } = kept.get(id) ?? {};
    if (picture !== null) keptRows -= rowsIn(picture);
    kept.delete(id);
  }

  async function tellGroup(ids: readonly string[]): Promise<void> {
    const hasRoom = keptRows < MAX_KEPT_ROWS;
    const pictures = await (hasRoom ? numberedPictures : numberedHeads)(pool, ids, clock.now());
    for (const { number, picture } of pictures) {
      const { id } = picture.server;
      tell(id, number, picture, hasRoom);
      keep(id, number, hasRoom ? picture : null);
    }
  }

  return {
    async look(): Promise<void> {
      const filters = watching();
      if (filters.length === 0 && kept.size === 0) return;
      const sites = new Set(
        filters.filter(({ servers }) => servers === null).flatMap(({ sites }) => sites ?? []),
      );
      const ids = new Set(filters.flatMap(({ servers }) => servers ?? []));
      const rows: ServerRow[] = await pool.unsafe(WATCHED, [
        JSON.stringify([...sites]),
        JSON.stringify([...ids].map(partsOf)),
      ]);
      const numbers = new Map(
        rows.map((row) => [serverAt(row.site, row.server), numberOf(row, clock.now())]),
      );
      for (const id of [...kept.keys()]) {
        if (numbers.has(id)) continue;
        const [site] = partsOf(id);
        const from = kept.get(id)?.number ?? null;
        if (sites.has(site) || ids.has(id))
          bus.pass({ type: "picture", site, server: id, from, to: null, status: "unknown" }, () => NOTHING);
        forget(id);
      }
      const changed = [...numbers.keys()].filter((id) => kept.get(id)?.number !== numbers.get(id));
      for (let at = 0; at < changed.length; at += GROUP) await tellGroup(changed.slice(at, at + GROUP));
      before = sites;
    },
  };
}

const rowsIn = ({ features }: ServerPicture) =>
  features.reduce((sum, { checkouts }) => sum + 1 + checkouts.length, 0);

const WATCHED = `
  SELECT s.site, s.server, s.changed_at, t.last_push_at FROM servers s JOIN sites t USING (site)
  WHERE s.head IS NOT NULL AND (s.site IN (SELECT json_array_elements_text($1::text::json))
    OR (s.site, s.server) IN (SELECT p ->> 0, p ->> 1 FROM json_array_elements($2::text::json) AS p))`;
