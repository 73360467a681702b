import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { replayDisk } from "../../src/alerts/replay-disk.ts";
import { type LinesStep, replayUnparsed } from "../../src/alerts/replay-unparsed.ts";
import { createSettings } from "../../src/alerts/settings.ts";
import type { Severity } from "../../src/domain/alerts.ts";
import { diskRuns } from "../../src/store/history/disk-fill.ts";
import { createReader } from "../../src/store/history/reader.ts";
import { failedPoll, NOON, reading, server } from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, MINUTE, type Rig, SETTINGS } from "./rig.ts";

afterEach(cleanUp);

const HOUR = 60 * MINUTE;
/** Four of these are the time after which unknown lines are usual. */
const INTERVAL = 6 * HOUR;
const settingsOf = (own: { failures: number; recoveries: number }) =>
  createSettings({ ...SETTINGS, ...own, overrides: [] })(null, null, null);

/** Starts and ends of what the engine told of a rule, in the order of the starts. */
function toldOf(rig: Rig, rule: string) {
  const told = new Map<number, { severity: Severity; from: number; until: number | null }>();
  for (const event of rig.events()) {
    if (event.rule !== rule) continue;
    const from = Date.parse(event.startedAt);
    const before = told.get(event.alert);
    const severity = before?.severity === "critical" ? "critical" : event.severity;
    const until = event.change === "resolved" ? Date.parse(event.resolvedAt ?? "") : null;
    told.set(event.alert, { severity, from, until });
  }
  return [...told.values()];
}

test("unknown lines: is what the engine made of the same polls", () => {
  let fired = 0;
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          lines: fc.oneof(
            { weight: 8, arbitrary: fc.constantFrom(0, 3, 5, 9) },
            { weight: 1, arbitrary: fc.constant(null) },
          ),
          times: fc.constantFrom(1, 2, 5),
        }),
        { maxLength: 16 },
      ),
      fc.record({ failures: fc.integer({ min: 1, max: 3 }), recoveries: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ first: fc.nat(40), count: fc.nat(6) }),
      (runs, own, quiet) => {
        const polls = runs.flatMap(({ lines, times }) => Array.from({ length: times }, () => lines));
        const timeOf = (index: number) => NOON + (index + 1) * INTERVAL;
        const window = { startAt: timeOf(quiet.first), durationMs: quiet.count * INTERVAL };
        const rig = createRig({ settings: own, maintenance: [{ servers: ["*"], every: null, ...window }] }, [
          server({ intervalMs: INTERVAL }),
        ]);
        const steps: LinesStep[] = [];
        polls.forEach((lines, index) => {
          rig.now = timeOf(index) - MINUTE;
          if (lines === null) rig.poll({ reading: null, error: failedPoll().error });
          else rig.poll({ reading: reading({ unparsedLines: lines }) });
          rig.pass(1);
          if (steps.at(-1)?.lines !== lines) steps.push({ at: timeOf(index), lines });
        });
        const replayed = replayUnparsed("eda", steps, timeOf(polls.length), {
          ...{ intervalMs: INTERVAL, settings: settingsOf(own) },
          inMaintenance: (at) => at >= window.startAt && at < window.startAt + window.durationMs,
        });
        // What everybody got used to ends when the engine looks at the clock next: a minute later.
        const hours = (time: number | null) => (time === null ? null : Math.floor((time - NOON) / HOUR));
        const shown = ({
          severity,
          from,
          until,
        }: {
          severity: Severity;
          from: number;
          until: number | null;
        }) => [severity, hours(from), hours(until)] as const;
        const told = toldOf(rig, "unparsed").map(shown);
        fired += told.length;
        expect(replayed.map(shown)).toEqual(told);
        rig.close();
      },
    ),
    { numRuns: 60 },
  );
  expect(fired).toBeGreaterThan(20);
}, 60_000);

test("unknown lines: alerts that are switched off are none", () => {
  const settings = createSettings({ ...SETTINGS, overrides: [] })("eda", null, null);
  const steps = [0, 9].map((lines, index) => ({ at: index * MINUTE, lines }));
  const options = { intervalMs: MINUTE, inMaintenance: () => false };
  expect(replayUnparsed("eda", steps, HOUR, { ...options, settings })).toHaveLength(1);
  const off = { ...settings, enabled: false };
  expect(replayUnparsed("eda", steps, HOUR, { ...options, settings: off })).toEqual([]);
  expect(replayDisk([{ from: 0, seen: HOUR, percent: 99 }], off)).toEqual([]);
});

test("the disk: is what the engine made of the same looks, over what it stored of them", async () => {
  let fired = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          {
            weight: 8,
            arbitrary: fc.record({
              percent: fc.constantFrom(40, 80.5, 89.99, 90, 94.6, 95, 99.4, null),
              minutes: fc.integer({ min: 1, max: 14 }),
            }),
          },
          { weight: 1, arbitrary: fc.constant("restart" as const) },
        ),
        { maxLength: 14 },
      ),
      fc.record({ failures: fc.integer({ min: 1, max: 3 }), recoveries: fc.integer({ min: 1, max: 3 }) }),
      async (steps, own) => {
        const rig = createRig({ settings: own });
        for (const step of steps) {
          if (step === "restart") {
            await rig.engine.stop();
            rig.now += MINUTE;
            rig.restart();
          } else {
            rig.disk = step.percent;
            rig.pass(step.minutes);
          }
        }
        await rig.engine.stop();
        const runs = diskRuns(createReader(rig.store.sqlite, { now: rig.now }), rig.now + 1);
        const replayed = replayDisk(runs, settingsOf(own)).map(({ severity, from, until }) => ({
          ...{ severity, from, until },
        }));
        const told = toldOf(rig, "disk");
        fired += told.length;
        expect(replayed).toEqual(told);
        rig.close();
      },
    ),
    { numRuns: 60 },
  );
  expect(fired).toBeGreaterThan(20);
}, 60_000);
