import { afterEach, expect, test } from "bun:test";
import { createBook } from "../../src/alerts/book.ts";
import { createAlerts } from "../../src/store/alerts.ts";
import { NOON } from "../domain/make.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

test("an alert that ends while its beginning is being stored is stored as ended, also when the beginning fails", async () => {
  const store = open(temporaryDirectory());
  const rows = createAlerts(store);
  const waiting: { work: () => void; done: PromiseWithResolvers<void> }[] = [];
  const book = createBook(
    {
      rows,
      commit(work) {
        const done = Promise.withResolvers<void>();
        waiting.push({ work, done });
        return done.promise;
      },
      outbox: { write() {}, send() {} },
      notesFor: (alert) => ({ alert, notes: [] }),
      log: recordingLog(),
    },
    NOON,
  );
  const subject = { rule: "server_down", server: "eda", daemon: null, feature: null, detail: null } as const;
  const finding = { severity: "critical", message: "eda is down", value: null, threshold: null } as const;
  book.fire(subject, finding, NOON);
  const first = book.commit();
  const [alert] = [...book.firing.values()];
  if (alert === undefined) throw new Error("nothing fires");
  book.resolve(alert, NOON + 60_000);
  const second = book.commit();
  const [begun, ended] = waiting;
  // A disk that is almost full takes the one and not the other.
  if (ended !== undefined) store.transaction(ended.work);
  ended?.done.resolve();
  begun?.done.reject(new Error("disk full"));
  await expect(first).rejects.toThrow("disk full");
  await second;
  const last = book.commit();
  for (const { work, done } of waiting.slice(2)) {
    store.transaction(work);
    done.resolve();
  }
  await last;
  expect(rows.firing()).toEqual([]);
  expect(rows.get(alert.id)).toMatchObject({ resolvedAt: NOON + 60_000 });
});
