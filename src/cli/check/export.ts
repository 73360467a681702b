import type { Config } from "../../config/config.ts";
import type { Report } from "../report.ts";

const TIMEOUT_MS = 5_000;
const WHAT = "export.remote_write";

/**
 * Whether the receiver of remote write is there and takes the token: it is sent a request without samples, which changes
 * nothing there. That nobody answers is the receiver's affair, and said as a warning.
 */
export async function checkExport({ remoteWrite }: Config, report: Report): Promise<void> {
  if (remoteWrite === null) return;
  const { post } = await import("../../export/remote-write/post.ts");
  const { compress } = await import("snappyjs");
  const { protocol, host, hostname } = new URL(remoteWrite.url);
  const loopback = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  if (protocol === "http:" && remoteWrite.tokenFile !== null && !loopback)
    report.warning(WHAT, `plain HTTP to ${host}: the token travels in clear`);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const posted = await post(remoteWrite, compress(new Uint8Array()), signal, Date.now);
  switch (posted.outcome) {
    case "taken":
      return report.fine(WHAT, `${host} takes metrics`);
    case "failed":
      return report.warning(WHAT, `nothing can be written to ${host} now. ${posted.why}`);
    case "refused":
      return report.problem(WHAT, `${host} refuses to be written to. ${posted.why}`, fixOf(posted.status));
  }
}

function fixOf(status: number): string {
  if (status === 401 || status === 403) return "correct token_file (and username, where it is needed)";
  if (status === 404 || status === 405)
    return "correct the url; Prometheus takes metrics when it runs with --web.enable-remote-write-receiver";
  return "look what the receiver says, and correct the url";
}
