import { Elysia } from "elysia";
import { createExposition } from "../../export/exposition.ts";
import { CONTENT_TYPES, type TextFormat } from "../../export/family.ts";
import { send } from "../answers/answer.ts";
import { scrapeFormat } from "../answers/format.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";

/** Answers with the metrics as text. */
export type Scrape = (request: Request, format: TextFormat) => Promise<Response>;

/**
 * What scrapers are told, at whatever path: what was written for one is kept for the next. No people stand in it, so
 * every key reads the same.
 */
export function createScrape({ live, meters }: Pick<HttpDeps, "live" | "meters">): Scrape {
  const exposition = createExposition();
  return async (request, format) => {
    const body = await exposition.render(live.snapshot(), meters, format);
    return send(request, { body, headers: { "content-type": CONTENT_TYPES[format] } });
  };
}

/** Bodies of a text answer, for the document. */
export const TEXT_CONTENT = {
  "text/plain": { schema: { type: "string", description: "Prometheus text format 0.0.4" } },
  "application/openmetrics-text": { schema: { type: "string", description: "OpenMetrics 1.0" } },
};

export function prometheusRoutes(scrape: Scrape) {
  return new Elysia({ name: "routes/prometheus" }).get(
    "/metrics",
    ({ request }) => scrape(request, scrapeFormat(request.headers.get("accept"))),
    documented({
      access: "read",
      tag: "Service",
      summary: "Metrics for Prometheus",
      description:
        "Servers, features, pools, polls, alerts and the daemon itself. OpenMetrics where `Accept` names it, else the " +
        "older text format. Numbers that are stale are left out, their state is told. No label names a user.",
      answers: { 200: { description: "All metrics", content: TEXT_CONTENT } },
    }),
  );
}
