import { setTimeout } from "node:timers/promises";
import { messageOf } from "../../domain/error-code.ts";
import type { Patch, Picture } from "../../domain/live-picture.ts";
import { applyPatch, type KeptServer, keptServer } from "../../domain/polls/kept-picture.ts";
import { Failure } from "../io.ts";
import { type Client, Refusal } from "./client.ts";

const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;

/** Servers by id, in the order of the config. */
export type Site = ReadonlyMap<string, KeptServer>;

/**
 * Servers as last received. `lost` is the reason why they are no longer updated; null while they are live.
 */
export interface Seen {
  readonly site: Site;
  readonly lost: string | null;
}

/**
 * Follows the live picture of the `named` servers (none means all) on the event stream until `ended`
 * aborts. Yields the picture at first and after every change. Reconnects a broken stream and reloads the
 * picture. Throws a Refusal that retrying cannot fix.
 */
export async function* watchPicture(
  client: Client,
  named: readonly string[],
  ended: AbortSignal,
): AsyncGenerator<Seen> {
  const query = named.map((id) => `&server=${encodeURIComponent(id)}`).join("");
  const load = async () => {
    const { servers } = await client.get<Picture>(`/api/picture?${query.slice(1)}`, ended);
    return new Map(servers.map((server) => [server.id, keptServer(server)]));
  };
  let site = new Map<string, KeptServer>();
  let wait = RETRY_MS;
  while (!ended.aborted) {
    let lost: string;
    try {
      for await (const patch of client.events<Patch>(`/stream/combined?events=picture${query}`, ended)) {
        wait = RETRY_MS;
        const next = patch === null ? "refetch" : applyPatch(site.get(patch.server) ?? null, patch);
        // Reload the whole picture, because only that shows the place of a new server in the config.
        if (next === "refetch" || patch === null) site = await load();
        else if (next === null) site.delete(patch.server);
        else site.set(patch.server, next);
        yield { site, lost: null };
      }
      return;
    } catch (error) {
      const isPassing = !(error instanceof Refusal) || error.status >= 500 || error.status === 429;
      if (ended.aborted) return;
      if (!(error instanceof Failure) || !isPassing) throw error;
      lost = messageOf(error);
    }
    yield { site, lost };
    await setTimeout(wait, null, { signal: ended }).catch(() => {});
    wait = Math.min(2 * wait, LONGEST_RETRY_MS);
  }
}
