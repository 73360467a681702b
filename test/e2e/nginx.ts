import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Pair, selfSigned } from "../certificates.ts";
import { freePort, until } from "./harness.ts";

/** `scripts/lib/packages.sh` unpacks nginx if it is not installed. */
const PROGRAM = [join(import.meta.dir, "../../.cache/nginx/nginx"), "/usr/sbin/nginx"].find(existsSync);
export const HAS_NGINX = PROGRAM !== undefined;
export const NGINX = PROGRAM ?? "";

if (!HAS_NGINX)
  console.error("tests behind nginx are skipped: there is no nginx (Debian: apt-get install nginx)");

const DAY_MS = 86_400_000;

/** An nginx that serves a daemon below a prefix, which begins and ends with `/`. */
export interface Nginx extends AsyncDisposable {
  /** URL of plain HTTP, with the lines of `docs/page.md`. */
  readonly http: string;
  /** URL of TLS, with `proxy_pass` alone. */
  readonly https: string;
}

export async function startNginx(folder: string, daemon: string, prefix: string): Promise<Nginx> {
  const own = join(folder, "nginx");
  await mkdir(own);
  const [plain, secure] = [await freePort(), await freePort()];
  const { cert, key } = await selfSigned(own, "proxy", Date.now() - DAY_MS, Date.now() + DAY_MS);
  await Bun.write(join(own, "nginx.conf"), configOf({ own, daemon, prefix, plain, secure, cert, key }));
  const argv = [PROGRAM ?? "", "-p", own, "-c", "nginx.conf", "-e", "stderr"];
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  const [http, https] = [`http://127.0.0.1:${plain}${prefix}`, `https://127.0.0.1:${secure}${prefix}`];
  await until("nginx answers", async () => {
    if (child.exitCode !== null) throw new Error("nginx ended instead");
    return (await fetch(`${http}api/ping`).catch(() => null))?.ok || undefined;
  });
  return {
    http,
    https,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

interface Config extends Pair {
  readonly own: string;
  readonly daemon: string;
  readonly prefix: string;
  readonly plain: number;
  readonly secure: number;
}

const configOf = ({ own, daemon, prefix, plain, secure, cert, key }: Config) => `
daemon off;
error_log stderr;
pid ${own}/pid;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${own}/${name};`).join("\n  ")}
  server {
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
    location ${prefix} {
      proxy_pass ${daemon}/;
    }
  }
}
`;
