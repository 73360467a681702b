import { afterEach, describe, expect, test } from "bun:test";
import {
  createDispatcher,
  FIRST_PAUSE_MS,
  LONGEST_PAUSE_MS,
  MAX_WAITING,
} from "../../../src/alerts/notify/dispatcher.ts";
import { DeliveryError, type Message, type Note } from "../../../src/alerts/notify/note.ts";
import { createTargets, type Target } from "../../../src/alerts/notify/targets.ts";
import type { Notification } from "../../../src/config/config.ts";
import { createNotifications } from "../../../src/store/notifications.ts";
import { cleanUp, open, temporaryDirectory } from "../../store/place.ts";
import { recordingLog } from "../../store/recording-log.ts";
import { AT, note, webhookTo } from "./notes.ts";

afterEach(cleanUp);

const GROUP_MS = 30_000;

const targets = (...names: string[]) =>
  createTargets(names.map((name) => webhookTo(`https://${name}.example/token-HUSH`)));
const one = (name: string): Target => targets(name)[0] ?? expect.unreachable();

/** A dispatcher over a real store with a manual clock; `answer` is the result of a delivery. */
function createRig(configured = targets("a", "b")) {
  const store = open(temporaryDirectory());
  const log = recordingLog();
  let timers: { at: number; run: () => void }[] = [];
  const rig = {
    now: AT,
    log,
    sent: [] as { name: string; message: Message }[],
    answer: async (_name: string): Promise<string | null> => null,
    queue: createNotifications(store, AT),
    dispatcher: null as unknown as ReturnType<typeof createDispatcher>,
    create() {
      timers = [];
      rig.dispatcher = createDispatcher({
        queue: rig.queue,
        senderOf:
          ({ name }) =>
          (message) => {
            rig.sent.push({ name, message });
            return rig.answer(name);
          },
        clock: { now: () => rig.now },
        timers: {
          after(ms, run) {
            const timer = { at: rig.now + ms, run };
            timers.push(timer);
            return () => {
              timers = timers.filter((each) => each !== timer);
            };
          },
        },
        log,
      });
      rig.dispatcher.configure(configured);
    },
    /** Stores and sends notes, as the engine does. */
    tell(target: Target, ...ids: number[]): Note[] {
      const notes = ids.map((id) => note(id, { target: target.id, at: rig.now }));
      store.transaction(() => rig.dispatcher.write(notes));
      rig.dispatcher.send(notes);
      return notes;
    },
    async pass(ms: number) {
      const end = rig.now + ms;
      for (;;) {
        const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        rig.now = Math.max(rig.now, next.at);
        timers = timers.filter((each) => each !== next);
        next.run();
        // Let the delivery finish and the next timer start.
        for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      }
      rig.now = end;
    },
    ids: () => rig.sent.splice(0).map(({ message }) => message.notes.map(({ id }) => id)),
    stored: () => rig.queue.load().map(({ id }) => id),
  };
  rig.create();
  return rig;
}

const refuse = (): Promise<never> => Promise.reject(new DeliveryError("It answered 500"));

test("a burst is one message per target", async () => {
  const rig = createRig();
  rig.tell(one("a"), 1, 2);
  await rig.pass(GROUP_MS - 1);
  rig.tell(one("a"), 3);
  rig.tell(one("b"), 4);
  expect(rig.sent).toEqual([]);
  await rig.pass(1);
  expect(rig.ids()).toEqual([[1, 2, 3]]);
  await rig.pass(GROUP_MS);
  expect(rig.ids()).toEqual([[4]]);
  expect(rig.stored()).toEqual([]);
  expect(rig.dispatcher.waiting()).toBe(0);
});

describe("a receiver that fails", () => {
  test("is retried with doubled pauses up to a maximum, while others are served", async () => {
    const rig = createRig();
    rig.answer = (name) => (name.includes("a.example") ? refuse() : Promise.resolve(null));
    rig.tell(one("a"), 1);
    rig.tell(one("b"), 2);
    const times: number[] = [];
    const start = rig.now;
    while (times.length < 12) {
      await rig.pass(1000);
      for (const { name } of rig.sent.splice(0)) if (name.includes("a.example")) times.push(rig.now - start);
    }
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(pauses).toEqual(
      Array.from({ length: 11 }, (_, n) => Math.min(FIRST_PAUSE_MS * 2 ** n, LONGEST_PAUSE_MS)),
    );
    expect(rig.stored()).toEqual([1]);
    rig.tell(one("a"), 3);
    rig.answer = async () => null;
    await rig.pass(LONGEST_PAUSE_MS);
    expect(rig.ids()).toEqual([[1, 3]]);
    const said = rig.log.lines.filter(({ level }) => level !== "debug").map(({ message }) => message);
    expect(said).toEqual(["Cannot deliver a notification; retrying", "Notifications are delivered again"]);
    expect(JSON.stringify(rig.log.lines)).not.toContain("HUSH");
  });

  test("may ask for a longer pause", async () => {
    const rig = createRig();
    rig.answer = () => Promise.reject(new DeliveryError("It answered 429", 60_000));
    rig.tell(one("a"), 1);
    await rig.pass(GROUP_MS);
    await rig.pass(59_999);
    expect(rig.ids()).toHaveLength(1);
    await rig.pass(1);
    expect(rig.ids()).toHaveLength(1);
  });

  test("is given up after days, with an error", async () => {
    const rig = createRig();
    rig.answer = refuse;
    rig.tell(one("a"), 1);
    await rig.pass(3 * 86_400_000 + LONGEST_PAUSE_MS + 60_000);
    expect([rig.stored(), rig.dispatcher.waiting()]).toEqual([[], 0]);
    expect(rig.log.lines.filter(({ level }) => level === "error")).toMatchObject([
      { message: "Dropped notifications that could not be delivered for days", fields: { count: 1 } },
    ]);
  });

  test("does not fill memory or disk: the oldest notes are dropped, and the next message counts them", async () => {
    const rig = createRig();
    rig.answer = refuse;
    const many = Array.from({ length: MAX_WAITING + 25 }, (_, index) => index + 1);
    rig.tell(one("a"), ...many);
    expect(rig.dispatcher.waiting()).toBe(MAX_WAITING);
    expect(rig.stored()).toEqual(many.slice(25));
    await rig.pass(GROUP_MS);
    rig.answer = async () => null;
    rig.sent.length = 0;
    await rig.pass(60_000);
    expect(rig.sent.map(({ message }) => message.dropped)).toEqual([25, ...Array(9).fill(0)]);
    expect(rig.sent.flatMap(({ message }) => message.notes.map(({ id }) => id))).toEqual(many.slice(25));
  });
});

describe("a restart", () => {
  test("delivers the remaining notes in order", async () => {
    const rig = createRig();
    rig.answer = refuse;
    rig.tell(one("a"), 1, 2);
    await rig.pass(GROUP_MS);
    await rig.dispatcher.stop();
    rig.sent.length = 0;
    rig.answer = async () => null;
    rig.create();
    await rig.pass(GROUP_MS);
    expect(rig.ids()).toEqual([[1, 2]]);
    rig.create();
    await rig.pass(GROUP_MS);
    expect(rig.ids()).toEqual([]);
  });

  test("drops notes without a target", async () => {
    const rig = createRig();
    rig.tell(one("a"), 1);
    rig.tell(one("b"), 2);
    rig.dispatcher.configure(targets("b"));
    expect(rig.stored()).toEqual([2]);
    await rig.pass(GROUP_MS);
    expect(rig.ids()).toEqual([[2]]);
  });

  test("sends notes that the store cannot save or delete", async () => {
    const rig = createRig();
    rig.dispatcher.send([note(9, { target: one("a").id })]);
    rig.queue.remove = () => {
      throw new Error("no space");
    };
    await rig.pass(GROUP_MS);
    expect(rig.ids()).toEqual([[9]]);
    expect(rig.log.lines.map(({ message }) => message)).toEqual([
      "Cannot remove delivered notifications from the queue",
    ]);
  });
});

test("ids of targets do not depend on their order, and reveal nothing", () => {
  const [a, b] = targets("a", "b");
  const [first, second] = targets("b", "a");
  expect([first?.id, second?.id]).toEqual([b?.id ?? "", a?.id ?? ""]);
  expect(a?.id).toMatch(/^[0-9a-f]{16}$/);
  expect(a?.name).toBe("webhook a.example (notifications[0])");
  // Same as in 0.1, so that an upgrade keeps queued notes.
  const identity = JSON.stringify(["webhook", "https://a.example/token-HUSH", "json", "warning", null]);
  expect(a?.id).toBe(new Bun.CryptoHasher("sha256").update(identity).digest("hex").slice(0, 16));
  // The filter is part of the identity, but the name and the file of the secret are not.
  const idOf = (change: Partial<Notification>) =>
    createTargets([webhookTo("https://a.example/token-HUSH", change)])[0]?.id;
  expect(idOf({ servers: ["eda"] })).not.toBe(a?.id);
  expect(idOf({ name: "on call", anonymize: true, groupMs: 0, secretFile: "/x" })).toBe(a?.id);
});
