import { Elysia } from "elysia";
import { SummaryRecord } from "../../domain/records.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { encode, jsonAnswer } from "../answers/answer.ts";
import type { Answers } from "../answers/answers.ts";
import { NOT_MODIFIED } from "../answers/list.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { summaryRecord } from "../records/summary-record.ts";

export function summaryRoutes(
  { alerts }: Pick<HttpDeps, "alerts">,
  snapshotFor: SnapshotFor,
  answers: Answers,
) {
  return new Elysia({ name: "routes/summary" }).use(gated).get(
    "/api/licenses/summary",
    ({ request, exchange }) => {
      const snapshot = snapshotFor(exchange);
      const counts = alerts.counts(null);
      const make = () => jsonAnswer(encode(JSON.stringify(summaryRecord(snapshot, counts))));
      return answers.respond(request, exchange, snapshot, "json", make, JSON.stringify(counts));
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "Totals over all servers",
      answers: {
        200: { description: "Totals", schema: SummaryRecord, headers: { ETag: "Tag of the snapshot" } },
        304: NOT_MODIFIED,
      },
    }),
  );
}
