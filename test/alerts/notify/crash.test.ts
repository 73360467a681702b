import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { createNotifications } from "../../../src/store/notifications.ts";
import { cleanUp, later, linesOf, open, temporaryDirectory } from "../../store/place.ts";

afterEach(cleanUp);

/** Number of ids to read in each round before the process is killed. */
const ROUNDS = [3, 17, 31];

test("delivers committed notes at least once despite kill -9 at any moment", async () => {
  const directory = temporaryDirectory();
  const told = new Set<number>();
  let lateBy = 20;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { alerts } = (await request.json()) as { alerts: { notification: number }[] };
      await Bun.sleep(lateBy);
      for (const { notification } of alerts) told.add(notification);
      return new Response();
    },
  });
  later(() => void server.stop(true));
  const start = (count: number) => {
    const child = Bun.spawn({
      cmd: [
        process.execPath,
        join(import.meta.dir, "teller.ts"),
        directory,
        `http://127.0.0.1:${server.port}/`,
        String(count),
      ],

      stdout: "pipe",
      stderr: "inherit",
    });
    later(() => child.kill("SIGKILL"));
    return child;
  };

  const committed: number[] = [];
  for (const round of ROUNDS) {
    const child = start(1_000);
    let seen = 0;
    for await (const line of linesOf(child.stdout)) {
      committed.push(Number(line));
      if (++seen === round) child.kill("SIGKILL");
    }
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  }
  expect(new Set(committed).size).toBe(committed.length);

  lateBy = 0;
  const last = start(0);
  const deadline = Date.now() + 40_000;
  while (committed.some((id) => !told.has(id)) && Date.now() < deadline) await Bun.sleep(20);
  expect(committed.filter((id) => !told.has(id))).toEqual([]);
  // Wait until the delivered notes are removed.
  const store = open(directory, { mode: "cli" });
  while (createNotifications(store, 0).load().length > 0 && Date.now() < deadline) await Bun.sleep(20);
  expect(createNotifications(store, 0).load()).toEqual([]);
  last.kill("SIGKILL");
  await last.exited;
});
