import { globPattern } from "../../alerts/settings.ts";
import type { AlertOverride, Config } from "../../config/config.ts";
import { zoneSkewByAges } from "../../domain/time/clock-skew.ts";
import { sessionAges } from "../../history/sessions/sessions.ts";
import { withDatabase } from "../../store/database/read-only.ts";
import { StoreError } from "../../store/database/store-error.ts";
import type { Report } from "../terminal.ts";
import { clockWords } from "./polls.ts";

/** One feature that was seen, by what names it. */
interface Seen {
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
}

/**
 * Names in the config that name nothing: a misspelt one changes nothing, and nobody would notice. Features are judged
 * by those seen so far, if any were; one may still come.
 */
export async function checkNames(
  { alerts, maintenance, servers, storage }: Config,
  report: Pick<Report, "warning">,
): Promise<void> {
  const ids = servers.map(({ id }) => id);
  const features = "SELECT server_id AS server, daemon, name AS feature FROM history_features";
  const seen =
    alerts.overrides.length === 0
      ? []
      : ((await fromDatabase(storage.directory, async (sqlite) => sqlite.query<Seen, []>(features).all())) ??
        []);
  for (const [index, override] of alerts.overrides.entries()) {
    const { server } = override;
    const path = `alerts.overrides[${index}]`;
    if (server !== null && !isNamed(server, ids))
      report.warning(path, `it holds for nothing: no server is called "${server}"`);
    else if (seen.length > 0 && !seen.some((one) => fits(override, one)))
      report.warning(path, `it holds for nothing seen so far: ${inWords(override)}`);
  }
  for (const [index, { servers: globs }] of maintenance.entries()) {
    for (const glob of globs) {
      if (glob !== "*" && !isNamed(glob, ids))
        report.warning(`maintenance[${index}]`, `no server is called "${glob}"`);
    }
  }
}

function isNamed(glob: string, names: readonly string[]): boolean {
  const pattern = globPattern(glob);
  return names.some((name) => pattern.test(name));
}

function fits({ server, daemon, feature }: AlertOverride, seen: Seen): boolean {
  // One of a server alone holds for the server itself, with features or without.
  if (daemon === null && feature === null) return true;
  return (
    (server === null || isNamed(server, [seen.server])) &&
    (daemon === null || isNamed(daemon, [seen.daemon])) &&
    (feature === null || isNamed(feature, [seen.feature]))
  );
}

function inWords({ server, daemon, feature }: AlertOverride): string {
  return Object.entries({ server, daemon, feature })
    .flatMap(([part, glob]) => (glob === null ? [] : [`${part} "${glob}"`]))
    .join(", ");
}

/**
 * What the checkouts seen so far tell of each server's zone. A tool that prints this host's clock, as lmstat does,
 * tells nothing of the server's; how old new checkouts are does.
 */
export async function checkAges(
  { servers, storage }: Config,
  now: number,
  report: Pick<Report, "problem">,
): Promise<void> {
  await fromDatabase(storage.directory, async (sqlite) => {
    for (const { id, timezone, intervalMs, enabled } of servers) {
      const ages = enabled ? sessionAges(sqlite, id) : null;
      const skew = ages === null ? null : zoneSkewByAges(ages, { intervalMs, zone: timezone, now });
      if (skew !== null) report.problem(`${id}: checkouts`, ...clockWords(skew, timezone));
    }
  });
}

/** Null where there is no database yet, or the check of the storage directory has said what is wrong with it. */
async function fromDatabase<T>(
  directory: string,
  read: Parameters<typeof withDatabase<T>>[1],
): Promise<T | null> {
  try {
    return await withDatabase(directory, read);
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}
