import type { AlertNews } from "../../alerts/alert-log.ts";
import { type Alert, type AlertChange, alertRecord } from "../../domain/alerts.ts";
import { serverAt } from "../../domain/server.ts";
import { fromRow, type Sql, whole } from "../database/connect.ts";
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

/** Epochs of sites begin at 1. */
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
