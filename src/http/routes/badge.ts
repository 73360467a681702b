import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import { cutText, escapeControls } from "../../domain/plain-text.ts";
import type { FeatureRecord } from "../../domain/records.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import type { Lists } from "../lists/lists.ts";
import { queryOf, required, shown, text } from "../query.ts";
import { kindOf } from "../without-key.ts";
import type { RouteDeps } from "./deps.ts";

const QUERY = queryOf({
  server: text("Id of the server.", "eda"),
  daemon: text("Name of the daemon.", "siliqd"),
  feature: required(text("Name of the feature.", "Schema_Editor")),
});
/** Number of seconds for which a wiki may cache the image. */
const MAX_AGE = 30;

type Shown = Pick<
  FeatureRecord,
  "state" | "total" | "used" | "available" | "unlimited" | "queued" | "unit" | "collectedAt"
>;
export function badgeRoutes(
  { reader, snapshotFor }: Pick<RouteDeps, "reader" | "snapshotFor">,
  lists: Pick<Lists, "featuresNamed">,
) {
  return new Elysia({ name: "routes/badge" }).use(gated).get(
    "/badge.svg",
    async ({ exchange, query: { server, daemon, feature } }) => {
      if (feature === undefined)
        throw new ApiError(
          "INVALID_QUERY",
          'Query parameter "feature" is missing: it must be the name of a feature.',
        );
      const named = {
        feature: [feature],
        ...(server !== undefined && { server: [server] }),
        ...(daemon !== undefined && { daemon: [daemon] }),
      };
      const servers = await reader.servers(exchange, snapshotFor(exchange), named);
      const found = await lists.featuresNamed(servers, feature, daemon);
      if (found.length > 1)
        throw new ApiError(
          "INVALID_QUERY",
          `Query parameter "feature": ${found.length} features are named ${shown(feature)}; add "server" or "daemon".`,
        );
      const isPublic = exchange.caller !== null && kindOf(exchange.caller.id) === "public";
      return new Response(badge(feature, found[0]), {
        headers: {
          "content-type": "image/svg+xml; charset=utf-8",
          "cache-control": `${isPublic ? "public" : "private"}, max-age=${MAX_AGE}`,
          vary: "X-API-Key, Authorization, Cookie",
        },
      });
    },
    documented("read", "Licenses", "Image of a feature's free seats", {
      description:
        "For wikis and portals. With `[page] public` it needs no key. `server` and `daemon` are optional if only one feature has the name.",
      query: QUERY,
      answers: {
        200: { description: "The picture", content: { "image/svg+xml": { schema: { type: "string" } } } },
      },
      errors: ["NOT_FOUND"],
    }),
  );
}

const [FREE, FULL, UNSURE] = ["#0b6b75", "#a34a00", "#5f6872"];

/** Describes the numbers of a feature and their state. */
function wordsOf(feature: Shown | undefined): readonly [words: string, fill: string] {
  const { state = "failed", total = null, used = null, available = null, unlimited, queued } = feature ?? {};
  const { unit = "seats" } = feature ?? {};
  const of = unit === "seats" ? "" : ` ${unit}`;
  if (state === "failed" || (unlimited !== true && (total === null || available === null)))
    return ["unknown", UNSURE];
  const waiting = queued ? `, ${queued} waited for` : "";
  const seats = unlimited
    ? `no limit${used === null ? "" : `, ${used}${of} in use`}`
    : `${available}${of} of ${total} free${waiting}`;
  if (state === "stale") return [`stale: ${seats}`, UNSURE];
  return [state === "partial" ? `${seats} (partial)` : seats, available === 0 && !unlimited ? FULL : FREE];
}

const LONGEST_NAME = 60;
const PAD = 8;
const EM = 6.6;

function badge(name: string, feature: Shown | undefined): string {
  const safe = cutText(escapeControls(name), LONGEST_NAME);
  const label = Bun.escapeHTML(safe);
  const [words, fill] = wordsOf(feature);
  const [left, right] = [widthOf(safe), widthOf(words)];
  const width = left + right;
  const at = feature?.collectedAt == null ? "never read" : `as of ${feature.collectedAt}`;
  const part = (x: number, of: number, text: string) =>
    `<text x="${x + of / 2}" y="14" textLength="${of - 2 * PAD}" lengthAdjust="spacingAndGlyphs">${text}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="20" role="img" aria-label="${label}: ${words}">
<title>${label}: ${words}, ${at}</title>
<rect width="${width}" height="20" rx="3" fill="#2b3138"/><path d="M${left} 0H${width - 3}a3 3 0 0 1 3 3V17a3 3 0 0 1-3 3H${left}z" fill="${fill}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${part(0, left, label)}${part(left, right, words)}</g>
</svg>
`;
}

function widthOf(text: string): number {
  return Math.max(1, Math.round(Bun.stringWidth(text) * EM)) + 2 * PAD;
}
