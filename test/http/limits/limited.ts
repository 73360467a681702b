import type { NewKey } from "../../../src/domain/keys.ts";
import type { HttpSettings } from "../../../src/http/deps.ts";
import type { AppDeps } from "../../../src/http/routes/deps.ts";
import { createQuotas } from "../../../src/store/quotas.ts";
import { open, temporaryDirectory } from "../../store/place.ts";
import { plainKey } from "../../store/plain-key.ts";
import { type Bench, bench, PLENTY } from "../make.ts";

export interface Limited extends Bench {
  /** Changed as a reload would. */
  settings: HttpSettings;
  readonly quotas: ReturnType<typeof createQuotas>;
  /** A key of its own figures. */
  make(change: Partial<NewKey>): string;
}

/** A daemon of plain objects with these limits, and quotas in a real store. The test file must `afterEach(cleanUp)`. */
export function limited(
  limits: Partial<HttpSettings["limits"]>,
  more: Partial<HttpSettings> = {},
  over: Partial<AppDeps> = {},
): Limited {
  const clock = { now: () => at.now };
  const quotas = createQuotas({ store: open(temporaryDirectory()), clock });
  const at = bench({ quotas, settings: () => made.settings, ...over });
  const made: Limited = Object.assign(at, {
    settings: { ...bench().deps.settings(), limits: { ...PLENTY, ...limits }, ...more },
    quotas,
    make(change: Partial<NewKey>) {
      const created = at.deps.keys.create(plainKey({ name: `own ${at.deps.keys.count()}`, ...change }));
      if (created.outcome !== "created") throw new Error(created.outcome);
      return created.presented;
    },
  });
  return made;
}

/** The `RateLimit-*` of an answer: capacity, what remains, seconds until full; null when it has none. */
export function rateOf({ headers }: Response): readonly number[] | null {
  const values = ["limit", "remaining", "reset"].map((name) => headers.get(`ratelimit-${name}`));
  return values.every((value) => value === null) ? null : values.map(Number);
}

export async function codeOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { code?: unknown }).code;
}
