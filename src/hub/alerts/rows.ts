import type { AlertNews } from "../../alerts/alert-log.ts";
import {
  type Alert,
  type AlertChange,
  type AlertRule,
  alertRecord,
  type Severity,
} from "../../domain/alerts.ts";
import { serverAt } from "../../domain/server.ts";
import { type Sql, whole } from "../database/connect.ts";
import { storeNewEvents } from "../push/new-events.ts";

/** A row of the table `alerts`. The hub's own alerts are about the site `site` and have no `site_id`. */
export interface AlertAtHubRow
  extends Readonly<
    Record<
      | "site_id"
      | "server"
      | "daemon"
      | "feature"
      | "resolved_at"
      | "acknowledged_at"
      | "acknowledged_by"
      | "comment",
      string | null
    >
  > {
  readonly id: string;
  readonly site: string;
  readonly rule: AlertRule;
  readonly severity: Severity;
  readonly message: string;
  readonly value: number | null;
  readonly threshold: number | null;
  readonly peak_value: number | null;
  readonly started_at: string;
  readonly fired_at: string;
  readonly silenced_until: string | null;
  readonly told: string;
  readonly noted: string | null;
}

export function alertOf(row: AlertAtHubRow): Alert {
  return {
    id: Number(row.id),
    rule: row.rule,
    severity: row.severity,
    server: row.server === null ? null : serverAt(row.site, row.server),
    daemon: row.daemon,
    feature: row.feature,
    detail: null,
    message: row.message,
    value: row.value,
    threshold: row.threshold,
    peakValue: row.peak_value,
    startedAt: Number(row.started_at),
    firedAt: Number(row.fired_at),
    resolvedAt: whole(row.resolved_at),
    acknowledgedAt: whole(row.acknowledged_at),
    acknowledgedBy: row.acknowledged_by,
    comment: row.comment,
    silencedUntil: whole(row.silenced_until),
    told: JSON.parse(row.told) as Alert["told"],
  };
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
