import { afterEach, expect, test } from "bun:test";
import { interpretConfig } from "../../src/config/load.ts";
import { createFleet } from "../../src/daemon/fleet.ts";
import { buildInfo } from "../../src/system/build-info.ts";
import { cleanUp, fixedClock, open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const TARGET = '[[notifications]]\ntype = "webhook"\nurl = "https://hooks.example"\n';
const FLEET = '[fleet]\nsite = "muc"\nurl = "https://hub.example"\napi_key_file = "/run/key"\n';

const CASES: [what: string, toml: string, minutes: number, hubNotifies: boolean][] = [
  ["no fleet", TARGET, 60, false],
  ['notify = "site"', `${TARGET}${FLEET}`, 0, false],
  ["a hub that was not reached yet", `${TARGET}${FLEET}notify = "hub"`, 4, true],
  ["a hub that was not reached for five minutes", `${TARGET}${FLEET}notify = "hub"`, 5, false],
  ["nobody to tell here", `${FLEET}notify = "hub"`, 60, true],
];

test.each(CASES)("site or hub notifies about an alert: %s", async (_what, toml, minutes, hubNotifies) => {
  const read = interpretConfig(toml, null, {});
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const clock = fixedClock(Date.parse("2026-03-02T12:00:00Z"));
  const store = open(temporaryDirectory());
  const timers = { after: () => () => {} };
  const log = () => recordingLog();
  const fleet = createFleet({ store, config: () => read.config, clock, timers, log, build: buildInfo() });
  clock.time += minutes * MINUTE;
  expect(fleet.notifies(clock.time)).toBe(hubNotifies);
  await fleet.stop();
});
