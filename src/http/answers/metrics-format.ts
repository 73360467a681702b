import type { TextFormat } from "../../export/family.ts";

/** What Prometheus calls the formats, and the versions of them that are spoken here. */
const MEDIA: Readonly<Record<string, { readonly format: TextFormat; readonly version: string }>> = {
  "application/openmetrics-text": { format: "openmetrics", version: "1.0.0" },
  "text/plain": { format: "text", version: "0.0.4" },
};

interface Weights {
  readonly json: number;
  readonly text: number;
  readonly openmetrics: number;
}

/**
 * The format of `/api/metrics`: JSON, unless Accept names a text format and likes it better. It must be named itself,
 * or as `text/*`: a wildcard for everything means JSON, and libraries name `text/plain` beside JSON without meaning it.
 */
export function metricsFormat(accept: string | null): TextFormat | "json" {
  const weights = weigh(accept);
  const best = textFormat(weights);
  return best !== null && weights[best] > weights.json ? best : "json";
}

/** The format of `/metrics`: OpenMetrics where Accept names it and likes it as well, else the older text. */
export function scrapeFormat(accept: string | null): TextFormat {
  return textFormat(weigh(accept)) ?? "text";
}

function textFormat({ text, openmetrics }: Weights): TextFormat | null {
  if (openmetrics > 0 && openmetrics >= text) return "openmetrics";
  return text > 0 ? "text" : null;
}

/** How much each is liked, 0–1 (RFC 9110, 12.5.1): of the ranges that fit, the most specific one counts. */
function weigh(accept: string | null): Weights {
  const weights = { json: 0, text: 0, openmetrics: 0 };
  const specificity = { json: 0, text: 0, openmetrics: 0 };
  const like = (what: keyof Weights, weight: number, how: 1 | 2 | 3) => {
    if (how < specificity[what]) return;
    weights[what] = how === specificity[what] ? Math.max(weights[what], weight) : weight;
    specificity[what] = how;
  };
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = weightOf(parameters);
    const media = Object.hasOwn(MEDIA, type) ? MEDIA[type] : undefined;
    if (media !== undefined && speaks(parameters, media.version)) like(media.format, weight, 3);
    else if (type === "text/*") like("text", weight, 2);
    else if (type === "application/json") like("json", weight, 3);
    else if (type === "application/*") like("json", weight, 2);
    else if (type === "*/*") like("json", weight, 1);
  }
  return weights;
}

/** A range without a version takes any. */
function speaks(parameters: readonly string[], version: string): boolean {
  const asked = parameterOf(parameters, "version");
  return asked === null || asked === version;
}

function weightOf(parameters: readonly string[]): number {
  const weight = Number(parameterOf(parameters, "q") ?? "1");
  return weight >= 0 && weight <= 1 ? weight : 0;
}

function parameterOf(parameters: readonly string[], name: string): string | null {
  const found = parameters.find((parameter) => parameter.startsWith(`${name}=`));
  return found === undefined ? null : found.slice(name.length + 1).replace(/^"(.*)"$/, "$1");
}
