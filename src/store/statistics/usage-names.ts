import type { UsageNames } from "../../domain/stats/usage.ts";
import type { SessionNames } from "../days/session-names.ts";
import type { SessionFilter } from "./filters.ts";

/** What the ids of sessions stand for in usage, and which of them a filter asks for. */
export function usageNames(names: SessionNames, filter: SessionFilter): UsageNames {
  const servers = createPlaces();
  const features = createPlaces();
  const serverOf: number[] = [];
  const nameOf: number[] = [];
  /** By feature id. */
  const isFeature: boolean[] = [];
  const isServer = oneOf(filter.servers);
  const isName = oneOf(filter.features);
  const isUser = byId(names.names, filter.users);
  const isHost = byId(names.names, filter.hosts?.map((host) => host.toLowerCase()) ?? null);
  const all = Object.values(filter).every((wanted) => wanted === null);

  /** Takes up the features that were named since. */
  function takeUp(): void {
    for (let id = serverOf.length; id < names.features.length; id++) {
      const { server = "", name = "" } = names.features[id] ?? {};
      serverOf.push(servers.place(server));
      nameOf.push(features.place(name));
      isFeature.push(isServer(server) && isName(name));
    }
  }
  takeUp();
  return {
    ...{ serverOf, nameOf },
    count: (key) =>
      key === "server"
        ? servers.texts.length
        : key === "feature"
          ? features.texts.length
          : names.names.length,
    text(key, id) {
      if (key === "server") return servers.texts[id] ?? null;
      if (key === "feature") return features.texts[id] ?? null;
      return names.names[id] ?? null;
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

/** The same by id, looked up once each. */
function byId(names: SessionNames["names"], wanted: readonly string[] | null): (id: number) => boolean {
  const isWanted = oneOf(wanted);
  // 0 is a host that nobody told: no name asks for it.
  const known: boolean[] = [wanted === null];
  return (id) => {
    const before = known[id];
    if (before !== undefined) return before;
    const found = isWanted(names[id] ?? "");
    known[id] = found;
    return found;
  };
}

function createPlaces() {
  const texts: string[] = [];
  const places = new Map<string, number>();
  return {
    texts,
    place(text: string): number {
      const known = places.get(text);
      if (known !== undefined) return known;
      places.set(text, texts.length);
      return texts.push(text) - 1;
    },
  };
}
