import type { AlertNews } from "../../alerts/alert-log.ts";
import { type Alert, type AlertChange, alertRecord } from "../../domain/alerts.ts";
import type { Sql } from "../database/connect.ts";
import { storeNewEvents } from "../push/new-events.ts";
import { type AlertAtHubRow, alertOf } from "./rows.ts";

/** Epochs of sites begin at 1. */
const NO_EPOCH = 0;

/** What became of an alert about a site. */
export type News = AlertNews<Alert & { readonly site: string }>;

/** Puts what became of one of the hub's own alerts into the stream, in the transaction of the change. Returns it. */
export async function publish(tx: Sql, row: AlertAtHubRow, change: AlertChange, now: number): Promise<News> {
  const own = alertOf(row);
  const { id: alert, ...fields } = alertRecord(own, now);
  const event = { type: "alert", at: now, server: null, fields: { alert, change, ...fields } };
  await storeNewEvents(tx, row.site, NO_EPOCH, [event], now);
  return { alert: { ...own, site: row.site }, change };
}
