import { type AlertChange, alertRecord } from "../../domain/alerts.ts";
import { iso } from "../../domain/time/clock.ts";
import type { Sql } from "../database/connect.ts";
import { type AlertAtHubRow, alertOf } from "./rows.ts";

/** Tells the stream what became of one of the hub's own alerts, in the transaction of the change. */
export async function publish(tx: Sql, row: AlertAtHubRow, change: AlertChange, now: number): Promise<void> {
  const { id: alert, ...fields } = alertRecord(alertOf(row), now);
  const event = { type: "alert", id: `alert-${now}`, timestamp: iso(now), alert, change, ...fields };
  // No epoch of a site is 0.
  await tx`
    INSERT INTO events (received_at, site, epoch, site_id, type, server, body)
    VALUES (${now}, ${row.site}, 0, 0, 'alert', NULL, ${JSON.stringify(event)})`;
}
