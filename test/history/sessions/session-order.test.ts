import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { SessionRecord } from "../../../src/domain/history-records.ts";
import { sortedBy } from "../../../src/domain/order.ts";
import { END_REASONS } from "../../../src/domain/session.ts";
import { MINUTE_MS } from "../../../src/domain/time/clock.ts";
import { createReader } from "../../../src/history/reader.ts";
import { sessionsQuery } from "../../../src/history/sessions/session-list.ts";
import type { SessionOrder } from "../../../src/history/sessions/session-order.ts";
import { sortable } from "../../../src/http/answers/list.ts";
import { createServers } from "../../../src/store/servers.ts";
import { monitored } from "../../http/make.ts";
import { cleanUp, open, temporaryDirectory } from "../../store/place.ts";
import { questionOver } from "../rig.ts";

afterEach(cleanUp);

const NOW = 300 * MINUTE_MS;
/** Ids of the servers. `old` is no longer in the config, so it has neither a reading nor an interval. */
const SERVERS = ["eda", "cad", "old"];
const INTERVALS = { eda: MINUTE_MS, cad: 10 * MINUTE_MS };

const seconds = (max: number) => fc.integer({ min: 0, max }).map((some) => some * 1000);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const names = (...all: readonly string[]) => maybe(fc.constantFrom(...all));
const session = fc
  .record({
    server: fc.constantFrom(...SERVERS),
    feature: fc.constantFrom("solver", "mesher"),
    user: names("ada", "bob", "eve", "1"),
    host: names("ws01", "WS01", "ws02"),
    display: names(":0", "tty"),
    version: names("v1", "v2"),
    count: fc.integer({ min: 1, max: 3 }),
    handle: names("101", "99"),
    firstSeenAt: fc.integer({ min: 60, max: 280 }).map((minute) => minute * MINUTE_MS),
    /** Time from the start to the first reading: `began` by evidence, `started` as the tool reports it. */
    began: fc.oneof(fc.constant(0), seconds(1500)),
    started: maybe(seconds(3000).map((ms) => ms - 60_000)),
    seen: seconds(600),
    ended: maybe(fc.oneof(seconds(60), seconds(3600))),
    reason: fc.constantFrom(...END_REASONS),
  })
  .map(({ began, started, seen, ended, reason, ...one }) => {
    const { firstSeenAt } = one;
    const lastSeenAt = firstSeenAt + seen;
    return {
      ...one,
      startedAt: started === null ? null : firstSeenAt - started,
      beganAt: firstSeenAt - began,
      lastSeenAt,
      endedAt: ended === null ? null : lastSeenAt + ended,
      endReason: ended === null ? null : reason,
    };
  });

test("sessions are sorted by the fields of their records, or by pseudonyms for callers who see no names", async () => {
  const store = open(temporaryDirectory());
  createServers({ store, clock: { now: () => 0 } }).configured(SERVERS.map((id) => monitored(id)));
  for (const [server, readAt] of [
    ["eda", NOW - 20_000],
    ["cad", NOW - 90 * MINUTE_MS],
  ] as const)
    store.sqlite.run(
      "INSERT INTO coverage (server_id, from_at, read_at, until_at, running, looks) VALUES (?, 0, ?, ?, 1, 1)",
      [server, readAt, readAt],
    );
  const insert = store.sqlite.query(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, host, display, version, count, handle, started_at, began_at,
       first_seen_at, last_seen_at, ended_at, end_reason)
     VALUES ($id, $server, 'acmed', $feature, $user, $host, $display, $version, $count, $handle, $startedAt, $beganAt,
       $firstSeenAt, $lastSeenAt, $endedAt, $endReason)`,
  );
  const fields = sortable<Pick<SessionRecord, SessionOrder>>(SessionRecord);
  expect(fields).toContain("durationSeconds");
  const pseudonym = (kind: string, name: string) => `${kind}-${Bun.hash(name.toLowerCase())}`;
  await fc.assert(
    fc.asyncProperty(fc.array(session, { maxLength: 40 }), async (list) => {
      store.sqlite.run("DELETE FROM sessions");
      // Imported sessions have negative ids.
      for (const [at, one] of list.entries()) insert.run({ ...one, id: at % 5 === 4 ? -at : at + 1 });
      const read = createReader(store.sqlite, { now: NOW });
      const asked = (field: SessionOrder, descending: boolean) =>
        questionOver(0, 2 * NOW, NOW, { intervals: INTERVALS, limit: 100, sort: { field, descending } });
      const { rows: all } = sessionsQuery(read, asked("firstSeenAt", false));
      const masked = all.map((row) => ({
        ...row,
        user: row.user && pseudonym("user", row.user),
        host: row.host && pseudonym("host", row.host),
        display: null,
      }));
      for (const field of fields)
        for (const descending of [false, true]) {
          const order = { field, descending };
          const ids = (rows: readonly SessionRecord[]) => [field, descending, rows.map(({ id }) => id)];
          const { rows } = sessionsQuery(read, asked(field, descending));
          expect(ids(rows)).toEqual(ids(sortedBy(all, order, { field: "id", descending })));
          if (field === "id") continue;
          const { rows: hidden } = sessionsQuery(read, asked(field, descending), pseudonym);
          expect(ids(hidden)).toEqual(ids(sortedBy(masked, order, { field: "id", descending })));
        }
    }),
    { numRuns: 100 },
  );
});
