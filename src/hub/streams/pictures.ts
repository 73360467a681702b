import type { ServerPicture } from "../../domain/picture.ts";
import { NOTHING, patchBetween } from "../../http/streams/picture-feed.ts";
import type { StreamFilter } from "../../http/streams/stream-filter.ts";
import type { Pool, Sql } from "../database/connect.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import { pictureOf, serverAt } from "../lists/directory.ts";
import { wholePictures } from "../lists/servers.ts";
import type { Feed } from "./feed.ts";

/** Pictures read in one transaction. */
const GROUP = 20;
/** Features and rows of all pictures that are kept to find what changes: about 1 KB each. */
const MAX_KEPT_ROWS = 40_000;

interface ServerRow {
  readonly site: string;
  readonly server: string;
  readonly changed_at: string;
}

/**
 * Number of a server's picture, the same at all hubs: each change has a higher one, and so has the picture that is stale because
 * its site is silent.
 */
const numberOf = ({ changed_at }: ServerRow, isSilent: boolean) =>
  2 * Number(changed_at) + (isSilent ? 1 : 0);

/** Whole pictures with their numbers, as they are at one moment, in the order of the ids; those that are not there are left out. */
export async function numberedPictures(
  pool: Pool,
  ids: readonly string[],
  isSilent: (site: string) => boolean,
): Promise<{ readonly number: number; readonly picture: ServerPicture }[]> {
  if (ids.length === 0) return [];
  const silent = new Map(ids.map((id) => partsOf(id)[0]).map((site) => [site, isSilent(site)]));
  const isQuiet = (site: string) => silent.get(site) ?? false;
  return pool.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", async (tx) => {
    const rows = new Map((await rowsOf(tx, ids)).map((row) => [serverAt(row.site, row.server), row]));
    const found = ids.flatMap((id) => rows.get(id) ?? []);
    const heads = found.map(({ site, head }) => pictureOf(site, JSON.parse(head)));
    const pictures = await wholePictures(tx, heads, isQuiet);
    return found.map((row, index) => {
      return { number: numberOf(row, isQuiet(row.site)), picture: pictures[index] as ServerPicture };
    });
  });
}

/** The same without features. */
async function numberedHeads(pool: Pool, ids: readonly string[], isSilent: (site: string) => boolean) {
  const rows = await rowsOf(pool, ids);
  return rows.map((row) => ({
    number: numberOf(row, isSilent(row.site)),
    picture: pictureOf(row.site, JSON.parse(row.head)),
  }));
}

async function rowsOf(tx: Sql, ids: readonly string[]): Promise<(ServerRow & { readonly head: string })[]> {
  const conditions = createConditions();
  conditions.servers("s", ids);
  return tx.unsafe(
    `SELECT site, server, changed_at, head FROM servers s WHERE head IS NOT NULL AND ${conditions.where()}`,
    conditions.values,
  );
}

interface WatchDeps {
  readonly pool: Pool;
  readonly bus: Pick<Feed["bus"], "pass">;
  /** Filters of the clients that take pictures. */
  readonly watching: () => readonly Pick<StreamFilter, "sites" | "servers">[];
  readonly isSilent: (site: string) => boolean;
  readonly anonymous: (picture: ServerPicture) => ServerPicture;
}

/** A server that somebody watches: the number that was told last, and the picture, where there is room for it. */
interface Kept {
  readonly number: number;
  readonly picture: ServerPicture | null;
}

/**
 * Tells of the pictures that somebody watches by events `picture`: what is stored is compared with what was told last. Where
 * that is not known (the server was not watched before, or there are too many), the event says the number alone, from and to:
 * a reader that has another one reads the picture again.
 */
export function createPictureWatch({ pool, bus, watching, isSilent, anonymous }: WatchDeps) {
  const kept = new Map<string, Kept>();
  let keptRows = 0;
  /** Sites that were watched as a whole at the last look: their new servers are news. */
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
    const pictures = await (hasRoom ? numberedPictures : numberedHeads)(pool, ids, isSilent);
    for (const { number, picture } of pictures) {
      const { id } = picture.server;
      tell(id, number, picture, hasRoom);
      keep(id, number, hasRoom ? picture : null);
    }
  }

  return {
    /** Tells what changed since the last look. */
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
        rows.map((row) => [serverAt(row.site, row.server), numberOf(row, isSilent(row.site))]),
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
  SELECT site, server, changed_at FROM servers
  WHERE head IS NOT NULL AND (site IN (SELECT json_array_elements_text($1::text::json))
    OR (site, server) IN (SELECT p ->> 0, p ->> 1 FROM json_array_elements($2::text::json) AS p))`;
