import { globPattern } from "../../alerts/settings.ts";
import type { AlertOverride, Config } from "../../config/config.ts";
import type { Report } from "../terminal.ts";
import { fromDatabase } from "./files.ts";

/** What names a feature that was seen. */
type Seen = Readonly<Record<"server" | "daemon" | "feature", string>>;

/**
 * Names in the config that name nothing: a misspelt one has no effect and no error. Features are judged
 * by those seen so far, if any were; one may still come.
 */
export async function checkNames(
  { alerts, maintenance, servers, storage }: Config,
  report: Pick<Report, "warning">,
): Promise<void> {
  const isServer = (glob: string) => servers.some(({ id }) => globPattern(glob).test(id));
  const features = "SELECT server_id AS server, daemon, name AS feature FROM history_features";
  const seen = await fromDatabase(storage.directory, async (sqlite) =>
    sqlite.query<Seen, []>(features).all(),
  );
  for (const [index, override] of alerts.overrides.entries()) {
    const { server } = override;
    const path = `alerts.overrides[${index}]`;
    if (server !== null && !isServer(server))
      report.warning(path, `it holds for nothing: no server is called "${server}"`);
    else if (seen?.length && !seen.some((one) => fits(override, one)))
      report.warning(path, `it holds for nothing seen so far: ${inWords(override)}`);
  }
  for (const [index, { servers: globs }] of maintenance.entries())
    for (const glob of globs.filter((each) => each !== "*" && !isServer(each)))
      report.warning(`maintenance[${index}]`, `no server is called "${glob}"`);
}

function fits({ server, daemon, feature }: AlertOverride, seen: Seen): boolean {
  const isNamed = (glob: string | null, name: string) => glob === null || globPattern(glob).test(name);
  // One of a server alone holds for the server itself, with features or without.
  if (daemon === null && feature === null) return true;
  return isNamed(server, seen.server) && isNamed(daemon, seen.daemon) && isNamed(feature, seen.feature);
}

function inWords({ server, daemon, feature }: AlertOverride): string {
  const named = Object.entries({ server, daemon, feature }).filter(([, glob]) => glob !== null);
  return named.map(([part, glob]) => `${part} "${glob}"`).join(", ");
}
