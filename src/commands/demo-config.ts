import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { hostZone } from "../domain/zone.ts";

/** What somebody who starts a demo may choose. */
export interface DemoOptions {
  readonly host: string;
  /** Undefined: the usual one, or a free one when it is taken. */
  readonly port?: number;
  /** Undefined: a temporary one that goes with the demo. */
  readonly directory?: string;
  readonly seed: number;
  /** Between two polls of a server, e.g. `10s`. */
  readonly interval: string;
  /** Days of history to begin with. */
  readonly history: number;
}

/** The config that a file of this content would give: every simulated server, asked through `licmond simulate`. */
export async function demoConfig(
  options: DemoOptions & { readonly port: number; readonly directory: string },
): Promise<Config> {
  const { buildConfig } = await import("../config/build.ts");
  const { SERVERS } = await import("../simulator/servers.ts");
  const { demoLogFile } = await import("./demo-logs.ts");
  const timezone = hostZone();
  return buildConfig(
    {
      http: { host: options.host, port: options.port },
      storage: { directory: options.directory },
      collector: { interval: options.interval },
      servers: SERVERS.map(({ id, name, manager, address, labels, debugLog }) => ({
        id,
        name,
        manager,
        address,
        labels: { ...labels },
        timezone,
        ...(debugLog && { log_file: demoLogFile(options.directory, id) }),
        tool: [
          ...ownProgram(),
          "simulate",
          manager,
          ...["--server", id, "--seed", String(options.seed), "--timezone", timezone],
        ],
      })),
    },
    {},
  );
}

/** argv prefix that runs this very program: the binary, or Bun with the source. */
export function ownProgram(): readonly string[] {
  return Bun.isStandaloneExecutable
    ? [process.execPath]
    : [process.execPath, join(import.meta.dir, "../main.ts")];
}
