import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { type KeyState, type NewKey, parseKey, printKey } from "../../src/domain/keys.ts";
import { ROLES } from "../../src/domain/words.ts";
import { createKeys, type Keys } from "../../src/store/keys.ts";
import { cleanUp, fixedClock, open, temporaryDirectory } from "./place.ts";
import { plainKey } from "./plain-key.ts";

afterEach(cleanUp);

const NOW = Date.parse("2026-03-02T12:00:00.000Z");

function make() {
  const clock = fixedClock(NOW);
  const store = open(temporaryDirectory());
  return { store, clock, keys: createKeys({ store, clock }) };
}

function created(keys: Keys, change: Partial<NewKey> = {}) {
  const made = keys.create(plainKey(change));
  if (made.outcome !== "created") throw new Error(made.outcome);
  return made;
}

describe("a key", () => {
  test("is told once and kept as it was wanted", () => {
    const { keys } = make();
    const limits = { dailyQuota: 1, monthlyQuota: 2, requestsPerMinute: 3 };
    const wanted = plainKey({ anonymize: true, expiresAt: NOW + 1000, ...limits });
    const { key, presented } = created(keys, wanted);
    expect(key).toEqual({
      ...wanted,
      id: parseKey(presented)?.id ?? "",
      state: "active",
      createdAt: NOW,
      revokedAt: null,
      lastUsedAt: null,
    });
    expect(keys.get(key.id)).toEqual(key);
    expect(keys.list()).toEqual([key]);
    expect(keys.verify(presented)).toEqual({ outcome: "valid", key });
  });

  test("is stored without its secret", () => {
    const { keys, store } = make();
    const secret = parseKey(created(keys).presented)?.secret ?? "";
    const files = readdirSync(store.directory).map((file) => readFileSync(join(store.directory, file)));
    const stored = Buffer.concat(files);
    const hash = new Bun.CryptoHasher("sha256").update(secret).digest();
    expect(["grafana", hash].map((each) => stored.includes(each))).toEqual([true, true]);
    expect([secret, Buffer.from(secret, "base64url")].map((each) => stored.includes(each))).toEqual([
      false,
      false,
    ]);
  });

  test("with a fault is refused", () => {
    const { keys } = make();
    expect(() => keys.create(plainKey({ name: "" }))).toThrow(RangeError);
    expect(() => keys.create(plainKey({ role: "admin", anonymize: true }))).toThrow(RangeError);
    expect(keys.list()).toEqual([]);
  });
});

describe("a name", () => {
  test("is taken while an active key has it, and free again behind its end", () => {
    const { keys, clock } = make();
    const first = created(keys, { expiresAt: NOW + 100 });
    expect(keys.create(plainKey())).toEqual({ outcome: "name-taken", key: first.key });
    clock.time += 100;
    const second = created(keys);
    expect(keys.create(plainKey()).outcome).toBe("name-taken");
    keys.revoke(second.key.id);
    expect(created(keys).key.id).not.toBe(second.key.id);
    expect(keys.create(plainKey({ name: "Grafana" })).outcome).toBe("created");
  });

  test("finds its active key, else its newest; an id finds its own first", () => {
    const { keys, clock } = make();
    const old = created(keys);
    keys.revoke(old.key.id);
    clock.time++;
    const active = created(keys);
    for (let turn = 0; turn < 2; turn++) {
      expect(keys.find("grafana")?.id).toBe(active.key.id);
      keys.revoke(active.key.id);
    }
    const named = created(keys, { name: old.key.id });
    expect(keys.find(old.key.id)?.id).toBe(old.key.id);
    expect(keys.find(named.key.id)?.name).toBe(old.key.id);
    expect(keys.find("nobody")).toBeNull();
    expect(keys.get("aaaaaaaaaaaa")).toBeNull();
  });
});

test("a revocation holds at once, once and for good", () => {
  const { keys, clock } = make();
  const { key, presented } = created(keys);
  const revoke = (id: string) => {
    clock.time += 7;
    return keys.revoke(id);
  };
  expect([key.id, key.id, "aaaaaaaaaaaa"].map(revoke)).toEqual(["revoked", "gone", "unknown"]);
  expect(keys.get(key.id)).toMatchObject({ state: "revoked", revokedAt: NOW + 7 });
  expect([keys.verify(presented).outcome, keys.count()]).toEqual(["revoked", 0]);
});

describe("what is presented", () => {
  test("opens only when every character is right, and its state is told to nobody else", () => {
    const { keys, clock } = make();
    const all = ROLES.filter((role) => role !== "site").map((role) =>
      created(keys, { name: role, role, expiresAt: NOW + 50 }),
    );
    const states: [KeyState, () => unknown][] = [
      ["active", () => {}],
      ["expired", () => clock.advance(50)],
      ["revoked", () => all.map(({ key }) => keys.revoke(key.id))],
    ];
    for (const [state, act] of states) {
      act();
      fc.assert(
        fc.property(
          fc.constantFrom(...all),
          fc.nat({ max: 42 }),
          fc.constantFrom(..."ABab01-_"),
          ({ presented, key }, at, letter) => {
            const parts = parseKey(presented);
            if (parts === null) throw new Error("no key");
            const secret = parts.secret.slice(0, at) + letter + parts.secret.slice(at + 1);
            const check = keys.verify(printKey({ id: parts.id, secret }));
            if (secret !== parts.secret) expect(check).toEqual({ outcome: "invalid" });
            expect(keys.verify(presented)).toMatchObject({
              outcome: state === "active" ? "valid" : state,
              key: { id: key.id, state },
            });
          },
        ),
      );
    }
  });

  test("of an unknown id, with the secret of another key, or no key at all, is invalid", () => {
    const { keys } = make();
    const [a, b] = [created(keys, { name: "a" }), created(keys, { name: "b" })];
    const mixed = printKey({ id: a.key.id, secret: parseKey(b.presented)?.secret ?? "" });
    const other = a.presented.replace(a.key.id, "aaaaaaaaaaaa");
    for (const text of [mixed, other, "", a.key.id, a.presented.slice(0, -1), "\u0000"])
      expect(keys.verify(text)).toEqual({ outcome: "invalid" });
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => keys.verify(text).outcome === "invalid"));
  });
});

describe("the last use", () => {
  test("is seen at once and written by flush, with no write before", () => {
    const { keys, store } = make();
    const { key } = created(keys);
    const beside = open(store.directory, { mode: "cli" });
    const command = () => createKeys({ store: beside, clock: fixedClock(NOW) });
    const writes = () => store.db.get<number[]>("SELECT total_changes()")?.[0];
    const before = writes();
    for (let n = 1; n <= 100; n++) keys.touch(key.id, NOW + n);
    keys.touch(key.id, NOW + 5);
    expect(writes()).toBe(before);
    expect(keys.get(key.id)?.lastUsedAt).toBe(NOW + 100);
    expect(command().get(key.id)?.lastUsedAt).toBeNull();
    keys.flush();
    expect(command().get(key.id)?.lastUsedAt).toBe(NOW + 100);
    const written = writes();
    keys.flush();
    expect(writes()).toBe(written);
  });

  test.each([
    ["never goes back", 50, 50],
    ["does go back to a clock that is right again", 500 * 86_400_000, 10],
  ])("%s", (_, first, shown) => {
    const { keys } = make();
    const { key } = created(keys);
    for (const at of [first, 10]) {
      keys.touch(key.id, NOW + at);
      keys.flush();
    }
    expect(keys.get(key.id)?.lastUsedAt).toBe(NOW + shown);
  });

  test("stays noted when it cannot be written", () => {
    const { keys, store } = make();
    const { key } = created(keys);
    keys.touch(key.id, NOW + 3);
    store.db.run("PRAGMA query_only = ON");
    expect(() => keys.flush()).toThrow(/cannot be written/);
    store.db.run("PRAGMA query_only = OFF");
    keys.flush();
    expect(store.db.get<number[]>("SELECT at FROM key_uses")).toEqual([NOW + 3]);
  });
});

test("the list is oldest first, and count counts the active", () => {
  const { keys, clock } = make();
  const names = ["z", "a", "m"].map((name) => {
    clock.time++;
    return created(keys, { name, expiresAt: name === "a" ? clock.time + 10 : null }).key.name;
  });
  expect(keys.list().map((key) => key.name)).toEqual(names);
  expect(keys.count()).toBe(3);
  clock.time += 10;
  expect(keys.count()).toBe(2);
  expect(keys.list().map((key) => key.state)).toEqual(["active", "expired", "active"]);
});

test("what another process does to a key holds for the next request", () => {
  const { keys, store, clock } = make();
  const { key, presented } = created(keys);
  const beside = open(store.directory, { mode: "cli" });
  const other = createKeys({ store: beside, clock });
  beside.state.db.run(`UPDATE api_keys SET daily_quota = 7 WHERE id = '${key.id}'`);
  expect(keys.verify(presented)).toMatchObject({ outcome: "valid", key: { dailyQuota: 7 } });
  const before = store.state.dataVersion();
  const late = created(other, { name: "late" });
  expect(store.state.dataVersion()).not.toBe(before);
  expect(keys.verify(late.presented).outcome).toBe("valid");
  other.revoke(key.id);
  expect(keys.verify(presented).outcome).toBe("revoked");
  keys.revoke(late.key.id);
  expect(keys.verify(late.presented).outcome).toBe("revoked");
  expect(other.verify(late.presented).outcome).toBe("revoked");
});
