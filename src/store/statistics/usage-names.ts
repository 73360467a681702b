import type { UsageNames } from "../../domain/stats/usage.ts";
import type { SessionNames } from "../days/session-names.ts";
import type { SessionFilter } from "./filters.ts";

/** What the ids of sessions stand for in usage, and which of them a filter asks for. */
export function usageNames(names: SessionNames, filter: SessionFilter): UsageNames {
  const servers = createPlaces();
  const daemons = createPlaces();
  const hosts = createPlaces();
  const serverOf: number[] = [];
  const daemonOf: number[] = [];
  /** By host id, its place + 1; 0 = not met yet. */
  const hostPlaces: number[] = [];
  /** By feature id. */
  const isFeature: boolean[] = [];
  const isServer = oneOf(filter.servers);
  const isDaemon = oneOf(filter.daemons);
  const isName = oneOf(filter.features);
  const isUser = byId(names.names, oneOf(filter.users), filter.users === null);
  const wantedHost = oneOf(filter.hosts?.map((host) => host.toLowerCase()) ?? null);
  const isHost = byId(names.names, (host) => wantedHost(host.toLowerCase()), filter.hosts === null);
  const all = Object.values(filter).every((wanted) => wanted === null);

  /** Takes up the features that were named since. */
  function takeUp(): void {
    for (let id = serverOf.length; id < names.features.length; id++) {
      const { server = "", daemon = "", name = "" } = names.features[id] ?? {};
      serverOf.push(servers.place(server, server));
      daemonOf.push(daemons.place(daemon, daemon));
      isFeature.push(isServer(server) && isDaemon(daemon) && isName(name));
    }
  }
  takeUp();
  return {
    serverOf,
    daemonOf,
    // Sessions come back through time: the spelling that comes first is the latest.
    hostOf(id) {
      if (id === 0) return 0;
      const known = hostPlaces[id] ?? 0;
      if (known > 0) return known;
      const host = names.names[id] ?? "";
      const place = hosts.place(host.toLowerCase(), host) + 1;
      hostPlaces[id] = place;
      return place;
    },
    count(key) {
      if (key === "server") return servers.texts.length;
      if (key === "daemon") return daemons.texts.length;
      return key === "feature" ? names.features.length : names.names.length;
    },
    text(key, id) {
      if (key === "server") return servers.texts[id] ?? null;
      if (key === "daemon") return daemons.texts[id] ?? null;
      if (key === "feature") return names.features[id]?.name ?? null;
      return (key === "host" ? hosts.texts[id - 1] : names.names[id]) ?? null;
    },
    wanted(feature, user, host) {
      if (feature >= serverOf.length) takeUp();
      return all || (isFeature[feature] === true && isUser(user) && isHost(host));
    },
  };
}

function oneOf(wanted: readonly string[] | null): (name: string) => boolean {
  if (wanted === null) return () => true;
  const names = new Set(wanted);
  return (name) => names.has(name);
}

/** The same by id, looked up once each. 0 is a host that nobody told: no name asks for it. */
function byId(
  names: SessionNames["names"],
  isWanted: (name: string) => boolean,
  noneToo: boolean,
): (id: number) => boolean {
  const known: boolean[] = [noneToo];
  return (id) => {
    const before = known[id];
    if (before !== undefined) return before;
    const found = isWanted(names[id] ?? "");
    known[id] = found;
    return found;
  };
}

/** Places of names that are equal by their key, each shown as the first that came. */
function createPlaces() {
  const texts: string[] = [];
  const places = new Map<string, number>();
  return {
    texts,
    place(key: string, text: string): number {
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, texts.length);
      return texts.push(text) - 1;
    },
  };
}
