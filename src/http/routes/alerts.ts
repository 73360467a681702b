import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  ALERT_RULES,
  ALERT_STATES,
  AlertRecord,
  alertRecord,
  anonymousAlert,
  OLD_SEATS_RULES,
  presentRule,
  SEVERITIES,
} from "../../domain/alerts.ts";
import { ApiError } from "../../domain/errors.ts";
import type { KeyRecord } from "../../domain/keys.ts";
import { time } from "../../domain/records.ts";
import { unicode } from "../../domain/text-types.ts";
import { iso } from "../../domain/time/clock.ts";
import { listDoc, withSite } from "../answers/list.ts";
import { fields } from "../body.ts";
import type { HandledHere } from "../deps.ts";
import { documented } from "../docs/documented.ts";
import { callerOf, type Exchange, gated } from "../exchange.ts";
import { flag, NAMED, queryOf, STORED_LIST, shown, word, wordList } from "../query.ts";
import { endTime, openRange, startTime } from "../query-time.ts";
import type { RouteDeps } from "./deps.ts";

const QUERY = queryOf({
  severity: wordList(SEVERITIES, "Severities."),
  acknowledged: flag("true: only acknowledged alerts; false: only the others. Default: all."),
  state: word(ALERT_STATES, "Only firing or only resolved alerts."),
  ...NAMED,
  rule: wordList(
    [...ALERT_RULES, ...OLD_SEATS_RULES],
    "Alert rules. `usage`, `seats_exhausted` and `queue` are former names of `seats`.",
  ),
  start: startTime("Only alerts that had not ended before this time."),
  end: endTime("Only alerts that began before this time; a bare date includes its day."),
  ...STORED_LIST,
});

const Comment = Type.Optional(unicode(0, 1000, "Reason, shown to others"));
const Acknowledge = fields({ comment: Comment });
const MAX_SILENCE_S = 366 * 86_400;
const Silence = fields({
  until: Type.Optional(time("End of the silence")),
  durationSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_SILENCE_S,
      description: "Duration from now, instead of `until`",
    }),
  ),
  comment: Comment,
});
const ID = Type.Object({ id: Type.String({ description: "Id of the alert", example: "1" }) });

export function alertRoutes({ alerts, clock, audit, reader }: RouteDeps) {
  /** Acknowledges or silences an alert and adds that to the audit trail. */
  async function change(
    exchange: Exchange,
    id: string,
    message: string,
    details: { readonly comment: string | null; readonly until?: string },
    work: (id: number, caller: KeyRecord) => Promise<HandledHere>,
  ): Promise<AlertRecord> {
    const alert = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0;
    exchange.acting = { message, fields: { alert, ...details } };
    // Bun closes silent connections, and a hub waits for the alert's site.
    exchange.listener?.timeout(exchange.request, 0);
    const changed: HandledHere = alert === 0 ? { outcome: "unknown" } : await work(alert, callerOf(exchange));
    if (changed.outcome === "unknown") {
      throw new ApiError("NOT_FOUND", `Unknown alert ${shown(id)}; /api/licenses/alerts lists them.`);
    }
    if (changed.outcome === "resolved") {
      throw new ApiError("CONFLICT", `The alert ${alert} is already resolved.`);
    }
    const { rule, server, feature } = changed.alert;
    audit.done(exchange, message, { alert, ...details, rule, server, feature });
    const record = { ...changed.of, ...alertRecord(changed.alert, clock.now()) };
    const answer = exchange.caller?.anonymize === true ? anonymousAlert(record) : record;
    return withSite(answer, exchange.ofSite);
  }

  return new Elysia({ name: "routes/alerts" })
    .use(gated)
    .get(
      "/api/licenses/alerts",
      async ({ exchange, query }) => {
        const { severity: severities = null, acknowledged = null, state = null, rule = null } = query;
        const { asked } = await reader.read(exchange, query, openRange);
        const rules = rule?.map(presentRule) ?? null;
        return reader.answer(exchange, "alerts", { ...asked, severities, acknowledged, state, rules });
      },
      documented("read", "Licenses", "Alerts, newest first", {
        query: QUERY,
        answers: { 200: listDoc("alerts", AlertRecord, "Alerts") },
        errors: ["NOT_FOUND"],
      }),
    )
    .post(
      "/api/licenses/alerts/:id/acknowledge",
      async ({ exchange, params, body: { comment = null } }) =>
        change(exchange, params.id, "Alert acknowledged", { comment }, (id, caller) =>
          alerts.acknowledge(id, caller.name, comment, caller),
        ),
      documented("acknowledge", "Licenses", "Acknowledge an alert", {
        description:
          "Stops reminders. A notification is still sent when the severity rises or the alert ends.",
        params: ID,
        body: Acknowledge,
        example: { comment: "Ann looks into it" },
        answers: { 200: { description: "The alert", schema: AlertRecord } },
        errors: ["NOT_FOUND", "CONFLICT"],
      }),
    )
    .post(
      "/api/licenses/alerts/:id/silence",
      async ({ exchange, params, body: { until, durationSeconds, comment = null } }) => {
        const end = endOf(until, durationSeconds, clock.now());
        return change(exchange, params.id, "Alert silenced", { comment, until: iso(end) }, (id, caller) =>
          alerts.silence(id, end, comment, caller),
        );
      },
      documented("acknowledge", "Licenses", "Silence an alert for a while", {
        description:
          "Requires either `until` or `durationSeconds`. Also silences the same problem if it ends and returns before then. Targets that were notified of the alert are notified of its end.",
        params: ID,
        body: Silence,
        example: { durationSeconds: 14_400, comment: "New seats are ordered" },
        answers: { 200: { description: "The alert", schema: AlertRecord } },
        errors: ["NOT_FOUND", "CONFLICT"],
      }),
    );
}

/** End of a silence, epoch ms. */
function endOf(until: string | undefined, seconds: number | undefined, now: number): number {
  if (until === undefined && seconds === undefined) {
    const missing = 'Field "until" or "durationSeconds" is missing: one of them is required.';
    throw new ApiError("MISSING_FIELD", missing);
  }
  if (until !== undefined && seconds !== undefined) {
    throw new ApiError("INVALID_FIELD", 'Fields "until" and "durationSeconds" cannot be used together.');
  }
  const end = until === undefined ? now + (seconds ?? 0) * 1000 : Date.parse(until);
  if (end > now && end <= now + MAX_SILENCE_S * 1000) return end;
  throw new ApiError("INVALID_FIELD", 'Field "until" must be a time in the future, within 366 days.');
}
