/** `csv-bom` begins with a byte-order mark: without one, Excel takes UTF-8 for the code page of its host. */
export type Format = "json" | "csv" | "csv-bom";

interface Wanted {
  readonly format: "json" | "csv" | null;
  readonly bom: boolean | null;
}

/**
 * JSON or CSV. `format=` beats the Accept header; an Accept that names neither gets JSON, and `text/csv` must
 * be named itself: a browser's wildcard does not mean it.
 */
export function chooseFormat({ format, bom }: Wanted, accept: string | null): Format {
  if ((format ?? acceptable(accept)) === "json") return "json";
  return bom === true ? "csv-bom" : "csv";
}

function acceptable(accept: string | null): "json" | "csv" {
  if (accept === null) return "json";
  let csv = 0;
  let json = 0;
  for (const part of accept.split(",")) {
    const [type = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const weight = weightOf(parameters);
    if (type === "text/csv") csv = Math.max(csv, weight);
    if (type === "application/json") json = Math.max(json, weight);
  }
  return csv > 0 && csv >= json ? "csv" : "json";
}

function weightOf(parameters: readonly string[]): number {
  const q = parameters.find((parameter) => parameter.startsWith("q="));
  const weight = q === undefined ? 1 : Number(q.slice(2));
  return Number.isFinite(weight) ? weight : 0;
}
