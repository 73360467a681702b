import type { AlertSettings, Config } from "../config/config.ts";

/** What holds for one server, daemon or feature. */
export interface SubjectSettings extends AlertSettings {
  readonly enabled: boolean;
  /** How long usage, exhausted seats or a queue must last; 0 = one poll is enough. */
  readonly forMs: number;
  /**
   * Polls in a row before an alert on a feature's numbers fires: 1, unless an override that names features says
   * otherwise. `failures` is about polls that fail.
   */
  readonly featureFailures: number;
}

/** Null = the subject has no such part. */
export type SettingsOf = (
  server: string | null,
  daemon: string | null,
  feature: string | null,
) => SubjectSettings;

/** Settings by subject. The last override that fits counts, and it alone, over the general settings. */
export function createSettings({ overrides, ...general }: Config["alerts"]): SettingsOf {
  const base: SubjectSettings = { ...general, enabled: true, forMs: 0, featureFailures: 1 };
  const rules = overrides.toReversed().map((override) => ({
    fits: [matcher(override.server), matcher(override.daemon), matcher(override.feature)] as const,
    settings: {
      ...base,
      ...override.settings,
      enabled: override.enabled,
      forMs: override.forMs ?? 0,
      featureFailures: override.feature === null ? 1 : (override.settings.failures ?? 1),
    },
  }));
  const kept = new Map<string, SubjectSettings>();
  return (server, daemon, feature) => {
    if (rules.length === 0) return base;
    const key = [server, daemon, feature].map((part) => part ?? "\0").join("\0");
    let found = kept.get(key);
    if (found === undefined) {
      found = rules.find(({ fits: [a, b, c] }) => a(server) && b(daemon) && c(feature))?.settings ?? base;
      kept.set(key, found);
    }
    return found;
  };
}

/** Null fits everything; a glob fits no absent part, so that an override of features leaves the server's alerts alone. */
function matcher(glob: string | null): (name: string | null) => boolean {
  if (glob === null) return () => true;
  const pattern = globPattern(glob);
  return (name) => name !== null && pattern.test(name);
}

/** `*` stands for any characters, `?` for one. */
export function globPattern(glob: string): RegExp {
  const source = glob
    .split(/([*?])/)
    .map((part) => (part === "*" ? ".*" : part === "?" ? "." : RegExp.escape(part)))
    .join("");
  return new RegExp(`^${source}$`, "su");
}
