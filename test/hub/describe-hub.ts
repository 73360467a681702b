import { afterAll, afterEach, beforeAll, beforeEach, describe } from "bun:test";
import type { NewKey } from "../../src/domain/keys.ts";
import type { Clock } from "../../src/domain/time/clock.ts";
import type { Answer } from "../../src/fleet/protocol.ts";
import type { Pool } from "../../src/hub/database/connect.ts";
import { freePort } from "../free-port.ts";
import { HAS_POSTGRES, type Postgres, startPostgres } from "./postgres.ts";
import {
  hubAt,
  keyAt,
  keysAt,
  known,
  type MadeUpSite,
  madeUpSite,
  open,
  startHub,
  type TestHub,
} from "./rig.ts";

/** Starts PostgreSQL for the tests of the enclosing block. */
export function usePostgres(...settings: readonly string[]): Omit<Postgres, keyof AsyncDisposable> {
  let running: Postgres | null = null;
  const now = () => running as Postgres;
  beforeAll(async () => {
    running = await startPostgres(await freePort(), settings.length > 0 ? settings : ["fsync=off"]);
  });
  afterAll(() => running?.[Symbol.asyncDispose]());
  return {
    get port() {
      return now().port;
    },
    database: () => now().database(),
    kill: () => now().kill(),
    start: () => now().start(),
  };
}

interface HubWanted {
  readonly clock?: Clock;
  /** Lines that are added to the config. */
  readonly config?: string;
  /** Number of hubs on one database. */
  readonly hubs?: number;
  /** Whether each test has its own database and hubs. */
  readonly each?: boolean;
}

type TestRole = "viewer" | "anonymous" | "operator" | "admin";

/**
 * The hub under test. With `each`, every test has another hub, so read `database` and `pool` inside a test.
 */
export interface HubTests {
  readonly postgres: Omit<Postgres, keyof AsyncDisposable>;
  readonly database: string;
  readonly pool: Pool;
  /** The first hub. Requests without a key use the viewer's key. */
  readonly hub: TestHub;
  readonly hubs: readonly [TestHub, TestHub];
  /** Keys named like their role. */
  readonly keys: Readonly<Record<TestRole, string>>;
  /** Creates a key that the first hub knows. */
  key(wanted: Partial<NewKey> & Pick<NewKey, "role">): Promise<string>;
  /** Creates a site whose key the first hub knows. */
  site(name: string): Promise<TestSite>;
}

type PushFields = Parameters<MadeUpSite["push"]>[0];

export interface TestSite extends MadeUpSite {
  /** Pushes to the first hub. Throws if the push is refused. */
  pushes(more?: PushFields): Promise<Answer>;
  tries(more?: PushFields): Promise<Response>;
}

/** Declares tests of hubs that have their own PostgreSQL. Skips them if PostgreSQL is not installed. */
export function describeHub(what: string, wanted: HubWanted, tests: (at: HubTests) => void): void {
  describe.skipIf(!HAS_POSTGRES)(what, () => {
    const { clock, config, hubs: count = 1, each = false } = wanted;
    const keys = {} as Record<TestRole, string>;
    const running: (TestHub & AsyncDisposable)[] = [];
    const postgres = usePostgres();
    let [database, pool]: [string, Pool | null] = ["", null];
    const begin = async () => {
      database = await postgres.database();
      pool = open(database);
      const roles = ["viewer", "operator", "admin"] as const;
      const made = await keysAt(database, [
        ...roles.map((role) => ({ role, name: role })),
        { role: "viewer", anonymize: true },
      ]);
      for (const [index, role] of [...roles, "anonymous" as const].entries()) keys[role] = made[index] ?? "";
      while (running.length < count) running.push(await startHub(database, clock, config));
    };
    const end = async () => {
      for (const hub of running.splice(0)) await hub[Symbol.asyncDispose]();
      await pool?.close();
    };
    (each ? beforeEach : beforeAll)(begin);
    (each ? afterEach : afterAll)(end);
    const hubs = [0, 1].map((index) =>
      hubAt(
        () => running[index]?.url ?? "",
        () => keys.viewer,
      ),
    );
    const [hub] = hubs as [TestHub, TestHub];
    const key: HubTests["key"] = async (role) => known(hub, await keyAt(database, role));
    tests({
      postgres,
      hub,
      hubs: hubs as [TestHub, TestHub],
      keys,
      key,
      async site(name) {
        const site = madeUpSite(name, await key({ role: "site", site: name }));
        return Object.assign(site, {
          pushes: (more?: PushFields) => site.sends(hub.url, site.push(more)),
          tries: (more?: PushFields) => site.send(hub.url, site.push(more)),
        });
      },
      get database() {
        return database;
      },
      get pool() {
        return pool as Pool;
      },
    });
  });
}
