import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  ALERT_RULES,
  ALERT_STATES,
  AlertRecord,
  alertRecord,
  anonymousAlert,
  SEVERITIES,
} from "../../domain/alerts.ts";
import { ApiError } from "../../domain/errors.ts";
import { Timestamp } from "../../domain/records.ts";
import { unicode } from "../../domain/text-types.ts";
import { iso } from "../../domain/time/clock.ts";
import { knownServer } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { listDoc } from "../answers/list.ts";
import type { Audit } from "../audit.ts";
import { fields } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { answerOf } from "../history.ts";
import { FORMAT, flag, names, STORED_PAGE, word, wordList } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { shown } from "../shown.ts";

const QUERY = queryOf({
  severity: wordList(SEVERITIES, "Severities."),
  acknowledged: flag("Only those that somebody has acknowledged, or only the others."),
  state: word(ALERT_STATES, "Only those that fire now, or only those that are over."),
  server: names("Ids of servers. An unknown one is 404.", "eda"),
  rule: wordList(ALERT_RULES, "Rules."),
  ...STORED_PAGE,
  ...FORMAT,
});

const Comment = Type.Optional(unicode(0, 1000, "Why, for the others"));
const Acknowledge = fields({ comment: Comment });
const MAX_SILENCE_S = 366 * 86_400;
const Silence = fields({
  until: Type.Optional({ ...Timestamp, description: "End of the silence" } as typeof Timestamp),
  durationSeconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_SILENCE_S, description: "Or how long from now" }),
  ),
  comment: Comment,
});
const ID = Type.Object({ id: Type.String({ description: "Id of the alert", example: "1" }) });

/** Alerts: what is wrong and was wrong, and who has acknowledged it. */
export function alertRoutes(
  { alerts, clock, history, live }: Pick<HttpDeps, "alerts" | "clock" | "history" | "live">,
  audit: Audit,
) {
  /** Acknowledges or silences, and writes it into the trail. */
  async function handle(
    exchange: Exchange,
    id: string,
    message: string,
    fields: { readonly comment: string | null; readonly until?: string },
    work: (id: number, by: string) => ReturnType<HttpDeps["alerts"]["acknowledge"]>,
  ): Promise<AlertRecord> {
    const number = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0;
    const of = { alert: number, ...fields };
    exchange.acting = { message, fields: of };
    const handled =
      number === 0 ? { outcome: "unknown" as const } : await work(number, exchange.caller?.name ?? "");
    if (handled.outcome === "unknown") {
      throw new ApiError("NOT_FOUND", `There is no alert ${shown(id)}; /api/licenses/alerts lists them.`);
    }
    if (handled.outcome === "resolved") {
      throw new ApiError(
        "CONFLICT",
        `The alert ${number} is resolved: there is nothing left to do about it.`,
      );
    }
    const { rule, server, feature } = handled.alert;
    audit.done(exchange, message, { ...of, rule, server, feature });
    const record = alertRecord(handled.alert);
    return exchange.caller?.anonymize === true ? anonymousAlert(record) : record;
  }

  return new Elysia({ name: "routes/alerts" })
    .use(gated)
    .get(
      "/api/licenses/alerts",
      async ({ request, exchange, query }) => {
        const { caller } = exchange;
        const { severity = null, acknowledged = null, state = null, server = null, rule = null } = query;
        for (const id of server ?? []) knownServer(live.snapshot(), id);
        return answerOf(history, { request, caller }, "alerts", {
          severities: severity,
          acknowledged,
          state,
          servers: server,
          rules: rule,
          limit: query.limit ?? 100,
          offset: query.offset ?? 0,
          format: chooseFormat(query, request.headers.get("accept")),
          anonymize: caller?.anonymize === true,
        });
      },
      documented({
        access: "read",
        tag: "Licenses",
        summary: "Alerts, newest first",
        query: QUERY,
        answers: { 200: listDoc("alerts", AlertRecord, "Alerts") },
        errors: ["NOT_FOUND"],
      }),
    )
    .post(
      "/api/licenses/alerts/:id/acknowledge",
      async ({ exchange, params, body }) => {
        const { comment = null } = body;
        return handle(exchange, params.id, "Alert acknowledged", { comment }, (id, by) =>
          alerts.acknowledge(id, by, comment),
        );
      },
      documented({
        access: "acknowledge",
        tag: "Licenses",
        summary: "Say that somebody knows of it",
        description: "Reminders end. Its end is told, and so is a rise of its severity.",
        params: ID,
        body: Acknowledge,
        example: { comment: "Ann looks into it" },
        answers: { 200: { description: "The alert", schema: AlertRecord } },
        errors: ["NOT_FOUND", "CONFLICT"],
      }),
    )
    .post(
      "/api/licenses/alerts/:id/silence",
      async ({ exchange, params, body }) => {
        const { until, durationSeconds, comment = null } = body;
        const end = endOf(until, durationSeconds, clock.now());
        return handle(exchange, params.id, "Alert silenced", { comment, until: iso(end) }, (id) =>
          alerts.silence(id, end, comment),
        );
      },
      documented({
        access: "acknowledge",
        tag: "Licenses",
        summary: "Tell nobody of it for a while",
        description:
          "Takes `until` or `durationSeconds`. Holds for the same trouble when it ends and comes again meanwhile. Whoever was told of it is told of its end.",
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
    throw new ApiError(
      "MISSING_FIELD",
      'Field "until" or "durationSeconds" is missing: one of them is needed.',
    );
  }
  if (until !== undefined && seconds !== undefined) {
    throw new ApiError("INVALID_FIELD", 'Field "until" and "durationSeconds" exclude each other.');
  }
  const end = until === undefined ? now + (seconds ?? 0) * 1000 : Date.parse(until);
  if (end > now && end <= now + MAX_SILENCE_S * 1000) return end;
  throw new ApiError("INVALID_FIELD", 'Field "until" must be a time in the future, within 366 days.');
}
