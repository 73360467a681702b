import type { AlertNews } from "../../alerts/alert-log.ts";
import { type Alert, type AlertChange, alertRecord } from "../../domain/alerts.ts";
import { ApiError, type ErrorCode } from "../../domain/errors.ts";
import type { KeyRecord } from "../../domain/keys.ts";
import { serverAt } from "../../domain/server.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { HandledHere, HttpDeps } from "../../http/deps.ts";
import type { Asked, Commands } from "../commands/commands.ts";
import { fromRow, type Pool, type Sql, whole } from "../database/connect.ts";
import { storeNewEvents } from "../push/new-events.ts";

/** A row of the table `alerts`. The hub's own alerts are about the site `site` and have no `site_id`. */
export interface AlertAtHubRow
  extends Readonly<Record<"site_id" | "server" | "feature" | "resolved_at" | "noted", string | null>>,
    Pick<Alert, "rule" | "severity" | "message" | "value"> {
  readonly id: string;
  readonly site: string;
  readonly started_at: string;
  readonly told: string;
}

export function alertOf({
  site,
  site_id: _,
  epoch: __,
  noted: ___,
  ...row
}: AlertAtHubRow & { epoch?: unknown }): Alert {
  const times = ["startedAt", "firedAt", "resolvedAt", "acknowledgedAt", "silencedUntil"] as const;
  const alert = fromRow<Omit<Alert, "told"> & { told: string }>({ ...row }, ["id", ...times]);
  const server = row.server === null ? null : serverAt(site, row.server);
  return { ...alert, server, detail: null, told: JSON.parse(alert.told) };
}

export const ownerOf = ({ site, site_id }: AlertAtHubRow) => ({ site, siteId: whole(site_id) });

/** Epoch of the hub's own alerts. Epochs of sites begin at 1. */
const NO_EPOCH = 0;

export type News = AlertNews<Alert & { readonly site: string }>;

/** Publishes a change of one of the hub's own alerts in the transaction of the change. */
export async function publish(tx: Sql, row: AlertAtHubRow, change: AlertChange, now: number): Promise<News> {
  const own = alertOf(row);
  const { id: alert, ...fields } = alertRecord(own, now);
  const event = { type: "alert", at: now, server: null, fields: { alert, change, ...fields } };
  await storeNewEvents(tx, row.site, NO_EPOCH, [event], now);
  return { alert: { ...own, site: row.site }, change };
}

/** Maximum time that a request waits for the site that the alert belongs to. */
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
/** Changes one of the hub's own alerts; returns no row if the alert no longer fires. */
type Edit = (tx: Sql, now: number) => Promise<AlertAtHubRow[]>;

/**
 * Acknowledges and silences alerts. An alert of a site is changed at the site; the hub's own alerts are
 * changed here.
 */
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
    // The site sends the changed alert before or together with the outcome of the command.
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
