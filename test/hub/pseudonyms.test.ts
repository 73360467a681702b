import { afterAll, describe, expect, test } from "bun:test";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { createDaemon } from "../../src/daemon.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { createLogging } from "../../src/system/log.ts";
import { createPlace, withTool } from "../cli/rig.ts";
import { flexnetSays } from "../e2e/lmstat.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";
import { until } from "../until.ts";
import { usePostgres } from "./describe-hub.ts";
import { makeSite } from "./history-site.ts";
import { dumpOf, HAS_POSTGRES } from "./postgres.ts";
import { keyAt, known, startHub, type TestHub } from "./rig.ts";

/** Time of the tests: a Wednesday morning. */
const NOW = Date.parse("2026-03-04T10:25:00Z");

/**
 * Minimum length of names that are searched in compressed bytes, where three letters appear by chance once
 * in some megabytes.
 */
const LONG_LETTERS = 6;

interface Words {
  /** Text of the dump, with its byte columns decompressed. */
  readonly text: string;
  /** Byte columns of the dump, without decompression. */
  readonly bytes: string;
}

async function wordsOf(database: string): Promise<Words> {
  const dump = await dumpOf(database);
  const bytes = [...dump.matchAll(/\\\\x([0-9a-f]{2,})/g)].map(([, hex = ""]) => Buffer.from(hex, "hex"));
  const unpacked = bytes.flatMap((one) =>
    [Bun.zstdDecompressSync, Bun.gunzipSync, Bun.inflateSync].flatMap((unpack) => {
      try {
        return [Buffer.from(unpack(new Uint8Array(one))).toString("utf8")];
      } catch {
        // The bytes are not compressed in this way.
        return [];
      }
    }),
  );
  const read = bytes.flatMap((one) => [one.toString("latin1"), one.toString("utf8")]);
  return { text: [dump, ...unpacked].join("\n").toLowerCase(), bytes: read.join("\n").toLowerCase() };
}

/** Returns the names that appear in the dump as whole words. */
function namesIn({ text, bytes }: Words, names: Iterable<string>): string[] {
  const split = (all: string) => new Set(all.split(/[^\p{L}\p{N}._-]+/u));
  const [inText, inBytes] = [split(text), split(bytes)];
  return [...names].filter((name) => {
    const word = name.toLowerCase();
    const isLong = name.length >= LONG_LETTERS;
    if (!/^[\p{L}\p{N}._-]+$/u.test(name)) return text.includes(word) || (isLong && bytes.includes(word));
    return inText.has(word) || (isLong && inBytes.has(word));
  });
}

const SLOW = process.env.SLOW_TESTS === "1";

describe.skipIf(!HAS_POSTGRES)("names in a hub's database", () => {
  const postgres = usePostgres();
  afterAll(cleanUp);

  const PEOPLE_KEY = Buffer.alloc(32, 7).toString("base64");
  /** Writes the key of pseudonyms that all sites of a fleet share. */
  async function peopleKey(): Promise<string> {
    const file = join(temporaryDirectory(), "people.key");
    await Bun.write(file, `${PEOPLE_KEY}\n`);
    return file;
  }

  /** Creates a simulated site that has pushed everything. Returns all names of people and machines that it knows. */
  async function simulated(
    hub: TestHub,
    database: string,
    name: string,
    seed: number,
    people: "pseudonyms" | "counts",
  ) {
    const key = await known(hub, await keyAt(database, { role: "site", site: name }));
    const peopleKeyFile = people === "pseudonyms" ? await peopleKey() : null;
    const site = await makeSite({ name, seed, days: 3, end: NOW, people, peopleKeyFile });
    await site.pushTo(hub.url, key);
    const { rig } = site;
    const stored = rig.store.sqlite
      .query<{ name: string | null }, []>(
        `SELECT user AS name FROM sessions UNION SELECT host FROM sessions UNION SELECT display FROM sessions
         UNION SELECT user FROM denials UNION SELECT host FROM denials`,
      )
      .all()
      .map((row) => row.name);
    const live = rig
      .live()
      .snapshot()
      .servers.flatMap(({ features }) => features)
      .flatMap(({ checkouts, queue, reservations, assigned = [] }) => [
        ...[...checkouts, ...queue].flatMap(({ user, host, display }) => [user, host, display]),
        ...reservations.filter(({ type }) => type === "user" || type === "host").map((row) => row.name),
        ...assigned.flatMap(({ user, host }) => [user, host]),
      ]);
    const names = new Set(
      [...stored, ...live].flatMap((one) => (one !== null && one.length > 2 ? [one] : [])),
    );
    return { names, users: new Set(stored) };
  }

  test.skipIf(!SLOW)("simulated sites send no names, and a person at two sites is one person", async () => {
    const database = await postgres.database();
    const viewer = await keyAt(database, { role: "viewer" });
    await using hub = await startHub(database, { now: () => NOW });
    const muc = await simulated(hub, database, "muc", 1, "pseudonyms");
    const blr = await simulated(hub, database, "blr", 2, "pseudonyms");
    expect(muc.names.size).toBeGreaterThan(50);
    const words = await wordsOf(database);
    expect(namesIn(words, [...muc.names, ...blr.names])).toEqual([]);

    type Groups = { groups: { user: string }[] };
    const usersOf = async (site: string) => {
      const { groups } = await hub.json<Groups>(
        `/api/licenses/usage?group_by=user&start=-3d&site=${site}&limit=10000`,
        viewer,
      );
      return new Set(groups.map(({ user }) => user));
    };
    const [first, second] = [await usersOf("muc"), await usersOf("blr")];
    expect(first.size).toBeGreaterThan(10);
    // If the sites share people by name, they also share them by pseudonym.
    const people = (of: { names: Set<string> }) => of.names;
    expect(first.intersection(second).size > 0).toBe(people(muc).intersection(people(blr)).size > 0);
    // As a control: the search finds pseudonyms.
    expect(namesIn(words, first)).toEqual([...first]);
  });

  test.skipIf(!SLOW)("counts contain no people, not even pseudonyms", async () => {
    const database = await postgres.database();
    const viewer = await keyAt(database, { role: "viewer" });
    await using hub = await startHub(database, { now: () => NOW });
    const { names } = await simulated(hub, database, "muc", 1, "counts");
    expect(names.size).toBeGreaterThan(50);
    const words = await wordsOf(database);
    expect(namesIn(words, names)).toEqual([]);
    for (const list of ["users", "sessions", "people"])
      expect(await hub.json(`/api/licenses/${list}?limit=10`, viewer)).toMatchObject({ total: 0 });
    // Seats are counted without names.
    const { seats } = await hub.json<{ seats: { used: number } }>("/api/licenses/summary", viewer);
    expect(seats.used).toBeGreaterThan(0);
    const rows = (await dumpOf(database)).split("\n");
    for (const table of ["current_rows", "open_sessions", "sessions_rest", "last_seen", "history_users"]) {
      const begin = rows.findIndex((row) => row.startsWith(`COPY public.${table} `));
      expect([table, begin === -1 ? "\\." : rows[begin + 1]]).toEqual([table, "\\."]);
    }
  });

  const NAMES = "ada.lovelace grace_hopper linus77 ws-ada-0815 ws-grace-4711 waiting.wanda ws-wanda".split(
    " ",
  );

  /** Runs a whole daemon as a site, with names in all of its inputs. */
  async function siteOf(
    hub: TestHub,
    database: string,
    name: string,
    people: string,
    peopleKeyFile: string | null,
  ) {
    const place = await createPlace();
    const keyFile = join(place.folder, "key");
    await Bun.write(keyFile, await known(hub, await keyAt(database, { role: "site", site: name })));
    const log = join(place.folder, "acmed.log");
    await Bun.write(log, "");
    const since = new Date(Date.now() - 5 * 3_600_000);
    const holders = [
      { user: "ada.lovelace", host: "ws-ada-0815", since },
      { user: "grace_hopper", host: "ws-grace-4711", since },
    ];
    const said = flexnetSays({ features: { solver: { total: 3, holders } } })
      .replace("Total of 2 licenses in use", "Total of 3 licenses in use")
      .replace("Feature usage info:", "a line that no rule knows, of ada.lovelace\n\nFeature usage info:")
      .replace(
        "  floating license\n\n",
        `  floating license

\t1 RESERVATION for USER linus77 (127.0.0.1/27000)
    waiting.wanda ws-wanda ws-wanda:0 (v2.0) (127.0.0.1/27000 900) queued for 1 license
`,
      );
    await withTool(
      place,
      said,
      `interval = "5s"
timezone = "UTC"
log_file = "${log}"
[alerts]
for = "0s"
held_hours = 1
usage_warning = 50
[fleet]
site = "${name}"
url = "${hub.url}"
api_key_file = "${keyFile}"
people = "${people}"
${peopleKeyFile === null ? "" : `people_key_file = "${peopleKeyFile}"`}`,
    );
    const loaded = loadConfig(place.config, {});
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const daemon = createDaemon(loaded.config, {
      logging: createLogging("error", systemClock, []),
      environment: { PATH: "/usr/bin:/bin" },
    });
    await daemon.start();
    return {
      async deny(user: string, host: string) {
        const time = new Date(Date.now() - 5_000).toISOString().slice(11, 19);
        await appendFile(
          log,
          `${time} (acmed) DENIED: "solver" ${user}@${host}  (${user} is over the limit of ${host}. (-4,342))\n`,
        );
      },
      async [Symbol.asyncDispose]() {
        await daemon.stop();
        await place[Symbol.asyncDispose]();
      },
    };
  }

  test.each([
    ["pseudonyms", "of one key"],
    ["pseudonyms", "of each site's own key"],
    ["counts", "without a key"],
  ])(
    "whole daemons send no names in seats, queues, reservations, denials and alerts: %s %s",
    async (people, key) => {
      const keyFile = key === "of one key" ? await peopleKey() : null;
      const database = await postgres.database();
      const viewer = await keyAt(database, { role: "viewer" });
      await using hub = await startHub(database);
      await using muc = await siteOf(hub, database, "muc", people, keyFile);
      await using blr = await siteOf(hub, database, "blr", people, keyFile);
      const total = async (path: string) =>
        (await hub.json<{ total?: number }>(`/api/licenses/${path}`, viewer)).total ?? 0;
      await until(
        "both have said who holds seats",
        async () => (await total("features?min_utilization=50")) === 2 || undefined,
      );
      await until("denials can be seen", async () => {
        const { logging } = await hub.json<{ logging: { state: string }[] }>("/api/licenses/denials", viewer);
        return (logging.length === 2 && logging.every(({ state }) => state === "on")) || undefined;
      });
      for (const site of [muc, blr]) await site.deny("linus77", "ws-ada-0815");
      await until("denials have come", async () => (await total("denials")) === 2 || undefined);
      await until(
        "alerts name who holds for long",
        async () => (await total("alerts?rule=held_too_long")) >= 2 || undefined,
      );
      const words = await wordsOf(database);
      expect(namesIn(words, NAMES)).toEqual([]);
      for (const secret of [
        PEOPLE_KEY,
        Buffer.from(PEOPLE_KEY, "base64").toString("hex"),
        Buffer.from(PEOPLE_KEY).toString("hex"),
      ])
        expect(words.text).not.toContain(secret.toLowerCase());

      type Denials = {
        denials: { site: string; user: string | null; host: string | null; reason: string | null }[];
      };
      const { denials } = await hub.json<Denials>("/api/licenses/denials", viewer);
      // A person at two sites has one pseudonym, unless each site uses its own key.
      expect(new Set(denials.map(({ user }) => user)).size).toBe(key === "of each site's own key" ? 2 : 1);
      expect(denials.map(({ reason }) => reason)).toEqual([null, null]);
      expect(denials.every(({ user }) => (user === null) === (people === "counts"))).toBe(true);
      expect(await total("users")).toBe(people === "counts" ? 0 : 8);
    },
  );
});
