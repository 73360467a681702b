import type { Rollup } from "../../domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/clock.ts";
import {
  dayOf,
  hourEnd,
  hourStart,
  type KnownFeature,
  packedKey,
  packedKeys,
} from "../../history/buckets.ts";
import { type Range, resolveRange } from "../../history/reader.ts";
import { openScratch } from "../../history/scratch.ts";
import type { Sql } from "../database/connect.ts";
import { inPages, readRows } from "./pages.ts";
import { overlapping } from "./sessions.ts";
import type { SiteMarks } from "./sites.ts";

/** Number of packed feature days per kind in the scratch database; some hundred bytes each. */
const SLICE_DAYS = 1_000;
/** The same number for rollups, which are computed for one site at a time. */
const ROLLUP_DAYS = 4_000;

type Days = readonly [first: number, last: number];

type Kind = "samples" | "hours" | "rollups";

interface SiteDeps {
  readonly sql: Sql;
  readonly marks: SiteMarks;
  /** The range of the question, in whole days. */
  readonly window: Range;
  /** Features of the site that the question covers, in the question's order. */
  readonly features: readonly KnownFeature[];
  readonly checkpoint: () => void;
}

export type SiteHistory = Awaited<ReturnType<typeof openSiteHistory>>;

/**
 * Loads the history of one site into tables like the daemon's, so that the daemon's reader can read it:
 * small tables at once, packed days in slices.
 */
export async function openSiteHistory({ sql, marks, window, features, checkpoint }: SiteDeps) {
  const { site, openFrom } = marks;
  const scratch = openScratch();
  const reader = scratch.readerAt(marks.knownAt, checkpoint);
  const places = new Map(features.map(({ id }, place) => [id, place]));
  const held = new Map<Kind, { readonly days: readonly Days[]; readonly ids: ReadonlySet<number> }>();
  let sessionsFor = "";

  const ask = (text: string, ...values: unknown[]) => readRows({ sql, checkpoint }, text, [site, ...values]);

  await fillBase();
  return {
    reader,
    people: marks.people,
    close: scratch.close,
    async series(feature: KnownFeature, start: number, end: number) {
      await loadSamples(feature, start, end);
      return reader.series(feature, start, end);
    },
    async hours(feature: KnownFeature, start: number, end: number) {
      await loadHours(feature, start, end);
      return reader.hours(feature, start, end);
    },
    async days(feature: KnownFeature, start: number, end: number) {
      await load("rollups", dayOf(start), dayOf(end), feature);
      if (openFrom !== null && end > openFrom * DAY_MS)
        await loadHours(feature, Math.max(start, openFrom * DAY_MS), end);
      return reader.days(feature, start, end);
    },
    rollups,
  };

  async function fillBase(): Promise<void> {
    const id = "site || ':' || server";
    const covered = await ask(
      `SELECT ${id}, from_at::float8, read_at::float8, until_at::float8, running::int, looks::float8 FROM coverage
       WHERE site = $1 AND from_at < $2 AND until_at > $3`,
      window.end,
      window.start,
    );
    scratch.fill("coverage", "server_id, from_at, read_at, until_at, running, looks", covered);
    const spans = await ask(
      `SELECT ${id}, from_at::float8, to_at::float8, (counted AND NOT by_feature)::int FROM denial_spans WHERE site = $1`,
    );
    scratch.fill(
      "denial_spans",
      "server_id, from_at, to_at",
      spans.map((row) => row.slice(0, 3)),
    );
    const counted = new Set(spans.flatMap(([server, , , nameless]) => (nameless === 1 ? [server] : [])));
    scratch.fill(
      "denial_cursors",
      "server_id, cursor",
      [...counted].map((server) => [server ?? "", '{"kind":"counters"}']),
    );
    const denied = await ask(
      `SELECT ${id}, daemon, coalesce(feature, ''), coalesce(user_name, ''), host, at::float8, until::float8, count::float8,
         attempts::float8, code::float8, outcome FROM denials
       WHERE site = $1 AND at >= $2 AND at < $3 ORDER BY epoch, site_id`,
      window.start,
      window.end,
    );
    scratch.fill(
      "denials",
      "server_id, daemon, feature, user, host, at, until, count, attempts, code, outcome, id, told",
      denied.map((row, index) => [...row, index + 1, 1]),
    );
    scratch.fill("event_marks", "name, value", [["deleted_sessions", marks.sessionsFrom]]);
    fillOpen([
      ...covered.map(([, from, , until]): Range => ({ start: Number(from), end: Number(until) })),
      ...denied.map(([, , , , , at]): Range => ({ start: Number(at), end: Number(at) + 1 })),
    ]);
    // Insert the edges now, because the reader looks up its reach only once, before slices are loaded.
    const { samplesFrom, hoursFrom } = marks;
    if (samplesFrom !== null) scratch.fill("samples", "feature_id, at, unlimited", [[0, samplesFrom, 0]]);
    if (hoursFrom !== null)
      scratch.fill("packed_days", "key, data", [[packedKey("hours", dayOf(hoursFrom)), new Uint8Array()]]);
    reader.reach();
    for (const table of ["samples", "packed_days"]) scratch.clear(table);
  }

  function fillOpen(known: readonly Range[]): void {
    if (openFrom === null) return;
    const hours = new Set<number>();
    for (const { start, end } of known)
      for (
        let at = hourStart(Math.max(start, openFrom * DAY_MS));
        at < Math.min(end, marks.knownAt);
        at += HOUR_MS
      )
        hours.add(at);
    const days = new Set([...hours].map((at) => dayOf(at) * DAY_MS));
    const open = (kind: string) => (at: number) => [kind, at, 1];
    scratch.fill("dirty", "kind, at, touched", [
      ...[...hours].map(open("hours")),
      ...[...days].map(open("rollups")),
    ]);
  }

  async function loadSamples(feature: KnownFeature, start: number, end: number): Promise<void> {
    await load("samples", firstNeeded(dayOf(start)), dayOf(end - 1), feature);
  }

  async function loadHours(feature: KnownFeature, start: number, end: number): Promise<void> {
    await load("hours", dayOf(start), dayOf(end), feature);
    if (openFrom !== null && end > openFrom * DAY_MS)
      await loadSamples(feature, Math.max(start, openFrom * DAY_MS), end);
  }

  /** Returns the first day to load: the counts at the start of an unpacked day are in the last packed day. */
  function firstNeeded(day: number): number {
    return openFrom !== null && day >= openFrom ? openFrom - 1 : day;
  }

  /** Loads days of a feature, and as many later days and features as fit. */
  async function load(kind: Kind, first: number, last: number, feature: KnownFeature): Promise<void> {
    const has = held.get(kind);
    if (has?.ids.has(feature.id) && has.days.some(([from, to]) => from <= first && last <= to)) return;
    const place = places.get(feature.id);
    const most = Math.max(1, Math.floor(SLICE_DAYS / (last - first + 1)));
    const slice = place === undefined ? [feature] : features.slice(place, place + most);
    const more = Math.floor(SLICE_DAYS / slice.length) - 1;
    const until = Math.max(last, Math.min(first + more, dayOf(window.end - 1)));
    await fillPacked(kind, [[first, until]], slice);
  }

  async function fillPacked(
    kind: Kind,
    days: readonly Days[],
    slice: readonly KnownFeature[],
  ): Promise<void> {
    held.delete(kind);
    scratch.clear("packed_days", `key >= ${packedKey(kind, 0)} AND key < ${packedKeys(kind, 0)[1]}`);
    const ids = slice.map(({ id }) => id);
    const isWanted = "feature_id IN (SELECT json_array_elements_text($2::text::json)::bigint)";
    const wanted = JSON.stringify(ids);
    for (const [first, last] of days) {
      // Days are computed numbers, so they can safely be literals, which let PostgreSQL skip partitions.
      const rows = await ask(
        `SELECT day, feature_id::float8, data FROM packed_days
         WHERE site = $1 AND kind = '${kind}' AND day >= ${first} AND day <= ${last} AND ${isWanted}`,
        wanted,
      );
      scratch.fill(
        "packed_days",
        "key, data",
        rows.map(([day, id, data]) => [packedKey(kind, Number(day), Number(id)), data ?? null]),
      );
    }
    if (kind === "samples") await fillSteps(days, isWanted, wanted);
    held.set(kind, { days, ids: new Set(ids) });
  }

  async function fillSteps(days: readonly Days[], isWanted: string, wanted: string): Promise<void> {
    scratch.clear("samples");
    for (const [first, last] of days) {
      if (openFrom === null || last < openFrom) continue;
      const rows = await ask(
        `SELECT feature_id::float8, at::float8, total::float8, used::float8, reserved::float8, queued::float8, unlimited::int
         FROM steps WHERE site = $1 AND at >= ${Math.max(first, openFrom) * DAY_MS} AND at < ${(last + 1) * DAY_MS}
           AND ${isWanted}`,
        wanted,
      );
      scratch.fill("samples", "feature_id, at, total, used, reserved, queued, unlimited", rows);
    }
  }

  /** Computes rollups slice by slice, like the daemon's reader. */
  async function rollups(
    asked: readonly KnownFeature[],
    from: number,
    to: number,
    withUsers: boolean,
  ): Promise<Rollup[]> {
    const { start, end } = resolveRange({ start: from, end: to }, reader.reach());
    const first = Math.ceil(start / DAY_MS);
    const last = Math.floor(end / DAY_MS) - 1;
    const edges = joined([
      [dayOf(start), dayOf(start)],
      [dayOf(end), dayOf(end)],
      ...(openFrom === null || end <= openFrom * DAY_MS
        ? []
        : [[Math.max(openFrom, dayOf(start)), dayOf(end)] as const]),
    ]);
    const sampled = joined(edges.map(([low, high]) => [firstNeeded(low), high]));
    const size = Math.max(
      last - first,
      sampled.reduce((sum, [low, high]) => sum + high - low + 1, 0),
    );
    const most = Math.max(1, Math.floor(ROLLUP_DAYS / Math.max(1, size)));
    if (withUsers) await fillSessions(start, end);
    const all: Rollup[] = [];
    for (let done = 0; done < asked.length; done += most) {
      const slice = asked.slice(done, done + most);
      await fillPacked("rollups", first <= last ? [[first, last]] : [], slice);
      await fillPacked("hours", edges, slice);
      await fillPacked("samples", sampled, slice);
      all.push(...reader.rollups(slice, from, to, withUsers));
    }
    return all;
  }

  /** Loads sessions, which tell who used a feature in hours that are not packed. */
  async function fillSessions(start: number, end: number): Promise<void> {
    const isShort = end - start <= DAY_MS && start >= marks.sessionsFrom;
    const open = openFrom === null ? end : openFrom * DAY_MS;
    const [from, to] = [isShort ? start : Math.max(start, hourStart(open)), hourEnd(end)];
    if (sessionsFor === `${from} ${to}`) return;
    sessionsFor = `${from} ${to}`;
    for (const table of ["sessions", "history_users"]) scratch.clear(table);
    if (from >= to) return;
    const users = new Set<string>();
    let id = 0;
    const columns = `site || ':' || server, daemon, feature, user_name, count::float8, began_at::float8, first_seen_at::float8,
      last_seen_at::float8`;
    const text = overlapping(columns, "site = $1 AND user_name IS NOT NULL", "began_at", from, to);
    for await (const rows of inPages({ sql, checkpoint }, text, [site])) {
      for (const row of rows) users.add(String(row[3]));
      scratch.fill(
        "sessions",
        "server_id, daemon, feature, user, count, began_at, first_seen_at, last_seen_at, ended_at, end_reason, id",
        rows.map((row) => [...row, ++id]),
      );
    }
    const names = await ask(
      `SELECT id::float8, name FROM history_users
       WHERE site = $1 AND name IN (SELECT json_array_elements_text($2::text::json))`,
      JSON.stringify([...users]),
    );
    scratch.fill("history_users", "id, name", names);
  }
}

function joined(ranges: readonly Days[]): Days[] {
  const found: [number, number][] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = found.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else found.push([first, last]);
  }
  return found;
}
