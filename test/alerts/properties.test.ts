import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { cleanUp } from "../store/place.ts";
import { createRig } from "./rig.ts";

afterEach(cleanUp);

/** What may happen: a poll that sees so many of ten seats in use, one that fails or sees a part, time, a restart. */
const anyStep = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 6, max: 10 }).map((used) => ({ kind: "usage" as const, used })) },
  { weight: 3, arbitrary: fc.constant({ kind: "down" as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: "partial" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "age" as const }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 3 }).map((minutes) => ({ kind: "pass" as const, minutes })),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

const anyHistory = fc.record({
  steps: fc.array(anyStep, { maxLength: 60 }),
  failures: fc.integer({ min: 1, max: 3 }),
  recoveries: fc.integer({ min: 1, max: 3 }),
});

function play({
  steps,
  failures,
  recoveries,
}: {
  steps: readonly Step[];
  failures: number;
  recoveries: number;
}) {
  const settings = { failures, recoveries };
  const rig = createRig({
    settings,
    overrides: [{ ...{ server: null, daemon: null, feature: "*", forMs: null, enabled: true }, settings }],
  });
  for (const step of steps) {
    switch (step.kind) {
      case "usage":
        rig.usage(step.used);
        break;
      case "down":
        rig.down();
        break;
      case "partial":
        rig.partial(10);
        break;
      case "age":
        rig.age();
        break;
      case "pass":
        rig.pass(step.minutes);
        break;
      case "restart":
        rig.restart();
        break;
    }
  }
  return rig;
}

test("each firing has one start and at most one end, one row, and a change of severity only between them", () => {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const rig = play(history);
      const open = new Map<number, string>();
      const over = new Set<number>();
      const subjects = new Map<string, number>();
      for (const { alert, rule, feature, change, severity, state } of rig.events()) {
        const subject = `${rule} ${feature}`;
        expect(over.has(alert)).toBe(false);
        expect(state).toBe(change === "resolved" ? "resolved" : "firing");
        if (change === "fired") {
          expect([open.has(alert), subjects.has(subject)]).toEqual([false, false]);
          subjects.set(subject, alert);
          open.set(alert, severity);
        } else {
          expect(subjects.get(subject)).toBe(alert);
          const from = open.get(alert);
          if (change === "raised" && rule === "usage")
            expect([from, severity]).toEqual(["warning", "critical"]);
          if (change === "lowered") expect([from, severity]).toEqual(["critical", "warning"]);
          open.set(alert, severity);
          if (change === "resolved") {
            subjects.delete(subject);
            open.delete(alert);
            over.add(alert);
          }
        }
      }
      const stored = rig.store.sqlite.query<{ id: number }, []>("SELECT id FROM alerts").all();
      expect(stored.map(({ id }) => id).sort()).toEqual([...open.keys(), ...over].sort());
      expect(rig.alerts.firing().map(({ id }) => id)).toEqual([...open.keys()].sort((a, b) => a - b));
      // Told at most as often as it changed, and never of an end without its begin.
      const begun = new Set<number>();
      for (const { kind, alert } of rig.notes()) {
        if (kind === "resolved") expect(begun.has(alert.id)).toBe(true);
        begun.add(alert.id);
      }
      rig.close();
    }),
    { numRuns: 60 },
  );
}, 60_000);

/** Usage by plain loops over the whole history: severities told after each poll whose numbers can be believed. */
function plainUsage(looks: readonly number[], failures: number, recoveries: number): number[] {
  const levelOf = (used: number) => (used >= 9.5 ? 2 : used >= 8 ? 1 : 0);
  const told: number[] = [];
  looks.forEach((_, now) => {
    const levels = looks.slice(0, now + 1).map(levelOf);
    const before = told.at(-1) ?? 0;
    const proven = levels.length < failures ? 0 : Math.min(...levels.slice(-failures));
    const recent = levels.length < recoveries ? before : Math.max(...levels.slice(-recoveries));
    told.push(proven > before ? proven : Math.min(before, recent));
  });
  return told;
}

test("usage agrees with plain loops, whatever failures, parts, time and restarts lie between", () => {
  fc.assert(
    fc.property(anyHistory, ({ steps, failures, recoveries }) => {
      const rig = play({ steps, failures, recoveries });
      const looks = steps.flatMap((step) => (step.kind === "usage" ? [step.used] : []));
      const expected = plainUsage(looks, failures, recoveries);
      const level = { warning: 1, critical: 2, info: 0 };
      const changes = rig
        .events()
        .filter(({ rule }) => rule === "usage")
        .map(({ change, severity }) => (change === "resolved" ? 0 : level[severity]));
      expect(changes).toEqual(expected.filter((each, index) => each !== (expected[index - 1] ?? 0)));
      rig.close();
    }),
    { numRuns: 80 },
  );
}, 60_000);
