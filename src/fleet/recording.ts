import { HOUR_MS } from "../domain/time/clock.ts";
import type { DirtyKind } from "../history/buckets.ts";
import type { Store } from "../store/open/open.ts";

/**
 * Codes of the outbox for kinds of facts, and of changes to sessions. One letter each: with words, the rows
 * of an hour were a sixth larger.
 */
export const RECORDED = {
  opened: "o",
  changed: "c",
  ended: "e",
  step: "s",
  coverage: "v",
  status: "t",
  denial: "d",
  event: "n",
  outcome: "r",
  gone: "g",
} as const;
export type Recorded = keyof typeof RECORDED;

/**
 * Matches rows in the future. Such rows come from a wrong clock: if they are deleted here, the hub must
 * delete them, too. Retention deletes only old rows.
 */
const IS_AHEAD = (at: string) => `${at} > unixepoch() * 1000 + ${HOUR_MS}`;

const put = (kind: Recorded, key: string) => insert(`'${RECORDED[kind]}'`, key);
const insert = (kind: string, key: string) =>
  `INSERT INTO fleet_outbox (kind, key) VALUES (${kind}, ${key});`;
const gone = (row: string) => put("gone", `json_object(${row})`);
const mark = (at: string, ...kinds: readonly DirtyKind[]) =>
  `INSERT INTO dirty (kind, at, touched) VALUES ${kinds.map((kind) => `('${kind}', ${at}, 1)`)}
     ON CONFLICT DO UPDATE SET touched = 1 WHERE touched = 0;`;

const spans = (table: string, kind: "coverage" | "status", hasEnded: string) => {
  const key = "NEW.from_at || ' ' || NEW.server_id";
  return [
    [`AFTER INSERT ON ${table}`, put(kind, key)],
    [`AFTER UPDATE ON ${table} WHEN ${hasEnded}`, put(kind, key)],
    [
      `AFTER DELETE ON ${table} WHEN ${IS_AHEAD("OLD.from_at")}`,
      gone(`'of', '${kind}', 'server', OLD.server_id, 'from', OLD.from_at`),
    ],
  ] as const;
};

const events = (logs: boolean) =>
  `NEW.type IN ('alert', 'server_status')${
    logs ? " OR (NEW.type = 'log' AND (NEW.level IN ('warn', 'error') OR NEW.source = 'audit'))" : ""
  }`;

const ONE_OF = "(SELECT server_id, daemon, name FROM history_features WHERE id = OLD.feature_id)";

const triggers = (logs: boolean): readonly (readonly [when: string, work: string])[] => [
  [
    "AFTER INSERT ON sessions",
    insert(`iif(NEW.ended_at IS NULL, '${RECORDED.opened}', '${RECORDED.ended}')`, "NEW.id"),
  ],
  [
    "AFTER UPDATE ON sessions",
    insert(
      `iif(NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL, '${RECORDED.ended}', '${RECORDED.changed}')`,
      "NEW.id",
    ),
  ],
  [`AFTER DELETE ON sessions WHEN ${IS_AHEAD("OLD.first_seen_at")}`, gone("'of', 'session', 'id', OLD.id")],
  // Record an update only if it ends the period; a poll that extends a period is sent as a state, see
  // `known`.
  ...spans("coverage", "coverage", "NEW.running = 0"),
  ...spans("server_statuses", "status", "NEW.next_by = NEW.until_at"),
  ["AFTER INSERT ON denials", put("denial", "NEW.id")],
  ["AFTER UPDATE ON denials", put("denial", "NEW.id")],
  [`AFTER DELETE ON denials WHEN ${IS_AHEAD("OLD.at")}`, gone("'of', 'denial', 'id', OLD.id")],
  [
    "AFTER INSERT ON samples",
    put(
      "step",
      `NEW.feature_id || ' ' || NEW.at || ' ' || ifnull(NEW.total, '') || ' ' || ifnull(NEW.used, '') || ' '
         || ifnull(NEW.reserved, '') || ' ' || ifnull(NEW.queued, '') || ' ' || NEW.unlimited`,
    ),
  ],
  [
    `AFTER DELETE ON samples WHEN ${IS_AHEAD("OLD.at")}`,
    `INSERT INTO fleet_outbox (kind, key) SELECT '${RECORDED.gone}', json_object('of', 'step', 'server', server_id, 'daemon', daemon,
       'feature', name, 'at', OLD.at) FROM ${ONE_OF};`,
  ],
  [`AFTER INSERT ON events WHEN ${events(logs)}`, put("event", "NEW.id")],
  // Skip empty data: the row of a day is inserted empty before the day is packed for the first time.
  [
    "AFTER INSERT ON packed_days WHEN NEW.kind <> 'site' AND length(NEW.data) > 0",
    mark("NEW.day * 86400000", "hub"),
  ],
  ["AFTER UPDATE ON packed_days WHEN NEW.kind <> 'site'", mark("NEW.day * 86400000", "hub")],
  [
    `AFTER DELETE ON packed_days WHEN ${IS_AHEAD("OLD.day * 86400000")}`,
    mark("OLD.day * 86400000", "hub", "hub_rows"),
  ],
  // After a late session, the hub must drop the packed day of that session. Days with deleted sessions are
  // not sent again, because the hub may keep sessions that the site has deleted.
  [
    `AFTER INSERT ON dirty WHEN NEW.kind = 'held' AND NEW.at >=
       ifnull((SELECT value FROM event_marks WHERE name = 'deleted_sessions'), 0)`,
    mark("NEW.at", "hub"),
  ],
];

/**
 * Records each fact that this connection writes in the outbox, within the same transaction. Uses TEMP
 * triggers, so a database without a fleet has no triggers. `logs`: also record audit lines and warnings.
 * Throws StoreError.
 */
export function recordFacts({ sqlite }: Pick<Store, "sqlite">, logs: boolean): void {
  stopRecording({ sqlite });
  for (const [index, [when, work]] of triggers(logs).entries())
    sqlite.run(`CREATE TEMP TRIGGER fleet_${index} ${when} BEGIN ${work} END`);
}

export function stopRecording({ sqlite }: Pick<Store, "sqlite">): void {
  for (const index of triggers(true).keys()) sqlite.run(`DROP TRIGGER IF EXISTS temp.fleet_${index}`);
}
