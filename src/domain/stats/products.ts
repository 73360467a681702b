import { type FeatureId, featureIdKey } from "../history.ts";
import { globPattern } from "../plain-text.ts";

export interface Product {
  readonly name: string;
  /** Patterns `server/daemon/feature`, in which each part may contain `*` and `?`. */
  readonly features: readonly string[];
  /** Cost of one seat a year; null if not configured. */
  readonly costPerSeatYear: number | null;
  /** Currency of the cost (ISO 4217); null without a cost. */
  readonly currency: string | null;
}

/** Returns the first product that matches, so that no seat counts twice. Returns null if none matches. */
type ProductOf = (feature: FeatureId) => string | null;

export function createProductOf(products: readonly Product[]): ProductOf {
  const patterns = products.flatMap(({ name, features }) =>
    features.map((glob) => {
      const [server = "", daemon = "", ...feature] = glob.split("/");
      return { name, parts: [server, daemon, feature.join("/")].map(globPattern) };
    }),
  );
  const known = new Map<string, string | null>();
  return (of) => {
    const names = [of.server, of.daemon, of.feature];
    const find = () => patterns.find(({ parts }) => parts.every((part, at) => part.test(names[at] ?? "")));
    return known.getOrInsertComputed(featureIdKey(of), () => find()?.name ?? null);
  };
}
