import type { Config } from "../../config/config.ts";
import { errorCode } from "../../store/store-error.ts";
import type { Report } from "../report.ts";

const WHAT = "http";
const ASK_TIMEOUT_MS = 1_000;

/** That the daemon can listen where it shall; when somebody does already, who. */
export async function checkPort({ host, port, tls }: Config["http"], report: Report): Promise<void> {
  const where = `${host}:${port}`;
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
    report.fine(WHAT, `${where} is free`);
  } catch (error) {
    const code = errorCode(error);
    if (code === "EADDRINUSE") await taken(where, { host, port, isTls: tls !== null }, report);
    else if (code === "EACCES")
      report.problem(WHAT, `this user may not listen on ${where}`, "set http.port to 1024 or more");
    else
      report.problem(WHAT, `cannot listen on ${where} (${code})`, "set http.host to an address of this host");
  }
  const loopback = host === "localhost" || host === "::1" || host.startsWith("127.");
  if (tls === null && !loopback)
    report.warning(
      WHAT,
      `plain HTTP on ${where}: keys travel in clear (http.tls_cert, or a TLS proxy in front)`,
    );
}

interface Place {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

async function taken(where: string, place: Place, report: Report): Promise<void> {
  if (await isLicmond(place))
    return report.fine(
      WHAT,
      `a licmond answers on ${where}; this config takes effect by a reload or restart`,
    );
  report.problem(
    WHAT,
    `another program listens on ${where}`,
    `find it with \`ss -ltnp sport = :${place.port}\` and stop it, or set http.port to another`,
  );
}

/** Whether who listens answers as licmond does. Its certificate is no matter here. */
async function isLicmond({ host, port, isTls }: Place): Promise<boolean> {
  const name = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const authority = name.includes(":") ? `[${name}]` : name;
  try {
    const answer = await fetch(`${isTls ? "https" : "http"}://${authority}:${port}/api/ping`, {
      signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
      redirect: "manual",
      tls: { rejectUnauthorized: false },
      // $http_proxy is for the world outside.
      proxy: "",
    });
    const body: unknown = await answer.json();
    return typeof body === "object" && body !== null && "message" in body && body.message === "pong";
  } catch {
    return false;
  }
}
