import type { ServerPicture } from "../../src/domain/picture.ts";
import { applyPoll, markStale } from "../../src/domain/polls/apply-poll.ts";
import type { FeatureState } from "../../src/fleet/protocol.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { createSite } from "../../src/simulator/site.ts";
import * as a from "../domain/make.ts";

/** Pictures of the simulator's servers at a moment, one of them stale; displays are left out, as a site leaves them out. */
export function simulatedPictures(seed: number, at: number): ServerPicture[] {
  const site = createSite({ seed, zone: "UTC" });
  return SERVERS.map((spec, index) => {
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
}

/** The states that bring whole pictures, and what a site says of itself. */
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

/** What makes one picture the next, as a site says it; `before` null: the whole. */
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
