import type { FleetSettings } from "../../src/config/config.ts";
import { anonymizer } from "../../src/daemon/fleet.ts";
import { ApiError } from "../../src/domain/errors.ts";
import type { PollOutcome } from "../../src/domain/poll.ts";
import type { CheckoutReading } from "../../src/domain/reading.ts";
import { systemTimers, type Timers } from "../../src/domain/time/clock.ts";
import type { Actions } from "../../src/fleet/commands.ts";
import { recordFacts } from "../../src/fleet/recording.ts";
import { createSite } from "../../src/fleet/site.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";
import { until } from "../until.ts";
import type { FakeHub } from "./fake-hub.ts";

/** Shortens all pauses by a factor of 200. */
const quickTimers: Timers = { after: (ms, run) => systemTimers.after(ms / 200, run) };

/** Creates a site over a rig's store. */
export function siteOver(
  { store, clock, live }: ReturnType<typeof createRig>,
  settings: Partial<FleetSettings>,
  actions: Actions,
  log = recordingLog(),
  holdMs?: number,
) {
  return createSite({
    store,
    settings: {
      ...{ site: "muc", url: "", apiKeyFile: "", caFile: null, certFile: null, certKeyFile: null },
      ...{ people: "names", peopleKeyFile: null, allow: [], notify: "site", labels: {}, logs: false },
      ...{ bytesPerSecond: 1e9, outboxBytes: 256e6, formerly: null },
      ...settings,
    },
    snapshot: () => live().snapshot(),
    version: "0.0.0",
    timezone: "UTC",
    anonymizer,
    actions,
    clock,
    timers: quickTimers,
    ...(holdMs !== undefined && { holdMs }),
    log: () => log,
  });
}

export type SiteRig = Awaited<ReturnType<typeof createSiteRig>>;

export const checkouts = (users: readonly string[]): CheckoutReading[] =>
  users.map((user, at) => a.checkout({ user, handle: String(100 + at), startedAt: null }));

/** Creates a site whose polls come from the test, and connects it to a hub. */
export async function createSiteRig(
  hub: FakeHub,
  change: Partial<FleetSettings> = {},
  directory = temporaryDirectory(),
) {
  const rig = createRig([a.server()], directory);
  const log = recordingLog();
  const done: string[] = [];
  const keyFile = `${temporaryDirectory()}/key`;
  await Bun.write(keyFile, "lmk_test\n");
  const note =
    (what: string) =>
    async (command: { readonly id: string }): Promise<void> =>
      void done.push(`${what} ${command.id}`);
  const actions: Actions = {
    acknowledge: note("acknowledge"),
    silence: note("silence"),
    async rescan(command) {
      await note("rescan")(command);
      throw new ApiError("TIMEOUT", "It took too long.");
    },
    async execute(command) {
      await note("execute")(command);
      return { exitCode: 0, durationMs: 5 };
    },
  };
  const make = (more: Partial<FleetSettings>) =>
    siteOver(
      rig,
      { url: hub.url, apiKeyFile: keyFile, allow: ["rescan", "acknowledge"], ...more },
      actions,
      log,
    );
  recordFacts(rig.store, false);
  let site = make(change);
  site.start();
  let at = a.NOON;
  return {
    rig,
    log,
    get site() {
      return site;
    },
    done,
    /** Applies a poll with these users, one minute after the later of the last poll and the clock. */
    async poll(users: readonly string[], more: Partial<PollOutcome> = {}) {
      at = Math.max(at, rig.clock.time) + 60_000;
      const features = [a.feature({ used: users.length, checkouts: checkouts(users) })];
      await rig.poll(a.outcome({ reading: a.reading({ features }), ...more, finishedAt: at }));
    },
    /** Waits until the hub has all facts and all days. */
    async told() {
      await until("the hub has everything", () => {
        const { state, waitingFacts, daysLeft } = site.status();
        const { head } = rig.store.read(
          () =>
            rig.store.sqlite
              .query<{ head: number }, []>("SELECT ifnull(max(seq), 0) AS head FROM fleet_outbox")
              .get() ?? { head: 0 },
        );
        const isTold = state === "connected" && waitingFacts === 0 && daysLeft === 0;
        return isTold && hub.latest().cursor >= head ? true : undefined;
      });
    },
    /** Stops without a farewell, as `kill -9` would, and starts another process on the same store. */
    async restart(more: Partial<FleetSettings> = {}) {
      await site.stop();
      rig.restart();
      site = make({ ...change, ...more });
      site.start();
    },
    [Symbol.asyncDispose]: () => site.stop(),
  };
}
