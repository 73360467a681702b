import { ApiError, type ErrorCode } from "../../domain/errors.ts";
import type { KeyRecord } from "../../domain/keys.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { HandledHere, HttpDeps } from "../../http/deps.ts";
import type { Asked, Commands } from "../commands/commands.ts";
import type { Pool, Sql } from "../database/connect.ts";
import { type AlertAtHubRow, alertOf, ownerOf, publish } from "./rows.ts";

/** How long a request waits for the site of its alert. */
const WAIT_MS = 20_000;
const OVER: Partial<Record<ErrorCode, "unknown" | "resolved">> = {
  NOT_FOUND: "unknown",
  CONFLICT: "resolved",
};

interface HandleDeps {
  readonly pool: Pool;
  readonly commands: Pick<Commands, "ask">;
  readonly clock: Clock;
}

type Change = "acknowledged" | "silenced";
/** Changes one of the hub's own alerts; returns no row if it no longer fires. */
type Edit = (tx: Sql, now: number) => Promise<AlertAtHubRow[]>;

/** Acknowledges and silences alerts: those of sites at their site, the hub's own here. */
export function createAlertHandling({ pool, commands, clock }: HandleDeps): HttpDeps["alerts"] {
  const find = async (id: number): Promise<AlertAtHubRow | undefined> =>
    (await pool`SELECT * FROM alerts WHERE id = ${id}`)[0];

  async function handle(
    id: number,
    caller: KeyRecord,
    atSite: (alert: number) => Asked,
    change: Change,
    edit: Edit,
  ): Promise<HandledHere> {
    const row = await find(id);
    if (row === undefined) return { outcome: "unknown" };
    if (row.resolved_at !== null) return { outcome: "resolved" };
    if (row.site_id === null) return done(await editOwn(change, edit));
    try {
      await commands.ask(row.site, atSite(Number(row.site_id)), caller, WAIT_MS);
    } catch (error) {
      const outcome = error instanceof ApiError ? OVER[error.code] : undefined;
      if (outcome === undefined) throw error;
      return { outcome };
    }
    // The changed alert arrives before or with the outcome of the command.
    return done(await find(id));
  }

  function editOwn(change: Change, edit: Edit): Promise<AlertAtHubRow | undefined> {
    return pool.begin(async (tx) => {
      const now = clock.now();
      const [row] = await edit(tx, now);
      if (row !== undefined) await publish(tx, row, change, now);
      return row;
    });
  }

  return {
    counts: () => ({ info: 0, warning: 0, critical: 0 }),
    acknowledge: (id, by, comment, caller) =>
      handle(
        id,
        caller,
        (alert) => ({ command: "acknowledge", alert, comment }),
        "acknowledged",
        (tx, now) => tx`
          UPDATE alerts SET acknowledged_at = ${now}, acknowledged_by = ${by}, comment = coalesce(${comment}, comment)
          WHERE id = ${id} AND resolved_at IS NULL RETURNING *`,
      ),
    silence: (id, until, comment, caller) =>
      handle(
        id,
        caller,
        (alert) => ({ command: "silence", alert, until, comment }),
        "silenced",
        (tx) => tx`
          UPDATE alerts SET silenced_until = ${until}, comment = coalesce(${comment}, comment)
          WHERE id = ${id} AND resolved_at IS NULL RETURNING *`,
      ),
  };
}

const done = (row: AlertAtHubRow | undefined): HandledHere =>
  row === undefined ? { outcome: "resolved" } : { outcome: "done", alert: alertOf(row), of: ownerOf(row) };
