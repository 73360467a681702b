import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  ALERT_RULES,
  ALERT_STATES,
  type Alert,
  AlertRecord,
  alertRecord,
  anonymousAlert,
  SEVERITIES,
} from "../../domain/alerts.ts";
import { iso } from "../../domain/clock.ts";
import { ApiError } from "../../domain/errors.ts";
import { chooseFormat } from "../answers/format.ts";
import { knownServer } from "../answers/known-servers.ts";
import { listDoc } from "../answers/list.ts";
import type { Audit } from "../audit.ts";
import { jsonBody } from "../body.ts";
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

const MAX_COMMENT = 1000;
const Comment = Type.Optional(Type.String({ maxLength: MAX_COMMENT, description: "Why, for the others" }));
const ACKNOWLEDGE = jsonBody(Type.Object({ comment: Comment }), { comment: "Ann looks into it" });
const MAX_SILENCE_S = 366 * 86_400;
const SILENCE = jsonBody(
  Type.Object({
    until: Type.Optional(Type.String({ format: "date-time", description: "End of the silence" })),
    durationSeconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_SILENCE_S, description: "Or how long from now" }),
    ),
    comment: Comment,
  }),
  { durationSeconds: 14_400, comment: "New seats are ordered" },
);
const ID = { id: { description: "Id of the alert", example: "17" } };

/** Alerts: what is wrong and was wrong, and that somebody knows. */
export function alertRoutes(
  {
    alerts,
    clock,
    history,
    live,
    settings,
  }: Pick<HttpDeps, "alerts" | "clock" | "history" | "live" | "settings">,
  audit: Audit,
) {
  const shownTo = (exchange: Exchange, alert: Alert): AlertRecord =>
    exchange.caller?.anonymize === true ? anonymousAlert(alertRecord(alert)) : alertRecord(alert);

  /** Does it, and says who did what in the trail. */
  async function handle(
    exchange: Exchange,
    id: string,
    what: string,
    fields: { readonly comment: string | null; readonly until?: string },
    work: (id: number, by: string) => ReturnType<HttpDeps["alerts"]["acknowledge"]>,
  ): Promise<Response> {
    const number = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0;
    const of = { alert: number, ...fields };
    try {
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
      audit.done(exchange, what, { ...of, rule, server, feature });
      return Response.json(shownTo(exchange, handled.alert));
    } catch (error) {
      audit.refused(exchange, what, error, of);
      throw error;
    }
  }

  return new Elysia({ name: "routes/alerts" })
    .use(gated)
    .get(
      "/api/licenses/alerts",
      async ({ request, exchange }) => {
        const { caller } = exchange;
        const query = QUERY.parse(exchange.query);
        const { severity, acknowledged, state, server, rule, limit, offset } = query;
        for (const id of server ?? []) knownServer(live.snapshot(), id);
        return answerOf(history, { request, caller }, "alerts", {
          ...{ severities: severity, acknowledged, state, servers: server, rules: rule, limit, offset },
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
      async ({ request, exchange, params }) => {
        const { comment = null } = await ACKNOWLEDGE.read(request, settings().maxBodyBytes);
        return handle(exchange, params.id, "Alert acknowledged", { comment }, (id, by) =>
          alerts.acknowledge(id, by, comment),
        );
      },
      documented({
        access: "acknowledge",
        tag: "Licenses",
        summary: "Say that somebody knows of it",
        description: "Reminders end. Its end is told, and so is a rise of its severity.",
        parameters: ID,
        body: ACKNOWLEDGE,
        answers: { 200: { description: "The alert", schema: AlertRecord } },
        errors: ["NOT_FOUND", "CONFLICT"],
      }),
    )
    .post(
      "/api/licenses/alerts/:id/silence",
      async ({ request, exchange, params }) => {
        const {
          until,
          durationSeconds,
          comment = null,
        } = await SILENCE.read(request, settings().maxBodyBytes);
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
        parameters: ID,
        body: SILENCE,
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
