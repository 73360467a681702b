import type { ServerPicture } from "../../src/domain/picture.ts";
import { applyPoll, markStale } from "../../src/domain/polls/apply-poll.ts";
import type { FeatureReading } from "../../src/domain/reading.ts";
import type { FeatureState } from "../../src/fleet/protocol.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { createSite } from "../../src/simulator/site.ts";
import * as a from "../domain/make.ts";

/**
 * Makes pictures at one moment: of the simulator's servers and of a server with other units. One server is stale. Displays
 * are removed, as a site does.
 */
export function simulatedPictures(seed: number, at: number): ServerPicture[] {
  const site = createSite({ seed, zone: "UTC" });
  const simulated = SERVERS.map((spec, index) => {
    const { id, name, manager, address, labels = {} } = spec;
    const server = a.server({ id, name, manager, address, labels });
    const outcome = a.outcome({
      serverId: id,
      finishedAt: at,
      startedAt: at - 100,
      reading: site.reading(spec, at),
    });
    const picture = applyPoll(null, server, outcome, at + 60_000);
    const features = picture.features.map((feature) => ({
      ...feature,
      checkouts: feature.checkouts.map((row) => ({ ...row, display: null, qualifier: null })),
      queue: feature.queue.map((row) => ({ ...row, display: null, qualifier: null })),
    }));
    return index === 1 ? markStale({ ...picture, features }) : { ...picture, features };
  });
  return [...simulated, otherCounts(at)];
}

/** A server with tokens and credits, seat groups, assigned people, and holders without a name. */
function otherCounts(at: number): ServerPicture {
  const expiry = {
    expiresOn: "2026-05-01",
    expiresAt: Date.parse("2026-05-01T23:59:59.999Z"),
    permanent: false,
  };
  const seat = (handle: string, user: string | null, host: string | null = "WS77") =>
    a.checkout({ user, host, handle, display: null, startedAt: user === null ? null : at - 7_200_000 });
  const feature = (name: string, change: Partial<FeatureReading> = {}) =>
    a.feature({ daemon: "otherd", name, checkouts: [], ...change });
  const grouped = (name: string, seatGroup: string, change: Partial<FeatureReading> = {}) =>
    feature(name, { seatGroup, pools: [a.pool({ total: 10, expiry })], ...change });
  const features = [
    grouped("first", "common", { total: 10, used: 2, checkouts: [seat("1", "eve"), seat("2", null)] }),
    feature("alone", { total: 5, used: 4, checkouts: [seat("3", null, null), seat("4", "ada")] }),
    grouped("second", "common", { total: 10, used: 3 }),
    grouped("third", "common", { total: 8, used: null }),
    grouped("open", "endless", { total: null, used: 7, unlimited: true }),
    grouped("counted", "endless", { total: 6, used: 1 }),
    grouped("unread", "dark", { total: 9, used: null }),
    // The name equals that of a seat group, but the feature is not part of the group.
    feature("common", { total: 3, used: 1 }),
    feature("jobs", { unit: "tokens", total: 1000, used: 640, checkouts: [seat("5", "eve")] }),
    feature("solver", {
      ...{ unit: "tokens", seatGroup: "common", total: 500, used: 20 },
      pools: [a.pool({ total: 500, expiry })],
      queue: [
        { ...seat("6", null), count: 40, pool: null },
        { ...seat("7", "ada"), count: 2, pool: null },
      ],
    }),
    feature("cloud", { unit: "credits", total: 70, used: 69, pools: [a.pool({ total: 70, expiry })] }),
    feature("named", {
      ...{ total: 4, used: 1, checkouts: [seat("8", "bob")], queue: [{ ...seat("9", null), pool: null }] },
      assigned: [
        { user: "zoe", host: null, since: at - 86_400_000 },
        { user: "bob", host: "WS12", since: null },
      ],
    }),
    feature("unassigned", { total: 4, used: 0, assigned: [] }),
    ...["suite", "drafting", "rendering"].map((name) =>
      feature(name, {
        ...{ seatGroup: "package suite", total: 4, used: name === "rendering" ? 0 : 1 },
        checkouts: name === "rendering" ? [] : [seat("10", "ada")],
        queue: [{ ...seat("11", "eve"), pool: null }],
      }),
    ),
    feature("broken", { total: null, used: null, error: a.toolError(), seatGroup: "common" }),
  ];
  const server = a.server({ id: "other", name: "Other counts", manager: "dsls", address: "lic9:4085" });
  const times = { serverId: server.id, finishedAt: at, startedAt: at - 100 };
  const outcome = a.outcome({ ...times, reading: a.reading({ manager: "dsls", features }) });
  return applyPoll(null, server, outcome, at + 60_000);
}

/** Makes the states with these pictures, and the state of the site. */
export function pictureStates(pictures: readonly ServerPicture[]) {
  return [
    {
      kind: "site" as const,
      version: "0.2.0",
      timezone: "UTC",
      labels: { country: "de" },
      formerly: null,
      people: "names" as const,
      allow: ["rescan"],
      notify: "site" as const,
      logs: false,
      servers: pictures.map(({ server }) => server.id),
    },
    ...pictures.map((picture) => pictureState(null, picture, 1)),
  ];
}

/**
 * Makes the state with the changes from `before` to `after`, or with the whole picture if `before` is null.
 */
export function pictureState(before: ServerPicture | null, after: ServerPicture, to: number) {
  const { features, ...head } = after;
  const key = ({ daemon, name }: { daemon: string; name: string }): [string, string] => [daemon, name];
  const was = new Map(before?.features.map((one) => [key(one).join("\0"), timeless(one, before)]));
  const changed = features
    .map((one) => timeless(one, after))
    .filter((one) => !Bun.deepEquals(was.get(key(one).join("\0")), one));
  const names = new Set(features.map((one) => key(one).join("\0")));
  return {
    kind: "picture" as const,
    server: after.server.id,
    from: before === null ? null : to - 1,
    to,
    head,
    features: changed,
    gone: (before?.features ?? []).map(key).filter((one) => !names.has(one.join("\0"))),
    order: features.map(key),
    more: false,
  };
}

function timeless(feature: FeatureState, { collectedAt }: ServerPicture): FeatureState {
  const { collectedAt: own, ...rest } = feature;
  return own === undefined || own === collectedAt ? rest : { ...rest, collectedAt: own };
}
