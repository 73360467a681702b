import type { TransactionSQL } from "bun";
import type { Config } from "../../config/config.ts";
import { ApiError } from "../../domain/errors.ts";
import type { Log } from "../../domain/log.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { type Answer, type Fact, HEARTBEAT_MS, NO_INSTANCE } from "../../fleet/protocol.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import { takeCommands } from "../commands/held-answers.ts";
import { type Pool, type Sql, whole } from "../database/connect.ts";
import type { Partitions } from "../database/partitions.ts";
import { daysIn, firstDays, withinRetention } from "../retention.ts";
import type { Batch, Refused } from "./batch.ts";
import type { Origin } from "./facts.ts";
import {
  type SetAside,
  setAside,
  storeOrRefuseDays,
  storeOrRefuseFacts,
  storeOrRefuseStates,
  takeOut,
  waitingOf,
} from "./set-aside.ts";
import { settleAlerts } from "./states.ts";

/** Time after which a site counts as silent. Until then, no other process may push for the site. */
export const SILENT_MS = 3 * HEARTBEAT_MS;

/** Reports whether a site has stopped or has missed too many heartbeats. */
export const isSilent = (site: { lastPushAt: number | null; stoppedAt: number | null }, now: number) =>
  site.stoppedAt !== null || site.lastPushAt === null || now - site.lastPushAt > SILENT_MS;

/** Time after which another hub with a slightly different clock may count a site as silent. */
const LATE_MS = 2 * HEARTBEAT_MS;

interface PushDeps {
  readonly pool: Pool;
  readonly partitions: Partitions;
  readonly clock: Clock;
  readonly keep: () => Config["retention"];
  readonly log: Log;
  readonly pseudonyms: Pseudonyms;
}

type Refusal = "instance" | "epoch" | { readonly cursor: number };

/**
 * Stores a push. The cursor and the facts are in one transaction, so that each fact is stored once even if
 * answers are lost. Throws CONFLICT.
 */
export async function takePush(deps: PushDeps, sent: Batch, address: string): Promise<Answer> {
  const { pool, partitions, clock, log } = deps;
  const now = clock.now();
  if (sent.hello) return hello(deps, sent, address, now);
  const first = firstDays(deps.keep(), now);
  const batch = withinRetention(sent, first);
  const waiting = withinRetention(await waitingOf(pool, batch.site), first);
  for (const brought of [waiting, batch]) await partitions.ensure(daysIn(brought));
  await pool`INSERT INTO sites (site, joined_at) VALUES (${batch.site}, ${now}) ON CONFLICT DO NOTHING`;
  let bad: readonly Refused[] = [];
  const taken = await pool.begin(async (tx): Promise<Answer | Refusal> => {
    // Serialize the pushes of a site across hubs.
    const [site] = await tx`SELECT * FROM sites WHERE site = ${batch.site} FOR UPDATE`;
    const cursor = cursorOf(site, batch, now);
    if (typeof cursor !== "number") return cursor;
    const stored = await store(tx, site, batch, waiting, cursor, address, now, deps.pseudonyms);
    bad = stored.refused;
    return stored.answer;
  });
  if (bad[0] !== undefined)
    log.warn("Cannot store data of a site; set it aside", {
      site: batch.site,
      count: bad.length,
      seq: bad[0].seq,
      reason: bad[0].reason,
    });
  if (typeof taken === "object" && "commands" in taken) return taken;
  return refusePush(pool, taken, batch, address, now);
}

async function hello({ pool }: PushDeps, batch: Batch, address: string, now: number): Promise<Answer> {
  if (!(await takeOver(pool, batch, now, SILENT_MS)))
    return refusePush(pool, "instance", batch, address, now);
  const [site = null] = await pool`SELECT * FROM sites WHERE site = ${batch.site}`;
  if (batch.instance === NO_INSTANCE) return { cursor: 0, commands: [], wanted: [] };
  const cursor = cursorOf(site, batch, now);
  if (typeof cursor !== "number") return refusePush(pool, cursor, batch, address, now);
  return { cursor, commands: [], wanted: [] };
}

interface SiteRow {
  readonly epoch: string | null;
  readonly epoch_no: number;
  readonly cursor: string;
  readonly instance: string | null;
  readonly last_push_at: string | null;
}

/** Returns the newest stored fact of the push's epoch, or why the push is refused. */
function cursorOf(site: SiteRow | null, batch: Batch, now: number): number | Refusal {
  const { instance = null, last_push_at = null } = site ?? {};
  if (instance !== null && instance !== batch.instance && now - (whole(last_push_at) ?? 0) < SILENT_MS)
    return "instance";
  if (site?.epoch !== batch.epoch) return batch.begins ? batch.from - 1 : "epoch";
  const cursor = Number(site.cursor);
  // A late push that arrives after a newer one: refuse its days and states, because they are older than the
  // stored facts.
  if (batch.to < cursor && batch.days.length + batch.states.length > 0) return { cursor };
  return batch.from > cursor + 1 && !batch.gap && !batch.hello ? { cursor } : cursor;
}

async function store(
  tx: TransactionSQL,
  site: SiteRow,
  batch: Batch,
  waiting: SetAside,
  cursor: number,
  address: string,
  now: number,
  pseudonyms: Pseudonyms,
): Promise<{ readonly answer: Answer; readonly refused: readonly Refused[] }> {
  const epoch = site.epoch_no + (site.epoch === batch.epoch ? 0 : 1);
  const origin: Origin = { site: batch.site, epoch };
  const reached = Math.max(cursor, batch.to);
  const news = batch.facts.filter(({ seq }) => seq > cursor);
  // In a new epoch people may have other names, so forget the old names. The site sends them again.
  if (epoch !== site.epoch_no) await tx`DELETE FROM last_seen WHERE site = ${batch.site}`;
  const refused = batch.refused.filter(({ seq }) => seq === null || seq > cursor);
  // Store waiting items before newer items of the same kinds.
  if (epoch === site.epoch_no && (await takeOut(tx, waiting))) {
    refused.push(
      ...waiting.refused,
      ...(await storeOrRefuseDays(tx, origin, waiting.days)),
      ...(await storeOrRefuseFacts(tx, origin, waiting.facts, now)),
    );
  }
  refused.push(...(await storeOrRefuseDays(tx, origin, batch.days)));
  refused.push(...(await storeOrRefuseFacts(tx, origin, news, now)));
  await tx`
    UPDATE sites SET epoch = ${batch.epoch}, epoch_no = ${epoch}, cursor = ${reached}, instance = ${batch.stops ? null : batch.instance},
      address = ${address}, last_push_at = ${now}, clock_offset_ms = ${batch.sentAt - now}, head = ${batch.head},
      waiting_since = ${batch.waitingSince}, days_left = ${batch.daysLeft}, stopped_at = ${batch.stops ? now : null},
      told_until = greatest(told_until, ${batch.toldUntil ?? null})
    WHERE site = ${batch.site}`;
  if (now - (whole(site.last_push_at) ?? now) > LATE_MS) await heardAgain(tx, batch.site, now);
  const states = await storeOrRefuseStates(tx, origin, batch.states, now, pseudonyms);
  const isOfAlerts = (fact: Fact) => fact.kind === "event" && fact.event.type === "alert";
  if (news.some(isOfAlerts)) await settleAlerts(tx, origin, now);
  const newlyRefused = await setAside(tx, origin, [...refused, ...states.refused], now);
  const commands = batch.stops ? [] : await takeCommands(tx, batch.site, now);
  await tx`SELECT pg_notify('licmond', 'push')`;
  return { answer: { cursor: reached, commands, wanted: states.wanted }, refused: newlyRefused };
}

/** Marks the pictures of a site as changed, because they were shown as stale while the site was silent. */
async function heardAgain(tx: Sql, site: string, now: number): Promise<void> {
  await tx`UPDATE servers SET changed = pg_current_xact_id(), changed_at = greatest(changed_at + 1, ${now}) WHERE site = ${site}`;
}

async function refusePush(
  pool: Pool,
  why: Refusal,
  batch: Batch,
  address: string,
  now: number,
): Promise<never> {
  if (why === "epoch")
    throw conflict("The hub does not know this site's database: it has lost the site's data.", "epoch");
  if (why !== "instance")
    throw conflict("Facts are missing: continue after the cursor.", `cursor=${why.cursor}`);
  await pool`UPDATE sites SET refused_at = ${now}, refused_address = ${address} WHERE site = ${batch.site}`;
  throw conflict("Another licmond pushes for this site: a machine or key was copied.", "instance");
}

const conflict = (message: string, details: string) => new ApiError("CONFLICT", message, { details });

/** Tables in which rows keep a site's former name: permissions to push, and published events. */
const AS_IT_WAS = ["sites", "api_keys", "events", "new_events"];

/**
 * Moves the data of a renamed site. The random epoch, which is never sent out, proves that the site is the
 * same. Returns false if the old name was in use within `silentMs`, which means that one of the two is a
 * copy.
 */
async function takeOver(pool: Pool, { site, formerly, epoch }: Batch, now: number, silentMs: number) {
  if (formerly === undefined) return true;
  return pool.begin(async (tx) => {
    const rows: {
      site: string;
      epoch: string | null;
      last_push_at: string | null;
      stopped_at: string | null;
    }[] = await tx`SELECT * FROM sites WHERE site IN (${site}, ${formerly}) ORDER BY site FOR UPDATE`;
    const old = rows.find((row) => row.site === formerly);
    const own = rows.find((row) => row.site === site);
    // If the site has already pushed under the new name, keep the data of the new name and move nothing.
    if (old?.epoch !== epoch || (own !== undefined && own.epoch !== null)) return true;
    if (old.stopped_at === null && now - (whole(old.last_push_at) ?? 0) < silentMs) return false;
    await tx`DELETE FROM sites WHERE site = ${site}`;
    await tx`UPDATE sites SET site = ${site} WHERE site = ${formerly}`;
    const tables: { name: string }[] = await tx`
      SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'site'
      WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_table_is_visible(c.oid)
        AND c.relname NOT IN ${tx(AS_IT_WAS)}`;
    for (const { name } of tables)
      await tx.unsafe(`UPDATE ${name} SET site = $1 WHERE site = $2`, [site, formerly]);
    await tx`UPDATE servers SET changed = pg_current_xact_id(), changed_at = greatest(changed_at + 1, ${now}) WHERE site = ${site}`;
    await tx`SELECT pg_notify('licmond', 'push')`;
    return true;
  });
}
