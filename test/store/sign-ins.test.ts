import { afterEach, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { backUp } from "../../src/store/backup/back-up.ts";
import { restore } from "../../src/store/backup/restore.ts";
import { createKeys } from "../../src/store/keys.ts";
import type { Store } from "../../src/store/open/open.ts";
import { createSignIns } from "../../src/store/sign-ins.ts";
import { cleanUp, fixedClock, open, quickDirectory } from "./place.ts";
import { plainKey } from "./plain-key.ts";

afterEach(cleanUp);

const NOW = Date.parse("2026-03-02T12:00:00.000Z");
const HOUR = 3_600_000;

function on(store: Store, clock = fixedClock(NOW)) {
  const keys = createKeys({ store, clock });
  const signIns = createSignIns({ state: store.state, keyOf: keys.get, clock });
  const key = () => {
    const made = keys.create(plainKey());
    if (made.outcome !== "created") throw new Error(made.outcome);
    return made.key.id;
  };
  const signIn = (keyId: string, stay = false) =>
    signIns.create({ keyId, role: null, expiresAt: null }, stay, "Firefox 140 on Linux");
  return { store, clock, keys, signIns, key, signIn };
}

const bytesOf = (directory: string) =>
  Buffer.concat(readdirSync(directory).map((file) => readFileSync(join(directory, file))));

test("a sign-in is on the disk without its token, twice, and holds after a restart", () => {
  const directory = quickDirectory();
  const before = on(open(directory));
  const id = before.key();
  const { token } = before.signIn(id);
  const used = before.signIn(id);
  before.clock.advance(11 * HOUR);
  const over = before.signIn(id);
  for (const { signIn } of [used, over]) before.signIns.touch(signIn.id);
  before.signIns.end(over.signIn.id);
  before.signIns.flush();
  const secret = token.split(".")[1] ?? "";
  const hash = new Bun.CryptoHasher("sha256").update(secret).digest();
  const stored = bytesOf(directory);
  const copy = readFileSync(join(directory, "state.db.copy"));
  expect([stored.includes(secret), stored.includes(hash), copy.includes(hash)]).toEqual([false, true, true]);
  before.store.close();

  const { signIns } = on(open(directory), before.clock);
  before.clock.advance(HOUR);
  expect([token, used.token].map((each) => signIns.verify(each).outcome)).toEqual(["ended", "valid"]);
  expect(signIns.verify(`${used.token}x`).outcome).toBe("ended");
  expect(signIns.list()).toMatchObject([{ lastUsedAt: NOW + 11 * HOUR, expiresAt: NOW + 23 * HOUR }]);
});

test("ended sign-ins stay ended after a restart and after a restore of state.db", async () => {
  const directory = quickDirectory();
  const first = on(open(directory));
  const id = first.key();
  const [out, kept] = [first.signIn(id, true), first.signIn(id, true)];
  const file = join(quickDirectory(), "state.db");
  await backUp({ directory, file, only: "state" });
  first.signIns.end(out.signIn.id);
  first.store.close();
  const again = on(open(directory));
  const outcomes = ({ signIns }: typeof again) =>
    [out, kept].map(({ token }) => signIns.verify(token).outcome);
  expect(outcomes(again)).toEqual(["ended", "valid"]);
  again.store.close();
  // Copy the files: a connection of this process lingers until its statements are collected.
  const other = quickDirectory();
  Bun.spawnSync(["cp", "-r", `${directory}/.`, other]);
  await restore({ directory: other, file, now: NOW });
  expect(outcomes(on(open(other)))).toEqual(["ended", "ended"]);
});

test("a backup of everything has none of them", async () => {
  const directory = quickDirectory();
  const { store, key, signIn } = on(open(directory));
  const { token } = signIn(key());
  const file = join(quickDirectory(), "licmond.backup");
  await backUp({ directory, file });
  const hash = new Bun.CryptoHasher("sha256").update(token.split(".")[1] ?? "").digest();
  expect(readFileSync(file).includes(hash)).toBe(false);
  store.close();
});

test("a key has at most 1,000 sign-ins: the least recently used one ends", () => {
  const store = open(quickDirectory());
  const before = on(store);
  const id = before.key();
  const [first, second] = [before.signIn(id), before.signIn(id)];
  store.state.sqlite.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 998)
     INSERT INTO sign_ins SELECT 'many' || i, zeroblob(32), ?, NULL, 0, ?, ?, NULL, NULL FROM n`,
    [id, NOW, NOW + 1000],
  );
  const { signIns, signIn, clock } = on(store);
  clock.advance(1000);
  signIns.touch(first.signIn.id);
  signIn(id);
  expect(signIns.list()).toHaveLength(1000);
  expect([first, second].map(({ token }) => signIns.verify(token).outcome)).toEqual(["valid", "ended"]);
});
