import { AlertRecord, alertRecord, anonymousAlert } from "../../domain/alerts.ts";
import { type AlertFilter, alertPage } from "../../store/alert-queries.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import type { Answer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

export interface AlertsAsked extends AlertFilter {
  readonly limit: number;
  readonly offset: number;
  readonly format: Format;
  /** Nobody may be recognised in the answer. */
  readonly anonymize: boolean;
}

export function alertsAnswer(read: HistoryRead, asked: AlertsAsked): Answer {
  const { limit, offset, format, anonymize } = asked;
  const { rows, total } = alertPage(read, asked, limit, offset);
  read.checkpoint();
  const records = rows.map((alert) => (anonymize ? anonymousAlert(alertRecord(alert)) : alertRecord(alert)));
  return rowsAnswer({ plural: "alerts", record: AlertRecord, rows: records, total, limit, offset }, format);
}
