import { initialPicture, markStale } from "../domain/apply-poll.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { MonitoredServer } from "../domain/server.ts";

/** What an earlier process knew: shown at once, as stale, until the first poll. */
export function restored(server: MonitoredServer, picture: ServerPicture | undefined): ServerPicture {
  if (picture === undefined) return initialPicture(server);
  return { ...markStale(underConfig(server, picture)), nextPollAt: null };
}

/**
 * A picture under the server's present config. Another manager is another server: nothing of the old numbers holds.
 * Another address mostly is not (a member moved or joined): the numbers stay, as stale, until the next poll.
 */
export function underConfig(server: MonitoredServer, picture: ServerPicture): ServerPicture {
  const before = picture.server;
  if (Bun.deepEquals(before, server)) return picture;
  if (before.manager !== server.manager) return initialPicture(server);
  const moved = { ...picture, server, nextPollAt: server.enabled ? picture.nextPollAt : null };
  return before.address === server.address ? moved : markStale(moved);
}
