import { afterEach, expect, test } from "bun:test";
import { createKeys } from "../../src/store/keys.ts";
import { cleanUp, later, linesOf, open, quickDirectory, spawnScript } from "./place.ts";
import { plainKey } from "./plain-key.ts";

afterEach(cleanUp);

/** Commits seen before the end, per round: the end comes while the writer is anywhere in the next one. */
const ROUNDS = [1, 2, 7, 23, 40];

test("kill -9 at any moment loses nothing that was committed", async () => {
  const directory = quickDirectory();
  const told: string[] = [];
  for (const commits of ROUNDS) {
    const writer = spawnScript("writer.ts", [directory]);
    later(() => writer.kill("SIGKILL"));
    let seen = 0;
    for await (const line of linesOf(writer.stdout)) {
      told.push(line);
      // Lines that are in the pipe already are read on: they too were told.
      if (++seen === commits) writer.kill("SIGKILL");
    }
    await writer.exited;
    expect(writer.signalCode).toBe("SIGKILL");
    expect(seen).toBeGreaterThanOrEqual(commits);

    const store = open(directory, { lockWaitMs: 0 });
    const keys = createKeys({ store, clock: { now: () => Date.now() } });
    expect(told.filter((key) => keys.verify(key).outcome !== "valid")).toEqual([]);
    // The one commit that may have stood when the word of it was lost.
    expect(keys.count() - told.length).toBeLessThanOrEqual(ROUNDS.length);
    expect(store.db.get<string[]>("PRAGMA integrity_check")).toEqual(["ok"]);
    store.close();
  }
}, 60_000);

test("a daemon and a command may write at the same time", async () => {
  const directory = quickDirectory();
  const store = open(directory);
  const keys = createKeys({ store, clock: { now: () => Date.now() } });
  const writer = spawnScript("writer.ts", [directory, "cli"]);
  later(() => writer.kill("SIGKILL"));
  const told: string[] = [];
  for await (const line of linesOf(writer.stdout)) {
    told.push(line);
    const name = `beside ${told.length}`;
    const made = keys.create(plainKey({ name }));
    if (made.outcome === "created") told.push(made.presented);
    if (told.length >= 60) break;
  }
  writer.kill("SIGKILL");
  await writer.exited;
  expect(told.length).toBeGreaterThanOrEqual(60);
  expect(told.filter((key) => keys.verify(key).outcome !== "valid")).toEqual([]);
});
