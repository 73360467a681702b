import { beforeAll, expect, test } from "bun:test";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { type Bench, bench } from "../http/make.ts";
import { until } from "../until.ts";
import { describeHub, type TestSite } from "./describe-hub.ts";
import { pictureState, pictureStates, simulatedPictures } from "./pictures.ts";

const AT = Date.parse("2026-03-04T10:20:00Z");
const SITES = ["muc", "blr"] as const;

let now = AT;
describeHub("lists from the live picture and from PostgreSQL", { clock: { now: () => now } }, (at) => {
  const { hub, keys } = at;
  const sites = new Map<string, TestSite>();
  const daemons = new Map<string, Bench>();
  const pictures = new Map<string, ServerPicture[]>();

  beforeAll(async () => {
    now = AT;
    for (const [index, name] of SITES.entries()) {
      const [site, daemon] = [await at.site(name), bench()];
      daemon.now = AT;
      sites.set(name, site);
      daemons.set(name, daemon);
      pictures.set(name, simulatedPictures(index + 1, AT));
      daemon.show(...(pictures.get(name) ?? []));
      const states = pictureStates(pictures.get(name) ?? []);
      await site.pushes({ sentAt: now, states });
    }
    await until("the directory of the hub has both sites", async () => {
      const all = await hub.json<{ total: number }>("/api/licenses/servers");
      return all.total === [...pictures.values()].flat().length || undefined;
    });
  });

  /** Removes the site from a hub's answer, so that it compares with the site's own answer. */
  function ofSite(name: string, body: unknown): unknown {
    const text = JSON.stringify(body).replaceAll(`"${name}:`, '"').replaceAll(`"site":"${name}",`, "");
    return JSON.parse(text);
  }

  const daemonSays = async (name: string, path: string) =>
    (await daemons.get(name)?.json(path)) as Record<string, unknown>;

  const FEATURE_SORTS =
    "name -used utilization -expiresAt state daemon server -total error queued unit -unit seatGroup -seatGroup -assigned".split(
      " ",
    );
  const USER_SORTS = "user -user -durationSeconds host kind -startedAt count feature -handle version".split(
    " ",
  );
  test.each([
    "/api/licenses/features?limit=10000",
    ...FEATURE_SORTS.map((sort) => `/api/licenses/features?limit=37&offset=5&sort=${sort}`),
    "/api/licenses/features?limit=1000&search=eD&min_utilization=20",
    "/api/licenses/features?limit=1000&state=ok,partial",
    "/api/licenses/features?limit=1000&state=stale",
    "/api/licenses/features?limit=1000&label=location:muc",
    "/api/licenses/features?limit=1000&daemon=siliqd&feature=Schema_Editor",
    "/api/licenses/users?limit=10000",
    ...USER_SORTS.map((sort) => `/api/licenses/users?limit=53&offset=11&sort=${sort}`),
    "/api/licenses/users?limit=1000&kind=reservation,queued",
    "/api/licenses/users?limit=1000&kind=assigned",
    "/api/licenses/users?limit=1000&kind=assigned,queued&sort=-user",
    "/api/licenses/users?limit=1000&user=bob",
    "/api/licenses/users?limit=1000&search=B",
    "/api/licenses/users?limit=1000&search=wS",
    "/api/licenses/users?limit=1000&feature=Schema_Editor&daemon=siliqd",
    "/api/licenses/servers?limit=1000",
    "/api/licenses/servers?limit=3&offset=1&sort=-name",
    "/api/licenses/servers?limit=1000&state=stale",
    "/api/licenses/servers?limit=1000&manager=dsls",
    "/api/licenses/expirations?limit=1000",
    "/api/licenses/expirations?limit=20&offset=3&sort=-feature",
    "/api/licenses/expirations?limit=1000&sort=seatGroup",
    "/api/licenses/expirations?limit=1000&sort=-unit",
    "/api/licenses/expirations?limit=1000&days=90&permanent=true",
    "/api/licenses/expirations?limit=1000&permanent=true&start=2026-06-01",
  ])("answer alike: %s", async (path) => {
    for (const name of SITES) {
      const site = await daemonSays(name, path);
      const said = await hub.json<{ total: number }>(`${path}&site=${name}`);
      expect(JSON.stringify(ofSite(name, said))).toBe(JSON.stringify(site));
      if (!/offset|error/.test(path)) expect(said.total).toBeGreaterThan(0);
    }
  });

  test("people are found by their names, and by their hosts whatever the case", async () => {
    type Users = { users: { user: string | null; host: string | null }[]; total: number };
    for (const name of SITES) {
      const all = (await daemonSays(name, "/api/licenses/users?kind=checkout")) as unknown as Users;
      const named = all.users.filter(({ user, host }) => user !== null && host !== null);
      for (const { user, host } of [named[3], named.at(-1)] as Users["users"])
        for (const query of [
          `user=${user}`,
          `host=${host?.toUpperCase()}`,
          `user=${user}&host=${host?.toLowerCase()}`,
        ]) {
          const path = `/api/licenses/users?limit=1000&${query}`;
          const said = await hub.json<Users>(`${path}&site=${name}`);
          expect(said.total).toBeGreaterThan(0);
          expect(ofSite(name, said)).toEqual(await daemonSays(name, path));
        }
    }
  });

  test("one server, and the totals of a site", async () => {
    for (const name of SITES) {
      const [first] = pictures.get(name) ?? [];
      const id = first?.server.id ?? "";
      expect(ofSite(name, await hub.json(`/api/licenses/servers/${name}:${id}`))).toEqual(
        await daemonSays(name, `/api/licenses/servers/${id}`),
      );
      const { alerts: _, ...site } = await daemonSays(name, "/api/licenses/summary");
      const said = ofSite(name, await hub.json(`/api/licenses/summary?site=${name}`));
      expect(said).toMatchObject(site);
      expect(said).toMatchObject({ sites: { total: 2, silent: 0 } });
      // Sums leave out tokens, credits and seats of assigned people. A seat group and a package count once.
      const path = "/api/licenses/summary?server=";
      const { alerts: __, ...other } = await daemonSays(name, `${path}other`);
      expect(other).toMatchObject({ seats: { total: 39, used: 12, available: 18 }, users: 3, queued: 2 });
      const {
        alerts: ___,
        sites: ____,
        ...same
      } = ofSite(name, await hub.json(`${path}${name}:other`)) as Record<string, unknown>;
      expect(JSON.stringify(same)).toBe(JSON.stringify(other));
    }
  });

  test("sums over sites are the fleet's", async () => {
    type Totals = {
      features: number;
      queued: number;
      seats: { total: number; used: number };
      servers: { up: number };
    };
    const [all, ...each] = await Promise.all(
      ["", "?site=muc", "?site=blr"].map((query) => hub.json<Totals>(`/api/licenses/summary${query}`)),
    );
    const sum = (of: (totals: Totals) => number) => each.reduce((total, one) => total + of(one), 0);
    for (const of of [
      ({ features }: Totals) => features,
      ({ queued }: Totals) => queued,
      ({ seats }: Totals) => seats.total,
      ({ seats }: Totals) => seats.used,
      ({ servers }: Totals) => servers.up,
    ])
      expect(sum(of)).toBe(of(all as Totals));
  });

  test("lists have a hundred rows by default, and start with the site's name", async () => {
    const list = await hub.json<{ total: number; limit: number; users: object[] }>("/api/licenses/users");
    expect([list.limit, list.users.length]).toEqual([100, 100]);
    expect(list.total).toBeGreaterThan(100);
    expect(Object.keys(list.users[0] ?? {})[0]).toBe("site");
    const all = await hub.json<{ servers: object[]; total: number }>("/api/licenses?limit=2&site=blr");
    expect([all.servers.length, all.total]).toEqual([2, pictures.get("blr")?.length ?? 0]);
  });

  test("an unknown name is 404 with the closest one", async () => {
    for (const [path, closest] of [
      ["features?site=mus", "muc"],
      ["features?server=muc:edaa", "muc:eda"],
      ["users?feature=Schema_Editr", "Schema_Editor"],
      ["features?label=location:nowhere", ""],
    ] as const) {
      const response = await hub.get(`/api/licenses/${path}`);
      expect([path, response.status]).toEqual([path, 404]);
      expect(((await response.json()) as { message: string }).message).toContain(closest);
    }
  });

  test("an anonymized key sees neither labels nor vendor strings", async () => {
    type Whole = {
      servers: { labels: object; features: { pools: { vendorString: string | null }[] }[] }[];
    };
    const shownTo = async (key: string) => {
      const { servers } = await hub.json<Whole>("/api/licenses?limit=10000", key);
      const pools = servers.flatMap(({ features }) => features.flatMap((each) => each.pools));
      const { labels } = await hub.json<{ labels: object }>("/api/fleet/sites/muc", key);
      const metrics = await (await hub.get("/metrics?site=muc", key)).text();
      return [
        servers.some((each) => Object.keys(each.labels).length > 0),
        pools.some(({ vendorString }) => vendorString !== null),
        Object.keys(labels).length > 0,
        /\blabel_\w+="/.test(metrics),
        (await hub.get("/api/licenses/features?label=location:muc", key)).status === 403,
      ];
    };
    expect(await shownTo(keys.viewer)).toEqual([true, true, true, true, false]);
    expect(await shownTo(keys.anonymous)).toEqual([false, false, false, false, true]);
  });

  test("an anonymized key sees pseudonyms of the fleet and finds people by them, without names", async () => {
    type Users = {
      users: { user: string | null; host: string | null; startedAt: string | null }[];
      total: number;
    };
    const open = await hub.json<Users>("/api/licenses/users?limit=10000&kind=checkout,assigned");
    const path = "/api/licenses/users?limit=10000&kind=checkout,assigned&sort=user";
    const text = await (await hub.get(path, keys.anonymous)).text();
    const masked = JSON.parse(text) as Users;
    expect(masked.total).toBe(open.total);
    const names = new Set(open.users.flatMap(({ user }) => user ?? []));
    for (const name of names) expect(text).not.toContain(`"${name}"`);
    // Users without a name have no pseudonym, and come last.
    const shown = masked.users.flatMap(({ user }) => user ?? []);
    const unknown = masked.users.length - shown.length;
    expect(unknown).toBe(open.users.filter(({ user }) => user === null).length);
    expect(masked.users.slice(-unknown).every(({ user }) => user === null)).toBe(true);
    expect(shown).toEqual(shown.toSorted());
    expect(new Set(shown).size).toBe(names.size);
    const one = await hub.json<Users>(`${path}&user=${shown[0]}`, keys.anonymous);
    expect(one.total).toBe(shown.filter((user) => user === shown[0]).length);
    expect((await hub.json<Users>(`${path}&user=${[...names][0]}`, keys.anonymous)).total).toBe(0);
  });

  test("one site has a picture, a whole fleet has none", async () => {
    const of = async (text: unknown) =>
      JSON.parse(JSON.stringify(text).replaceAll(/"snapshot":\d+/g, '"snapshot":0'));
    for (const name of SITES) {
      const said = ofSite(name, await hub.json(`/api/picture?site=${name}`));
      expect(await of(said)).toEqual(await of(await daemonSays(name, "/api/picture")));
    }
    expect((await hub.get("/api/picture")).status).toBe(400);
  });

  test("a patch changes the picture; one that does not fit makes the hub ask for the whole picture", async () => {
    const site = sites.get("muc");
    const before = pictures.get("muc")?.[0] as ServerPicture;
    const after = simulatedPictures(1, AT + 600_000)[0] as ServerPicture;
    const less = { ...after, features: after.features.slice(1).toReversed() };
    const push = (state: object) => site?.sends(hub.url, { ...site.push({ sentAt: now }), states: [state] });
    expect(await push(pictureState(before, less, 2))).toMatchObject({ wanted: [] });
    // Send the same patch again, as after a lost answer; then a patch of a picture that the hub never had.
    expect(await push(pictureState(before, less, 2))).toMatchObject({ wanted: [] });
    expect(await push(pictureState(before, after, 9))).toMatchObject({ wanted: [before.server.id] });
    const daemon = daemons.get("muc") as Bench;
    const others = (pictures.get("muc") ?? []).slice(1);
    daemon.show(less, ...others);
    for (const list of ["features", "users"]) {
      const path = `/api/licenses/${list}?limit=10000`;
      expect(ofSite("muc", await hub.json(`${path}&site=muc`))).toEqual(await daemonSays("muc", path));
    }
    expect(await push(pictureState(null, before, 1))).toMatchObject({ wanted: [] });
    daemon.show(before, ...others);
    const path = "/api/licenses/features?limit=10000";
    expect(ofSite("muc", await hub.json(`${path}&site=muc`))).toEqual(await daemonSays("muc", path));
  });

  test("the figures of a site match its lists", async () => {
    type Row = Record<"available" | "total", number | null> &
      Record<"state" | "expiresOn" | "expiresAt", string>;
    const all = async (of: string, name: string) => {
      const path = `/api/licenses/${of}?limit=10000&site=${name}`;
      return (await hub.json<Record<string, (Row & { status: string })[]>>(path))[of] ?? [];
    };
    for (const name of SITES) {
      const [features, servers, pools] = await Promise.all(
        ["features", "servers", "expirations"].map((of) => all(of, name)),
      );
      const full = features?.filter(
        ({ available, total, state }) =>
          available !== null && available <= 0 && (total ?? 0) > 0 && ["ok", "partial"].includes(state),
      );
      expect(full).not.toEqual([]);
      const status = (word: string) => servers?.filter((server) => server.status === word).length;
      const wanted = {
        servers: servers?.length,
        statuses: {
          up: status("up"),
          degraded: status("degraded"),
          down: status("down"),
          unknown: status("unknown"),
        },
        features: features?.length,
        fullFeatures: full?.length,
        nextExpiry: pools?.find(({ expiresAt }) => Date.parse(expiresAt) >= now)?.expiresOn,
        alerts: { info: 0, warning: 0, critical: 0 },
      };
      await until("the hub has looked at what was pushed last", async () => {
        const site = await hub.json<object>(`/api/fleet/sites/${name}`);
        return Bun.deepEquals({ ...site, ...wanted }, site) || undefined;
      });
    }
  });

  test("people are found by part of their name or host, pseudonyms by part of theirs", async () => {
    interface Row {
      readonly user: string | null;
      readonly host: string | null;
    }
    const users = async (query: string, key: string) =>
      (await hub.json<{ users: Row[] }>(`/api/licenses/users?limit=10000${query}`, key)).users;
    for (const key of [keys.viewer, keys.anonymous]) {
      const everyone = await users("", key);
      const [{ user, host } = { user: null, host: null }] = everyone.filter((row) => row.host !== null);
      for (const part of [user?.slice(1, 5), host?.slice(-4).toUpperCase(), "_%"]) {
        const has = (text: string | null) => text?.toLowerCase().includes(part?.toLowerCase() ?? "") === true;
        const found = await users(`&search=${encodeURIComponent(part ?? "")}`, key);
        expect(found).toEqual(everyone.filter((row) => has(row.user) || has(row.host)));
      }
    }
    const real = (await users("", keys.viewer)).find((row) => row.user !== null)?.user ?? "";
    expect(await users(`&search=${encodeURIComponent(real)}`, keys.anonymous)).toEqual([]);
  });

  test("a silent site's data is marked and counted as stale, and fresh after its next push", async () => {
    type Sites = { sites: { site: string; state: string; lastPushAt: string }[] };
    const states = async () => (await hub.json<Sites>("/api/fleet/sites")).sites.map(({ state }) => state);
    expect(await states()).toEqual(["connected", "connected"]);
    now = AT + 31_000;
    await sites.get("blr")?.sends(hub.url, sites.get("blr")?.push({ sentAt: now + 5_000 }));
    expect(await hub.json("/api/fleet/sites/muc")).toMatchObject({
      state: "silent",
      lagFacts: null,
    });
    expect(await hub.json("/api/fleet/sites/blr")).toMatchObject({
      state: "connected",
      clockOffsetMs: 5_000,
      version: "0.2.0",
      labels: { country: "de" },
    });
    const fresh = await hub.json<{ total: number }>("/api/licenses/features?site=muc&state=ok,partial");
    expect(fresh.total).toBe(0);
    await until("the directory of the hub has followed", async () => {
      const { sites: counts } = await hub.json<{ sites: { total: number; silent: number } }>(
        "/api/licenses/summary",
      );
      return (counts.total === 2 && counts.silent === 1) || undefined;
    });
    const features = await hub.json<{ features: { state: string; collectedAt: string | null }[] }>(
      "/api/licenses/features?site=muc&limit=1000",
    );
    const daemon = (await daemonSays("muc", "/api/licenses/features")).features as typeof features.features;
    expect(features.features.map(({ collectedAt }) => collectedAt)).toEqual(
      daemon.map(({ collectedAt }) => collectedAt),
    );
    expect(features.features.every(({ state }) => state === "stale" || state === "failed")).toBe(true);
    await sites.get("muc")?.sends(hub.url, sites.get("muc")?.push({ sentAt: now }));
    expect(await states()).toEqual(["connected", "connected"]);
  });

  test("a server that its site removed is gone", async () => {
    const site = sites.get("blr");
    const rest = (pictures.get("blr") ?? []).slice(1);
    await site?.pushes({ sentAt: now, states: pictureStates(rest).slice(0, 1) });
    await until("the directory of the hub has followed", async () => {
      const list = await hub.json<{ total: number }>("/api/licenses/servers?site=blr");
      return list.total === rest.length || undefined;
    });
    const first = pictures.get("blr")?.[0]?.server.id;
    for (const table of ["servers", "current_features", "current_rows", "current_pools"]) {
      const rows = await at.pool.unsafe(`SELECT 1 FROM ${table} WHERE site = 'blr' AND server = $1`, [first]);
      expect([table, rows.length]).toEqual([table, 0]);
    }
  });
});
