import { describe, expect, test } from "bun:test";
import type { Patch, Picture } from "../../src/domain/live-picture.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { applyPatch, type KeptServer, keptServer } from "../../src/domain/polls/kept-picture.ts";
import { until } from "../until.ts";
import { usePostgres } from "./describe-hub.ts";
import { pictureState, pictureStates, simulatedPictures } from "./pictures.ts";
import { HAS_POSTGRES } from "./postgres.ts";
import { openStream } from "./reader.ts";
import { keyAt, known, madeUpSite, startHub, type TestHub } from "./rig.ts";

const AT = Date.parse("2026-03-02T10:00:00Z");
const MORE = 600_000;
/** Makes the pictures that both sites have at one moment. Seats of the first server have sessions. */
const picturesAt = (at: number) => {
  const [first, ...others] = simulatedPictures(1, at);
  if (first === undefined) throw new Error("the simulator has no servers");
  const features = first.features.map((feature) => ({
    ...feature,
    checkouts: feature.checkouts.map((seat) => ({ ...seat, session: sessionOf(seat) })),
  }));
  return [{ ...first, features }, ...others];
};
const sessionOf = ({ user, handle }: { user: string | null; handle: string | null }) =>
  Number(Bun.hash(`${user} ${handle}`) % 1_000_000n) + 1;

/** Follows a view by the stream's patches, as the page and the command line do. */
async function watch(hub: TestHub, key: string, query: string) {
  const stream = await openStream(`${hub.url}/stream/combined?events=picture&${query}`, key);
  const load = async () => {
    const { servers } = await hub.json<Picture>(`/api/picture?${query}`, key);
    return new Map(servers.map((server) => [server.id, keptServer(server)]));
  };
  let kept = await load();
  const patches: Patch[] = [];
  let failure: unknown = null;
  let refetched = 0;
  const reading = (async () => {
    for (let one = await stream.next(); one !== null; one = await stream.next()) {
      if (one.event !== "picture") continue;
      const patch = one.data as unknown as Patch;
      patches.push(patch);
      const next = applyPatch(kept.get(patch.server) ?? null, patch);
      if (next === "refetch") {
        refetched++;
        kept = await load();
      } else if (next === null) kept.delete(patch.server);
      else kept.set(patch.server, next);
    }
  })().catch((error: unknown) => {
    if (!(error instanceof DOMException)) failure = error;
  });
  return {
    patches,
    refetched: () => refetched,
    /** Waits until the view equals the hub's answer, byte for byte. */
    async agrees(): Promise<void> {
      let said: Map<string, KeptServer> = new Map();
      await until("the view is the hub's", async () => {
        if (failure !== null) throw failure;
        said = await load();
        return Bun.deepEquals(said, kept) || undefined;
      }).catch(() => expect(kept).toEqual(said));
    },
    async [Symbol.asyncDispose]() {
      await stream[Symbol.asyncDispose]();
      await reading;
    },
  };
}

describe.skipIf(!HAS_POSTGRES)("pictures in the stream of a hub", () => {
  const postgres = usePostgres();
  let now = AT;

  const rig = async (sites: readonly string[]) => {
    now = AT;
    const database = await postgres.database();
    const hubs = [
      await startHub(database, { now: () => now }),
      await startHub(database, { now: () => now }),
    ] as const;
    const key = await keyAt(database, { role: "viewer" });
    const anonymous = await keyAt(database, { role: "viewer", anonymize: true });
    const made = await Promise.all(
      sites.map(async (site) => madeUpSite(site, await keyAt(database, { role: "site", site }))),
    );
    for (const hub of hubs) for (const each of [key, ...made.map((site) => site.key)]) await known(hub, each);
    for (const site of made) {
      await site.sends(hubs[0].url, { ...site.push({ sentAt: now }), states: pictureStates(picturesAt(AT)) });
      for (const hub of hubs)
        await until("the hub has the pictures", async () => {
          const list = await hub.json<{ total?: number }>(`/api/licenses/servers?site=${site.site}`, key);
          return list.total === picturesAt(AT).length || undefined;
        });
    }
    const push = (index: number, more: object) =>
      made[index]?.sends(hubs[1].url, { ...made[index].push({ sentAt: now }), ...more });
    return {
      ...{ hubs, key, anonymous, push },
      async [Symbol.asyncDispose]() {
        for (const hub of hubs) await hub[Symbol.asyncDispose]();
      },
    };
  };

  test("patches keep a view of a site equal to the hub's answer", async () => {
    await using all = await rig(["muc", "blr"]);
    const { hubs, key, anonymous, push } = all;
    const [hub, other] = hubs;
    await using muc = await watch(hub, key, "site=muc");
    await using elsewhere = await watch(other, key, "site=muc");
    await using masked = await watch(hub, anonymous, "site=muc");
    await using one = await watch(hub, key, "server=muc:eda");
    const views = [muc, elsewhere, masked, one];
    const agree = () => Promise.all(views.map((view) => view.agrees()));
    // A hub first sends the number of each watched picture.
    const servers = picturesAt(AT).length;
    await until(
      "the views are watched",
      () => (muc.patches.length === servers && elsewhere.patches.length === servers) || undefined,
    );
    await agree();
    expect(muc.patches.every(({ from, to }) => from === to && from !== null)).toBe(true);

    now += 10_000;
    const [before, ...rest] = picturesAt(AT);
    const after = picturesAt(AT + MORE)[0] as ServerPicture;
    await push(0, { states: [pictureState(before as ServerPicture, after, 2)] });
    await push(1, { states: pictureStates(picturesAt(AT + MORE)) });
    await until("the patch has come", () => muc.patches.find(({ from, to }) => from !== to));
    await agree();
    const patch = muc.patches.find(({ from, to }) => from !== to) as Patch;
    expect(patch.server).toBe(`muc:${after.server.id}`);
    expect(patch.rows.length).toBeGreaterThan(0);
    expect(patch.gone.rows.length).toBeGreaterThan(0);
    expect(patch.features.length).toBeLessThan(after.features.length);
    for (const { server } of [...muc.patches, ...elsewhere.patches])
      expect(server.startsWith("muc:")).toBe(true);
    for (const { server } of one.patches) expect(server).toBe("muc:eda");
    const real = JSON.stringify(masked.patches);
    for (const { user } of after.features.flatMap(({ checkouts }) => checkouts))
      expect(real).not.toContain(`"${user}"`);

    // Let the site be silent: its pictures become stale, and fresh again with its next push.
    now += 31_000;
    const isStale = ({ changed }: Patch) => changed.state === "stale";
    await until(
      "the site is silent",
      () => (muc.patches.some(isStale) && elsewhere.patches.some(isStale)) || undefined,
    );
    await agree();
    await push(0, {});
    await until(
      "the site is heard",
      () => muc.patches.some(({ changed }) => changed.state === "ok") || undefined,
    );
    await agree();

    // One server is removed and another one added.
    const gone = rest[0] as ServerPicture;
    const left = [after, ...rest.slice(1)];
    await push(0, { states: pictureStates(left).slice(0, 1) });
    await until(
      "the server is gone",
      () =>
        muc.patches.some(({ to, server }) => to === null && server === `muc:${gone.server.id}`) || undefined,
    );
    await agree();
    await push(0, { states: [pictureStates([...left, gone])[0], pictureState(null, gone, 1)] });
    await until("the server has come", () => muc.patches.some(({ from }) => from === null) || undefined);
    for (const hubNow of hubs) {
      const [picture, whole] = await Promise.all(
        hubs.map((each) => each.json<Picture>("/api/picture?site=muc", key)),
      );
      expect(picture).toEqual(whole as Picture);
      expect(await hubNow.json<Picture>("/api/picture?site=muc", key)).toEqual(whole as Picture);
    }
    await agree();
    for (const view of [muc, elsewhere]) {
      const numbers = Map.groupBy(view.patches, ({ server }) => server);
      for (const patches of numbers.values()) {
        const rising = patches.flatMap(({ to }) => to ?? []);
        expect(rising).toEqual(rising.toSorted((a, b) => a - b));
      }
    }
    // Only the position of the new server is fetched.
    expect(muc.refetched()).toBeLessThanOrEqual(1);
  });

  test("a row has the site's key until the hub has its session", async () => {
    await using all = await rig(["muc"]);
    const { hubs, key, push } = all;
    const [before] = picturesAt(AT);
    const seat = before?.features.flatMap((feature) => feature.checkouts.map((row) => ({ feature, row })))[0];
    if (before === undefined || seat === undefined) throw new Error("nobody has a seat");
    const rowOf = async (hub: TestHub): Promise<readonly unknown[] | undefined> => {
      const { servers } = await hub.json<Picture>(`/api/picture?server=muc:${before.server.id}`, key);
      return servers[0]?.rows.find(([rowKey]) => rowKey === String(seat.row.session));
    };
    expect((await rowOf(hubs[0]))?.[7]).toBe(null);
    const { feature, row } = seat;
    const times = {
      startedAt: null,
      beganAt: AT,
      firstSeenAt: AT,
      lastSeenAt: AT,
      endedAt: null,
      endReason: null,
    };
    const of = { server: before.server.id, daemon: feature.daemon, feature: feature.name, count: row.count };
    const who = { user: row.user, host: row.host, version: row.version, handle: row.handle };
    const fact = {
      kind: "session",
      seq: 1,
      change: "opened",
      announced: true,
      id: row.session,
      ...of,
      ...who,
      ...times,
    };
    await push(0, { from: 1, to: 1, facts: [fact] });
    const { sessions } = await hubs[0].json<{ sessions: { id: number; siteId: number }[] }>(
      "/api/licenses/sessions",
      key,
    );
    expect(sessions.map(({ siteId }) => siteId)).toEqual([row.session as number]);
    for (const hub of hubs) expect((await rowOf(hub))?.[7]).toBe(sessions[0]?.id);
  });
});
