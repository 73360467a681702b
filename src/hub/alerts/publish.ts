import { type AlertChange, alertRecord } from "../../domain/alerts.ts";
import type { Sql } from "../database/connect.ts";
import { storeNewEvents } from "../push/new-events.ts";
import { type AlertAtHubRow, alertOf } from "./rows.ts";

/** Epochs of sites begin at 1. */
const NO_EPOCH = 0;

/** Tells the stream what became of one of the hub's own alerts, in the transaction of the change. */
export async function publish(tx: Sql, row: AlertAtHubRow, change: AlertChange, now: number): Promise<void> {
  const { id: alert, ...fields } = alertRecord(alertOf(row), now);
  const event = { type: "alert", at: now, server: null, fields: { alert, change, ...fields } };
  await storeNewEvents(tx, row.site, NO_EPOCH, [event], now);
}
