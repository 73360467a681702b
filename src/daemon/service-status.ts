import type { ServerPicture } from "../domain/picture.ts";
import { escapeControls } from "../domain/plain-text.ts";

/** What `systemctl status` shows of the daemon. */
export interface ServiceState {
  /** `http://0.0.0.0:8080` */
  readonly address: string;
  readonly servers: readonly ServerPicture[];
  /** Times in epoch ms. */
  readonly lastReload: { readonly at: number; readonly outcome: "applied" | "refused" } | null;
}

const MAX_CHARACTERS = 300;

/** One line: `http://0.0.0.0:8080, 3 servers: 2 up, 1 down, 1 stale, last poll 2026-01-31 08:15:30 UTC`. */
export function serviceStatus({ address, servers, lastReload }: ServiceState): string {
  const parts = [address, serversPart(servers)];
  const polls = servers.flatMap(({ lastPollAt }) => (lastPollAt === null ? [] : [lastPollAt]));
  if (polls.length > 0) parts.push(`last poll ${utc(Math.max(...polls))}`);
  if (lastReload?.outcome === "refused")
    parts.push(`the config was refused ${utc(lastReload.at)}, the one before holds (see the journal)`);
  return oneLine(parts.join(", "));
}

/** A text as a value of the protocol, which knows no line ends within one. */
export function oneLine(text: string): string {
  const line = escapeControls(text);
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS - 1)}…` : line;
}

function serversPart(servers: readonly ServerPicture[]): string {
  const enabled = servers.filter(({ server }) => server.enabled);
  if (servers.length === 0) return "no server configured";
  const words = (["up", "degraded", "down", "unknown"] as const).flatMap((status) => {
    const count = enabled.filter((each) => each.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  const stale = enabled.filter(({ state }) => state === "stale").length;
  if (stale > 0) words.push(`${stale} stale`);
  const disabled = servers.length - enabled.length;
  if (disabled > 0) words.push(`${disabled} disabled`);
  return `${servers.length} ${servers.length === 1 ? "server" : "servers"}: ${words.join(", ")}`;
}

/** `2026-01-31 08:15:30 UTC` */
function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
