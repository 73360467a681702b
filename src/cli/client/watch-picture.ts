import {
  applyPatch,
  type HeldServer,
  heldServer,
  type Patch,
  type Picture,
} from "../../domain/polls/live-picture.ts";
import type { Client } from "./client.ts";

/** The servers by id, in the order of the config. `lost`: why they are not live, but as they were; null while they are. */
export type ShowPicture = (servers: ReadonlyMap<string, HeldServer>, lost: string | null) => void;

/**
 * Keeps the live picture by the event stream, and shows it at first and after every change, until `ended`. `named`: ids
 * of servers, all when empty. Rejects with a Refusal that no waiting helps against.
 */
export async function watchPicture(
  client: Client,
  named: readonly string[],
  show: ShowPicture,
  ended: AbortSignal,
): Promise<void> {
  let held = new Map<string, HeldServer>();
  const load = async (ids: readonly string[]) => {
    const query = ids.map((id) => `server=${encodeURIComponent(id)}`).join("&");
    const { servers } = await client.get<Picture>(`/api/picture?${query}`);
    return new Map(servers.map((server) => [server.id, heldServer(server)]));
  };
  const take = async (patch: Patch) => {
    const next = applyPatch(held.get(patch.server) ?? null, patch);
    // The whole, because a new server has its place in the config.
    if (next === "refetch") held = await load(named);
    else if (next === null) held.delete(patch.server);
    else held.set(patch.server, next);
  };
  const reader = {
    async open() {
      held = await load(named);
      show(held, null);
    },
    async event(_: string, data: unknown) {
      await take(data as Patch);
      show(held, null);
    },
    lost: (why: string) => show(held, why),
  };
  const query = ["events=picture", ...named.map((id) => `server=${encodeURIComponent(id)}`)].join("&");
  await client.follow(`/stream/combined?${query}`, reader, ended);
}
