import { describe, expect, test } from "bun:test";
import type { EventInput } from "../../src/domain/events.ts";
import { BUSY_RETRY_MS, createBus, createIds, GROUP_COMMIT_MS, type Published } from "../../src/live/bus.ts";

const T = Date.parse("2026-03-02T12:00:00.000Z");

const line = (message: string): EventInput => {
  return { type: "log", level: "info", message, source: "system", metadata: {} };
};

/** A bus over a store in memory that fails while `full` is set, with a manual timer. */
function rig() {
  const rows: number[] = [];
  const holes: [number, number][] = [];
  const told: Published[] = [];
  const states: string[] = [];
  let pending: (() => void) | null = null;
  const store = { full: false, busy: false, isPatient: true, transactions: 0 };
  const bus = createBus({
    ids: createIds({ clock: { now: () => T }, start: 0, reserve: () => {}, onAhead: () => {} }),
    timers: {
      after: (ms, work) => {
        expect(ms).toBe(store.busy && store.transactions > 0 ? BUSY_RETRY_MS : GROUP_COMMIT_MS);
        pending = work;
        return () => {
          pending = null;
        };
      },
    },
    sink: {
      transaction(work) {
        store.transactions++;
        if (store.busy) throw new Error("busy");
        if (store.full) throw new Error("database or disk is full");
        const [rowsBefore, holesBefore] = [rows.length, holes.length];
        try {
          work();
        } catch (error) {
          rows.length = rowsBefore;
          holes.length = holesBefore;
          throw error;
        }
      },
      insert: (id) => rows.push(id),
      insertHole: (from, to) => holes.push([from, to]),
    },
    isWorthWaiting: (error) => error instanceof Error && error.message === "busy" && store.isPatient,
    onStore: (state) => states.push(state),
  });
  bus.subscribe((batch) => told.push(...batch));
  return { bus, store, rows, holes, told, states, tick: () => pending?.() };
}

const ids = (list: readonly Published[]) => list.map(({ id }) => id);

describe("the bus", () => {
  test("publishes an event after its commit, and commits a group together", () => {
    const { bus, rows, told, store, tick } = rig();
    bus.emit(line("one"));
    bus.emit(line("two"));
    expect([rows, told]).toEqual([[], []]);
    tick();
    expect(rows).toEqual([T, T + 1]);
    expect(ids(told)).toEqual(rows);
    expect(store.transactions).toBe(1);
    expect(bus.lastPublished()).toBe(T + 1);
  });

  test("encodes the event with its id and time, on one line", () => {
    const { bus, told } = rig();
    bus.emit(line("a\nb"));
    bus.flush();
    const head = `{"type":"log","id":"log-${T}","timestamp":"2026-03-02T12:00:00.000Z",`;
    expect(told[0]?.json).toBe(`${head}"level":"info","message":"a\\nb","source":"system","metadata":{}}`);
  });

  test("keeps the order of logs, facts and samples", () => {
    const { bus, told, rows } = rig();
    bus.emit(line("one"));
    bus.sample({ type: "metrics", cpu: 1, memory: 2 });
    void bus.commit(() => {}, [line("two")]);
    bus.flush();
    expect(ids(told)).toEqual([T, T + 1, T + 2]);
    expect(told.map(({ event }) => event.type)).toEqual(["log", "metrics", "log"]);
    expect(rows).toEqual([T, T + 2]);
  });

  test("stores facts and their events together or not at all", async () => {
    const { bus, rows, told } = rig();
    const good = bus.commit(() => {}, [line("good")]);
    const bad = bus.commit(() => {
      throw new Error("constraint failed");
    }, [line("bad")]);
    bus.flush();
    await good;
    await expect(bad).rejects.toThrow("constraint failed");
    expect(rows).toEqual([T]);
    expect(told.map(({ stored }) => stored)).toEqual([true, false]);
  });

  test("publishes events about seats after their commit or not at all, without a hole", async () => {
    const { bus, store, rows, holes, told } = rig();
    const seat = (type: "checkout" | "denial"): EventInput => ({ type }) as EventInput;
    store.full = true;
    const fact = bus.commit(() => {}, [seat("checkout"), line("status"), seat("denial")]);
    bus.flush();
    await expect(fact).rejects.toThrow("full");
    expect(told.map(({ event, stored }) => [event.type, stored])).toEqual([["log", false]]);
    store.full = false;
    void bus.commit(() => {}, [seat("checkout")]);
    bus.flush();
    expect(told.map(({ event }) => event.type)).toEqual(["log", "checkout"]);
    expect(holes).toEqual([[T + 1, T + 1]]);
    expect(rows).toEqual([T + 3]);
  });

  test("delivers events despite a full disk, reports it once, and records the hole", () => {
    const { bus, store, rows, holes, told, states } = rig();
    const emit = (message: string) => {
      bus.emit(line(message));
      bus.flush();
    };
    emit("before");
    store.full = true;
    emit("lost 1");
    emit("lost 2");
    expect(bus.holes()).toEqual([{ from: T + 1, to: T + 2 }]);
    store.full = false;
    emit("after");
    expect(ids(told)).toEqual([T, T + 1, T + 2, T + 3]);
    expect(rows).toEqual([T, T + 3]);
    expect(holes).toEqual([[T + 1, T + 2]]);
    expect(bus.holes()).toEqual([]);
    expect(states).toEqual(["failing", "working"]);
  });

  test("does not take unstored events for a sign that the store works again", () => {
    const { bus, store, states, tick } = rig();
    const sample = () => {
      bus.sample({ type: "metrics", cpu: 1, memory: 1 });
      tick();
    };
    sample();
    store.full = true;
    bus.emit(line("lost"));
    tick();
    sample();
    bus.emit(line("lost too"));
    tick();
    expect(states).toEqual(["failing"]);
    store.full = false;
    sample();
    // Storing the sample also stores the hole.
    expect(states).toEqual(["failing", "working"]);
  });

  test("publishes nothing while the store is busy, then stores everything in order", async () => {
    const { bus, store, rows, told, states, tick } = rig();
    store.busy = true;
    bus.emit(line("one"));
    tick();
    const fact = bus.commit(() => {}, [line("two")]);
    tick();
    expect(told).toEqual([]);
    store.busy = false;
    tick();
    await fact;
    expect(rows).toEqual([T, T + 1]);
    expect(ids(told)).toEqual(rows);
    expect({ states, holes: bus.holes() }).toEqual({ states: [], holes: [] });
  });

  test("waits for a busy store for a while, then publishes without storing", async () => {
    const { bus, store, rows, told, states, tick } = rig();
    store.busy = true;
    const fact = bus.commit(() => {}, [line("one")]);
    tick();
    tick();
    expect(told).toEqual([]);
    store.isPatient = false;
    tick();
    await expect(fact).rejects.toThrow("busy");
    expect({ states, holes: bus.holes() }).toEqual({ states: ["failing"], holes: [{ from: T, to: T }] });
    store.busy = false;
    bus.emit(line("two"));
    bus.flush();
    expect({ rows, states }).toEqual({ rows: [T + 1], states: ["failing", "working"] });
  });

  test("does not wait if the caller needs it now", () => {
    const { bus, store, told } = rig();
    store.busy = true;
    bus.emit(line("one"));
    bus.flush();
    expect(told.map(({ stored }) => stored)).toEqual([false]);
  });

  test("publishes a listener's events later in the same flush", () => {
    const { bus, told } = rig();
    let once = true;
    bus.subscribe(() => {
      if (once) bus.emit(line("answer"));
      once = false;
    });
    bus.emit(line("question"));
    bus.flush();
    const texts = told.map(({ event }) => (event.type === "log" ? event.message : ""));
    expect(texts).toEqual(["question", "answer"]);
  });
});
