/**
 * Whether an answer goes out gzipped, by Accept-Encoding (RFC 9110, 12.5.3): where gzip is taken, and liked no less than
 * the bytes as they are. Who names nothing, or forbids both, gets them as they are.
 */
export function takesGzip(acceptEncoding: string | null): boolean {
  if (acceptEncoding === null) return false;
  const weights = new Map<string, number>();
  for (const part of acceptEncoding.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((text) => text.trim());
    if (coding === "") continue;
    // RFC 9110, 8.4.1.3: a recipient takes x-gzip for gzip.
    const name = coding === "x-gzip" ? "gzip" : coding;
    weights.set(name, Math.max(weights.get(name) ?? 0, weightOf(parameters)));
  }
  const others = weights.get("*");
  const gzip = weights.get("gzip") ?? others ?? 0;
  // Named by nobody it is taken, and liked least.
  const identity = weights.get("identity") ?? 0;
  return gzip > 0 && gzip >= identity;
}

function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => /^q\s*=/.test(parameter));
  if (given === undefined) return 1;
  const text = given.slice(given.indexOf("=") + 1).trim();
  const weight = Number(text);
  return text !== "" && weight >= 0 && weight <= 1 ? weight : 0;
}
