import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type KeyState, type NewKey, parseKey, printKey } from "../../src/domain/keys.ts";
import { ROLES } from "../../src/domain/words.ts";
import { createHubKeys, type HubKeys } from "../../src/hub/access/keys.ts";
import { createHubSignIns } from "../../src/hub/access/sign-ins.ts";
import { migrate } from "../../src/hub/database/migrate.ts";
import { createKeys } from "../../src/store/keys.ts";
import type { Grant } from "../../src/store/sign-in-book.ts";
import { createSignIns } from "../../src/store/sign-ins.ts";
import { cleanUp, fixedClock, open as openStore, quickDirectory } from "../store/place.ts";
import { plainKey } from "../store/plain-key.ts";
import { usePostgres } from "./describe-hub.ts";
import { dumpOf, HAS_POSTGRES } from "./postgres.ts";
import { open } from "./rig.ts";

const NOW = Date.parse("2026-03-02T12:00:00.000Z");
const HOUR = 3_600_000;
type Clock = ReturnType<typeof fixedClock>;

const postgres = HAS_POSTGRES ? usePostgres() : null;
const closes: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0)) await close();
  cleanUp();
});

/** Opens the keys and sign-ins of a process. Each further call on the same place acts as another process. */
const PLACES = {
  async SQLite() {
    const directory = quickDirectory();
    let mode: "daemon" | "cli" = "daemon";
    return {
      async process(clock: Clock) {
        const store = openStore(directory, { mode });
        mode = "cli";
        const keys = createKeys({ store, clock });
        const signIns = createSignIns({ state: store.state, keyOf: keys.get, clock });
        return { keys, signIns, renew: async () => {} };
      },
      /** Returns everything that is stored. */
      async stored() {
        const files = await Array.fromAsync(new Bun.Glob("*").scan(directory));
        const bytes = await Promise.all(files.map((name) => Bun.file(`${directory}/${name}`).bytes()));
        return Buffer.concat(bytes).toString("hex");
      },
    };
  },
  async PostgreSQL() {
    const url = (await postgres?.database()) ?? "";
    const pool = open(url);
    closes.push(() => pool.close());
    await migrate(pool);
    return {
      async process(clock: Clock) {
        const keys = await createHubKeys(pool, clock);
        const signIns = await createHubSignIns(pool, { keyOf: keys.get, clock });
        const renew = async () => {
          await keys.renew();
          await signIns.renew();
        };
        return { keys, signIns, renew };
      },
      // Byte columns are dumped in hex.
      stored: async () => ((dump) => dump + Buffer.from(dump).toString("hex"))(await dumpOf(url)),
    };
  },
};
type Keys = Pick<HubKeys, "verify"> & {
  create(wanted: NewKey): ReturnType<HubKeys["create"]> | Awaited<ReturnType<HubKeys["create"]>>;
};

async function created(keys: Keys, change: Partial<NewKey> = {}) {
  const made = await keys.create(plainKey(change));
  if (made.outcome !== "created") throw new Error(made.outcome);
  return made;
}

const names = (HAS_POSTGRES ? ["SQLite", "PostgreSQL"] : ["SQLite"]) as (keyof typeof PLACES)[];
describe.each(names)("keys in %s", (name) => {
  async function make() {
    const [clock, place] = [fixedClock(NOW), await PLACES[name]()];
    return { clock, place, ...(await place.process(clock)) };
  }

  test("a key is shown once and kept as wanted, and is stored without its secret", async () => {
    const { keys, place } = await make();
    const limits = { dailyQuota: 1, monthlyQuota: 2, requestsPerMinute: 3 };
    const wanted = plainKey({ anonymize: true, expiresAt: NOW + 1000, ...limits });
    const { key, presented } = await created(keys, wanted);
    const { id = "", secret = "" } = parseKey(presented) ?? {};
    expect(key).toEqual({
      ...wanted,
      id,
      state: "active",
      createdAt: NOW,
      revokedAt: null,
      lastUsedAt: null,
    });
    expect([keys.get(id), ...keys.list()]).toEqual([key, key]);
    expect(keys.verify(presented)).toEqual({ outcome: "valid", key });
    const hash = new Bun.CryptoHasher("sha256").update(secret).digest("hex");
    const stored = await place.stored();
    const hidden = [Buffer.from(secret).toString("hex"), Buffer.from(secret, "base64url").toString("hex")];
    expect([hash, ...hidden].map((each) => stored.includes(each))).toEqual([true, false, false]);
  });

  test("an invalid key is refused", async () => {
    const { keys } = await make();
    const refused = async (change: Partial<NewKey>) => keys.create(plainKey(change));
    await expect(refused({ name: "" })).rejects.toThrow(RangeError);
    await expect(refused({ role: "admin", anonymize: true })).rejects.toThrow(RangeError);
    expect(keys.list()).toEqual([]);
  });

  test("a name is taken while an active key has it, and free again afterwards", async () => {
    const { keys, clock } = await make();
    const first = await created(keys, { expiresAt: NOW + 100 });
    expect(await keys.create(plainKey())).toEqual({ outcome: "name-taken", key: first.key });
    clock.time += 100;
    const second = await created(keys);
    expect((await keys.create(plainKey())).outcome).toBe("name-taken");
    await keys.revoke(second.key.id);
    expect((await created(keys)).key.id).not.toBe(second.key.id);
    expect((await keys.create(plainKey({ name: "Grafana" }))).outcome).toBe("created");
  });

  test("a name finds its active key, else its newest; an id comes before a name", async () => {
    const { keys, clock } = await make();
    const old = await created(keys);
    await keys.revoke(old.key.id);
    clock.time++;
    const active = await created(keys);
    for (let turn = 0; turn < 2; turn++) {
      expect(keys.find("grafana")?.id).toBe(active.key.id);
      await keys.revoke(active.key.id);
    }
    const named = await created(keys, { name: old.key.id });
    expect(keys.find(old.key.id)?.id).toBe(old.key.id);
    expect(keys.find(named.key.id)?.name).toBe(old.key.id);
    expect([keys.find("nobody"), keys.get("aaaaaaaaaaaa")]).toEqual([null, null]);
  });

  test("a revocation applies at once, once and for good", async () => {
    const { keys, clock } = await make();
    const { key, presented } = await created(keys);
    const outcomes: string[] = [];
    for (const id of [key.id, key.id, "aaaaaaaaaaaa"]) {
      clock.time += 7;
      outcomes.push(await keys.revoke(id));
    }
    expect(outcomes).toEqual(["revoked", "gone", "unknown"]);
    expect(keys.get(key.id)).toMatchObject({ state: "revoked", revokedAt: NOW + 7 });
    expect([keys.verify(presented).outcome, keys.count()]).toEqual(["revoked", 0]);
  });

  test("only the exact secret is valid, and only its owner learns the state", async () => {
    const { keys, clock } = await make();
    const roles = ROLES.filter((role) => role !== "site");
    const all: Awaited<ReturnType<typeof created>>[] = [];
    for (const role of roles) all.push(await created(keys, { name: role, role, expiresAt: NOW + 50 }));
    const states: [KeyState, () => unknown][] = [
      ["active", () => {}],
      ["expired", () => clock.advance(50)],
      ["revoked", () => Promise.all(all.map(({ key }) => keys.revoke(key.id)))],
    ];
    for (const [state, act] of states) {
      await act();
      const [owner, place] = [fc.constantFrom(...all), fc.nat({ max: 42 })];
      fc.assert(
        fc.property(owner, place, fc.constantFrom(..."ABab01-_"), ({ presented, key }, at, letter) => {
          const { id = "", secret = "" } = parseKey(presented) ?? {};
          const other = secret.slice(0, at) + letter + secret.slice(at + 1);
          if (other !== secret)
            expect(keys.verify(printKey({ id, secret: other }))).toEqual({ outcome: "invalid" });
          const outcome = state === "active" ? "valid" : state;
          expect(keys.verify(presented)).toMatchObject({ outcome, key: { id: key.id, state } });
        }),
      );
    }
  });

  test("an unknown id, the secret of another key, or another text is invalid", async () => {
    const { keys } = await make();
    const [a, b] = [await created(keys, { name: "a" }), await created(keys, { name: "b" })];
    const mixed = printKey({ id: a.key.id, secret: parseKey(b.presented)?.secret ?? "" });
    const other = a.presented.replace(a.key.id, "aaaaaaaaaaaa");
    for (const text of [mixed, other, "", a.key.id, a.presented.slice(0, -1), "\u0000"])
      expect(keys.verify(text)).toEqual({ outcome: "invalid" });
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => keys.verify(text).outcome === "invalid"));
  });

  test("a use shows at once, and is written by flush", async () => {
    const { keys, place, clock } = await make();
    const { key } = await created(keys);
    const stored = async () => (await place.process(clock)).keys.get(key.id)?.lastUsedAt;
    for (let n = 1; n <= 100; n++) keys.touch(key.id, NOW + n);
    keys.touch(key.id, NOW + 5);
    expect([keys.get(key.id)?.lastUsedAt, await stored()]).toEqual([NOW + 100, null]);
    await keys.flush();
    expect([keys.get(key.id)?.lastUsedAt, await stored()]).toEqual([NOW + 100, NOW + 100]);
  });

  test("the list is oldest first, and count counts active keys", async () => {
    const { keys, clock } = await make();
    for (const name of ["z", "a", "m"]) {
      clock.time++;
      await created(keys, { name, expiresAt: name === "a" ? clock.time + 10 : null });
    }
    expect([keys.list().map((key) => key.name), keys.count()]).toEqual([["z", "a", "m"], 3]);
    clock.time += 10;
    expect(keys.list().map((key) => key.state)).toEqual(["active", "expired", "active"]);
    expect(keys.count()).toBe(2);
  });

  test("changes of another process apply", async () => {
    const { keys, place, clock, renew } = await make();
    const other = await place.process(clock);
    const late = await created(other.keys, { name: "late" });
    await renew();
    expect(keys.verify(late.presented).outcome).toBe("valid");
    await other.keys.revoke(late.key.id);
    await renew();
    expect(keys.verify(late.presented).outcome).toBe("revoked");
  });
});

describe.each(names)("sign-ins in %s", (name) => {
  async function make() {
    const [clock, place] = [fixedClock(NOW), await PLACES[name]()];
    const own = await place.process(clock);
    const keyId = (await created(own.keys)).key.id;
    const grant: Grant = { keyId, role: null, expiresAt: null };
    const signIn = async (stay = false, replaced: string | null = null) =>
      own.signIns.create(grant, stay, "Firefox 140 on Linux", replaced);
    return { clock, place, ...own, grant, signIn };
  }

  test("a sign-in is stored without its token, and survives a restart until it ends", async () => {
    const { clock, place, signIns, signIn, grant } = await make();
    const [idle, used, over] = [await signIn(), await signIn(), await signIn()];
    clock.advance(11 * HOUR);
    for (const { signIn } of [used, over]) signIns.touch(signIn.id);
    await signIns.end(over.signIn.id);
    await signIns.flush();
    const secret = used.token.split(".")[1] ?? "";
    const hash = new Bun.CryptoHasher("sha256").update(secret).digest("hex");
    const stored = await place.stored();
    expect([stored.includes(Buffer.from(secret).toString("hex")), stored.includes(hash)]).toEqual([
      false,
      true,
    ]);
    clock.advance(HOUR);
    const after = (await place.process(clock)).signIns;
    const outcomes = [idle, used, over].map(({ token }) => after.verify(token).outcome);
    expect(outcomes).toEqual(["ended", "valid", "ended"]);
    expect(after.verify(`${used.token}x`).outcome).toBe("ended");
    expect(after.list()).toMatchObject([
      { keyId: grant.keyId, lastUsedAt: NOW + 11 * HOUR, expiresAt: NOW + 23 * HOUR },
    ]);
    expect([used, idle].map(({ signIn }) => after.holds(signIn.id))).toEqual([true, false]);
  });

  test("a new sign-in of a browser replaces its former one, and a revoked key ends all", async () => {
    const { keys, signIns, signIn, grant } = await make();
    const first = await signIn(true);
    const second = await signIn(true, first.signIn.id);
    const outcomes = () => [first, second].map(({ token }) => signIns.verify(token).outcome);
    expect(outcomes()).toEqual(["ended", "valid"]);
    await keys.revoke(grant.keyId);
    expect(outcomes()).toEqual(["ended", "revoked"]);
  });

  test("a code signs in once, until it expires", async () => {
    const { clock, signIns, grant } = await make();
    const { code, until } = await signIns.makeCode(grant);
    expect(await signIns.takeCode(code)).toMatchObject({ grant, caller: { id: grant.keyId } });
    expect([await signIns.takeCode(code), await signIns.takeCode("x")]).toEqual([null, null]);
    const late = await signIns.makeCode(grant);
    clock.time = until;
    expect(await signIns.takeCode(late.code)).toBeNull();
  });

  test("a clock that was days ahead does not extend a sign-in", async () => {
    const { clock, signIns, signIn } = await make();
    const { signIn: made, token } = await signIn();
    clock.advance(-30 * 24 * HOUR);
    signIns.touch(made.id);
    clock.advance(12 * HOUR);
    expect(signIns.verify(token).outcome).toBe("ended");
  });
});

describe("keys in SQLite alone", () => {
  const make = () => {
    const [clock, store] = [fixedClock(NOW), openStore(quickDirectory())];
    return { clock, store, keys: createKeys({ store, clock }) };
  };

  test.each([
    ["never goes back", 50, 50],
    ["goes back once a wrong clock is right again", 500 * 24 * HOUR, 10],
  ])("the last use %s", async (_, first, shown) => {
    const { keys } = make();
    const { key } = await created(keys);
    for (const at of [first, 10]) {
      keys.touch(key.id, NOW + at);
      keys.flush();
    }
    expect(keys.get(key.id)?.lastUsedAt).toBe(NOW + shown);
  });

  test("a use costs no write before flush, and stays noted if it cannot be written", async () => {
    const { keys, store } = make();
    const { key } = await created(keys);
    const writes = () => Number(store.sqlite.query("SELECT total_changes()").values()[0]?.[0]);
    const before = writes();
    keys.touch(key.id, NOW + 3);
    expect(writes()).toBe(before);
    store.sqlite.run("PRAGMA query_only = ON");
    expect(() => keys.flush()).toThrow(/cannot be written/);
    store.sqlite.run("PRAGMA query_only = OFF");
    keys.flush();
    expect(store.sqlite.query("SELECT at FROM key_uses").values()).toEqual([[NOW + 3]]);
    const written = writes();
    keys.flush();
    expect(writes()).toBe(written);
  });

  test("a change by another process applies to the next request", async () => {
    const { keys, store, clock } = make();
    const { key, presented } = await created(keys);
    const beside = openStore(store.directory, { mode: "cli" });
    const other = createKeys({ store: beside, clock });
    beside.state.sqlite.run(`UPDATE api_keys SET daily_quota = 7 WHERE id = '${key.id}'`);
    expect(keys.verify(presented)).toMatchObject({ outcome: "valid", key: { dailyQuota: 7 } });
    const before = store.state.dataVersion();
    other.revoke(key.id);
    expect(store.state.dataVersion()).not.toBe(before);
    expect(keys.verify(presented).outcome).toBe("revoked");
  });
});
