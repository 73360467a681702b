import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { guardedFiles } from "../config/guarded-files.ts";
import type { LogOf } from "../domain/log.ts";
import { daemonGroups, exposureOf } from "../system/exposed-file.ts";

interface Start {
  readonly config: Config;
  readonly file: string | null;
  readonly host: string;
  readonly port: number;
  readonly activeKeys: number;
  readonly environment: Environment;
}

/** What a daemon that has just started has to say to its administrator: what to do next, and what to mind. */
export function startHints(log: LogOf, { config, file, host, port, activeKeys, environment }: Start): void {
  if (file === null) {
    log("config").warn(
      "No config file: no server is watched. `licmond init` writes one to fill in, `licmond demo` shows licmond on simulated servers",
    );
  } else if (config.servers.length === 0) {
    log("config").warn("The config names no server: nothing is watched", { config: file });
  }
  const groups = daemonGroups();
  for (const { setting, file: path, kind } of guardedFiles(config, file, environment)) {
    const exposure = exposureOf(path, kind, groups);
    if (exposure !== null)
      log("config").warn("Others can get at a file that should be the daemon's alone", {
        setting,
        ...exposure,
      });
  }
  if (activeKeys === 0) {
    log("auth").warn("There is no API key yet: `licmond keys create --name admin --role admin` makes one");
  }
  if (config.http.tls === null && !isLoopback(host)) {
    log("http").warn(
      "Plain HTTP beyond loopback: keys travel in clear. Set http.tls_cert and http.tls_key, or put a TLS proxy in front",
      {
        address: `${host}:${port}`,
      },
    );
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d+){3}$/.test(host);
}
