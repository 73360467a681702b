import type { ServerPicture, Snapshot } from "../../src/domain/picture.ts";
import { createPictureFeed } from "../../src/http/streams/picture-feed.ts";
import type { Live } from "../../src/live/live.ts";
import { type Bench, bench, picture } from "./make.ts";
import { type MemoryStreams, PSEUDONYMS } from "./streams/rig.ts";

/** Creates a bench that numbers and publishes its pictures. */
export function liveBench() {
  let snapshot: Snapshot = { version: 1, servers: [picture("eda"), picture("cae")] };
  const listeners = new Set<Parameters<Live["subscribe"]>[0]>();
  const live = {
    snapshot: () => snapshot,
    subscribe(listener: Parameters<Live["subscribe"]>[0]) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const plain = bench();
  const streams = plain.deps.streams as MemoryStreams;
  const feed = createPictureFeed({
    live,
    bus: streams.bus,
    isWanted: streams.broadcaster.takesPictures,
    pseudonyms: PSEUDONYMS,
    clock: { now: () => 1000 },
  });
  const site: Bench = bench({ live, pictures: feed, keys: plain.deps.keys, streams });
  return {
    site: { ...site, keys: plain.keys },
    feed,
    streams,
    show(after: ServerPicture) {
      const before = snapshot.servers.find(({ server }) => server.id === after.server.id) ?? null;
      const others = snapshot.servers.filter((each) => each !== before);
      snapshot = { version: snapshot.version + 1, servers: [...others, after] };
      for (const listener of listeners) listener({ server: after.server, before, after, snapshot });
    },
    remove(id: string) {
      const servers = snapshot.servers.filter(({ server }) => server.id !== id);
      snapshot = { version: snapshot.version + 1, servers };
      feed.configured();
    },
  };
}
