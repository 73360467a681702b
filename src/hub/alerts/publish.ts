import type { AlertNews } from "../../alerts/alert-log.ts";
import { type Alert, type AlertChange, alertRecord } from "../../domain/alerts.ts";
import type { Sql } from "../database/connect.ts";
import { storeNewEvents } from "../push/new-events.ts";
import { type AlertAtHubRow, alertOf } from "./rows.ts";

/** Epochs of sites begin at 1. */
const NO_EPOCH = 0;

/** A change of an alert about a site. */
export type News = AlertNews<Alert & { readonly site: string }>;

/**
 * Publishes a change of one of the hub's own alerts as an event, in the transaction of the change. Returns
 * the change.
 */
export async function publish(tx: Sql, row: AlertAtHubRow, change: AlertChange, now: number): Promise<News> {
  const own = alertOf(row);
  const { id: alert, ...fields } = alertRecord(own, now);
  const event = { type: "alert", at: now, server: null, fields: { alert, change, ...fields } };
  await storeNewEvents(tx, row.site, NO_EPOCH, [event], now);
  return { alert: { ...own, site: row.site }, change };
}
