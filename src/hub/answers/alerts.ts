import { AlertRecord, alertRecord, anonymousAlert } from "../../domain/alerts.ts";
import type { QueryParams } from "../../history/serve.ts";
import type { Answer } from "../../http/answers/answer.ts";
import { rowsAnswer } from "../../http/answers/list.ts";
import type { HistoryAnswers } from "../../http/history-answers/answers.ts";
import { type AlertAtHubRow, alertOf, ownerOf } from "../alerts/rows.ts";
import type { Pool } from "../database/connect.ts";
import { createConditions } from "../lists/conditions.ts";
import { ofSites } from "./people.ts";

/** Answers alerts of all sites, newest first by the time they fired. */
export async function alertsAnswer(
  pool: Pool,
  asked: QueryParams<HistoryAnswers, "alerts">,
): Promise<Answer> {
  const conditions = createConditions();
  const { use, add, oneOf } = conditions;
  const { filter, start, end, severities, acknowledged, state, rules, limit, offset } = asked;
  ofSites(conditions, filter);
  oneOf("daemon", filter.daemons);
  oneOf("feature", filter.features);
  oneOf("severity", severities);
  oneOf("rule", rules);
  if (end !== null) add(`started_at < ${use(end)}`);
  if (start !== null) add(`(resolved_at IS NULL OR resolved_at > ${use(start)})`);
  if (acknowledged !== null) add(`acknowledged_at IS ${acknowledged ? "NOT " : ""}NULL`);
  if (state !== null) add(`resolved_at IS ${state === "firing" ? "" : "NOT "}NULL`);
  const from = `FROM alerts WHERE ${conditions.where()}`;
  const counted = [...conditions.values];
  const page = `LIMIT ${use(limit)} OFFSET ${use(offset)}`;
  const [[{ total }], rows] = await Promise.all([
    pool.unsafe(`SELECT count(*)::int AS total ${from}`, counted),
    pool.unsafe(`SELECT * ${from} ORDER BY fired_at DESC, site, site_id DESC ${page}`, conditions.values),
  ]);
  const records = (rows as AlertAtHubRow[]).map((row) => {
    const shown = alertRecord(alertOf(row), asked.now);
    return { ...(asked.anonymize ? anonymousAlert(shown) : shown), ...ownerOf(row) };
  });
  return rowsAnswer("alerts", AlertRecord, records, total, asked);
}
