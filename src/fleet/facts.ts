import type { Denial } from "../domain/denials.ts";
import type { FeatureId } from "../domain/history.ts";
import type { Unit } from "../domain/words.ts";
import type { Store } from "../store/open/open.ts";
import type { OutboxRow } from "./outbox.ts";
import type { People } from "./people.ts";
import type { CoverageRow, DenialRow, Fact, SessionRow, StatusRow } from "./protocol.ts";

export const SESSION_ROW = `id, server_id AS server, daemon, feature, user, host, version, count, handle, started_at AS startedAt,
  began_at AS beganAt, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt, ended_at AS endedAt, end_reason AS endReason`;
export const COVERAGE_ROW = `server_id AS server, from_at AS "from", read_at AS readAt, until_at AS until, running, looks`;
export const STATUS_ROW = `server_id AS server, from_at AS "from", status, reason, read_at AS readAt, until_at AS until,
  next_by AS nextBy`;
export const DENIAL_ROW = `id, server_id AS server, daemon, nullif(feature, '') AS feature, nullif(user, '') AS user, host,
  at, until, count, attempts, reason, code, outcome, told`;

export const FEATURE_COLUMNS = "server_id AS server, daemon, name AS feature, unit, seat_group AS seatGroup";

export interface NamedFeature extends FeatureId {
  readonly unit: Unit;
  readonly seatGroup: string | null;
}

export const featureRow = ({ server, daemon, feature, unit, seatGroup }: NamedFeature) => ({
  server,
  daemon,
  feature,
  ...(unit !== "seats" && { unit }),
  ...(seatGroup !== null && { seatGroup }),
});

export type StoredCoverage = Omit<CoverageRow, "running"> & { readonly running: number };
export type StoredDenial = Denial & { readonly id: number; readonly told: number };

export const coverageRow = (row: StoredCoverage): CoverageRow => ({ ...row, running: row.running === 1 });
export const denialRow = (row: StoredDenial): DenialRow => ({ ...row, told: row.told === 1 });

type EventFact = Extract<Fact, { kind: "event" }>;

export type FactReader = ReturnType<typeof createFactReader>;

/**
 * Reads the current facts of outbox rows. A fact is undefined if retention has deleted its row, and null if
 * it must not leave the site.
 */
export function createFactReader({ sqlite, read }: Pick<Store, "sqlite" | "read">, people: People) {
  const session = sqlite.query<SessionRow, [number]>(`SELECT ${SESSION_ROW} FROM sessions WHERE id = ?`);
  const firstRead = sqlite.query<{ at: number | null }, [string]>(
    "SELECT min(from_at) AS at FROM coverage WHERE server_id = ?",
  );
  const feature = sqlite.query<NamedFeature, [number]>(
    `SELECT ${FEATURE_COLUMNS} FROM history_features WHERE id = ?`,
  );
  const coverage = sqlite.query<StoredCoverage, [string, number]>(
    `SELECT ${COVERAGE_ROW} FROM coverage WHERE server_id = ? AND from_at = ?`,
  );
  const status = sqlite.query<StatusRow, [string, number]>(
    `SELECT ${STATUS_ROW} FROM server_statuses WHERE server_id = ? AND from_at = ?`,
  );
  const denial = sqlite.query<StoredDenial, [number]>(`SELECT ${DENIAL_ROW} FROM denials WHERE id = ?`);
  const event = sqlite.query<{ body: string }, [number]>("SELECT body FROM events WHERE id = ?");

  const of = <Row>(row: Row | null, make: (row: Row) => Fact | null) =>
    row === null ? undefined : make(row);

  function sessionFact(seq: number, change: "opened" | "changed" | "ended", id: number) {
    const row = session.get(id);
    if (row === null) return undefined;
    const shown = people.session(row);
    if (shown === null) return null;
    // The site publishes no `checkout` event for seats that a server's first reading found in use.
    const announced = row.firstSeenAt > (firstRead.get(row.server)?.at ?? Number.POSITIVE_INFINITY);
    return { kind: "session" as const, seq, change, announced, ...shown };
  }

  function stepFact(seq: number, key: string) {
    const [id = "", at = "", ...counts] = key.split(" ");
    const [total = null, used = null, reserved = null, queued = null, unlimited = 0] = counts.map((count) =>
      count === "" ? null : Number(count),
    );
    return of(feature.get(Number(id)), (named) => ({
      kind: "step",
      seq,
      ...featureRow(named),
      at: Number(at),
      total,
      used,
      reserved,
      queued,
      unlimited: unlimited === 1,
    }));
  }

  function eventFact(seq: number, id: number) {
    return of(event.get(id), ({ body }) => {
      const said = people.event(body);
      if (said === null) return null;
      return { kind: "event", seq, id, event: said as EventFact["event"] };
    });
  }

  function factOf({ seq, kind, key }: OutboxRow): Fact | null | undefined {
    const text = String(key);
    const space = text.indexOf(" ");
    const [from, server] = [Number(text.slice(0, space)), text.slice(space + 1)];
    switch (kind) {
      case "opened":
      case "changed":
      case "ended":
        return sessionFact(seq, kind, Number(key));
      case "step":
        return stepFact(seq, text);
      case "coverage":
        return of(coverage.get(server, from), (row) => ({ kind, seq, ...coverageRow(row) }));
      case "status":
        return of(status.get(server, from), (row) => ({ kind, seq, ...row }));
      case "denial":
        return of(denial.get(Number(key)), (row) => ({ kind, seq, ...people.denial(denialRow(row)) }));
      case "event":
        return eventFact(seq, Number(key));
      case "outcome":
        return {
          kind,
          seq,
          ...(JSON.parse(text) as Omit<Extract<Fact, { kind: "outcome" }>, "kind" | "seq">),
        };
      case "gone": {
        const row = JSON.parse(text) as Extract<Fact, { kind: "gone" }>["row"];
        return { kind, seq, row: row.of === "session" ? { ...row, id: people.sessionId(row.id) } : row };
      }
    }
  }

  return (row: OutboxRow): Fact | null | undefined => read(() => factOf(row));
}
