import { afterEach, expect, test } from "bun:test";
import type { AlertMove, Evaluation } from "../../src/alerts/evaluator.ts";
import { THE_SERVER } from "../../src/alerts/rules.ts";
import { createAlertStore } from "../../src/alerts/store.ts";
import { UNWATCHED } from "../../src/alerts/watch.ts";
import { type AlertSubject, subjectKey } from "../../src/domain/alerts.ts";
import { createAlerts } from "../../src/store/alerts.ts";
import { NOON } from "../domain/make.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

const SUBJECT: AlertSubject = { ...THE_SERVER, rule: "server_down", server: "eda" };
const DOWN = { severity: "critical", message: "eda is down", value: null, threshold: null } as const;
const FIRED: AlertMove = { change: "fired", finding: DOWN, since: NOON };

function evaluation(at: number, alert: AlertMove): Evaluation {
  const watch = alert.change === "resolved" ? UNWATCHED : { level: 1, runs: [], until: null };
  const changes = new Map([[subjectKey(SUBJECT), { subject: SUBJECT, watch, alert }]]);
  return { at, changes, baselines: new Map([["eda", { totals: {}, unparsed: at }]]) };
}

/** An alert store whose transactions the test commits or fails. */
function createBench() {
  const database = open(temporaryDirectory());
  const rows = createAlerts(database);
  const waiting: { work: () => void; done: PromiseWithResolvers<void> }[] = [];
  const store = createAlertStore(
    {
      rows,
      commit(work) {
        const done = Promise.withResolvers<void>();
        waiting.push({ work, done });
        return done.promise;
      },
      outbox: { write() {}, send() {} },
      clock: { now: () => NOON },
      log: recordingLog(),
    },
    { onChange: (alert) => ({ alert, notes: [] }), onTime: (alert) => ({ alert, notes: [] }) },
    NOON,
  );
  return {
    rows,
    store,
    waiting,
    stand(index: number) {
      const { work, done } = waiting[index] ?? {};
      if (work !== undefined) database.state.write(work);
      done?.resolve();
    },
    fail: (index: number) => waiting[index]?.done.reject(new Error("disk full")),
  };
}

test("an alert that resolves while its start is being stored is stored as resolved, even if the first write fails", async () => {
  const { rows, store, waiting, stand, fail } = createBench();
  store.apply(evaluation(NOON, FIRED));
  const first = store.commit();
  const [alert] = store.state.firing.values();
  if (alert === undefined) throw new Error("nothing fires");
  store.apply(evaluation(NOON + 60_000, { change: "resolved", finding: null }));
  const second = store.commit();
  // The disk is almost full: the second, smaller write succeeds, and the first one fails.
  stand(1);
  fail(0);
  await expect(first).rejects.toThrow("disk full");
  await second;
  await store.commit();
  expect(waiting).toHaveLength(2);
  expect(rows.firing()).toEqual([]);
  expect(rows.get(alert.id)).toMatchObject({ resolvedAt: NOON + 60_000 });
  expect(rows.watches()).toEqual([]);
  expect(rows.baselines().get("eda")).toContain(`${NOON + 60_000}`);
});

test("failed writes are repeated with the next commit, in their newest version; running writes are not", async () => {
  const { rows, store, waiting, stand, fail } = createBench();
  store.apply(evaluation(NOON, FIRED));
  const first = store.commit();
  await store.commit();
  expect(waiting).toHaveLength(1);
  store.apply(
    evaluation(NOON + 60_000, { change: "raised", finding: { ...DOWN, message: "still" }, since: NOON }),
  );
  fail(0);
  await expect(first).rejects.toThrow("disk full");
  const second = store.commit();
  stand(1);
  await second;
  expect(rows.firing()).toMatchObject([{ startedAt: NOON, message: "still" }]);
  expect(rows.watches()).toHaveLength(1);
});
