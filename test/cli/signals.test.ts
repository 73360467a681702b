import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { listenToSignals } from "../../src/cli/io.ts";

test("the first asks, the second insists, SIGHUP reloads, and then nobody listens", () => {
  const source = new EventEmitter();
  const seen: string[] = [];
  const quit = listenToSignals(
    {
      stop: (signal) => void seen.push(`stop ${signal}`),
      exitNow: (signal) => void seen.push(`exit ${signal}`),
      reload: () => void seen.push("reload"),
    },
    source,
  );
  for (const signal of ["SIGHUP", "SIGTERM", "SIGINT", "SIGHUP"]) source.emit(signal, signal);
  expect(seen).toEqual(["reload", "stop SIGTERM", "exit SIGINT", "reload"]);
  quit();
  expect(["SIGTERM", "SIGINT", "SIGHUP"].map((signal) => source.listenerCount(signal))).toEqual([0, 0, 0]);
});
