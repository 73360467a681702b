import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { selfSigned } from "../certificates.ts";
import { freePort, until } from "./harness.ts";

/** Path of nginx. `scripts/lib/packages.sh` unpacks it if it is not installed. */
const PROGRAM = [join(import.meta.dir, "../../.cache/nginx/nginx"), "/usr/sbin/nginx"].find(existsSync);
export const HAS_NGINX = PROGRAM !== undefined;

if (!HAS_NGINX)
  console.error("tests behind nginx are skipped: there is no nginx (Debian: apt-get install nginx)");

const DAY_MS = 86_400_000;
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/** Starts nginx with the lines of a `http` block, in a new directory. Disposing stops it. */
export async function runNginx(
  folder: string,
  http: string,
): Promise<AsyncDisposable & { ended(): boolean }> {
  const own = join(folder, "nginx");
  await mkdir(own);
  const paths = TEMPORARY.map((name) => `${name}_temp_path ${own}/${name};`).join("\n");
  await Bun.write(
    join(own, "nginx.conf"),
    `daemon off;\nerror_log stderr crit;\npid ${own}/pid;\nevents {}\nhttp {\naccess_log off;\n${paths}\n${http}\n}\n`,
  );
  const argv = [PROGRAM ?? "", "-p", own, "-c", "nginx.conf", "-e", "stderr"];
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  return {
    ended: () => child.exitCode !== null,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/**
 * Starts an nginx that serves a daemon below a prefix, which begins and ends with `/`: `http` with the lines of
 * `docs/page.md`, `https` with `proxy_pass` alone.
 */
export async function startNginx(folder: string, daemon: string, prefix: string) {
  const [plain, secure] = [await freePort(), await freePort()];
  const { cert, key } = await selfSigned(folder, "proxy", Date.now() - DAY_MS, Date.now() + DAY_MS);
  const nginx = await runNginx(
    folder,
    `server {
  listen 127.0.0.1:${plain};
  location ${prefix} {
    proxy_pass ${daemon}/;
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
  }
}
server {
  listen 127.0.0.1:${secure} ssl;
  ssl_certificate ${cert};
  ssl_certificate_key ${key};
  location ${prefix} { proxy_pass ${daemon}/; }
}`,
  );
  const [http, https] = [`http://127.0.0.1:${plain}${prefix}`, `https://127.0.0.1:${secure}${prefix}`];
  await until("nginx answers", async () => {
    if (nginx.ended()) throw new Error("nginx ended instead");
    return (await fetch(`${http}api/ping`).catch(() => null))?.ok || undefined;
  });
  return { ...nginx, http, https };
}
