import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { cleanUp } from "../store/place.ts";
import { createRig, override } from "./rig.ts";

afterEach(cleanUp);

/**
 * A poll with some of ten seats in use, a failed poll, a partial poll, numbers that become stale, a
 * restart, or passing time.
 */
const anyStep = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("usage"), used: fc.integer({ min: 6, max: 10 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("down") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("partial") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("age", "restart") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pass"), minutes: fc.integer({ min: 1, max: 3 }) }) },
);

const anyHistory = fc.record({
  steps: fc.array(anyStep, { maxLength: 60 }),
  failures: fc.integer({ min: 1, max: 3 }),
  recoveries: fc.integer({ min: 1, max: 3 }),
});

type History = typeof anyHistory extends fc.Arbitrary<infer H> ? H : never;

function play({ steps, ...settings }: History) {
  const rig = createRig({ settings, overrides: [override({ feature: "*", settings })] });
  for (const step of steps) {
    if (step.kind === "usage") rig.usage(step.used);
    else if (step.kind === "partial") rig.partial(10);
    else if (step.kind === "pass") rig.pass(step.minutes);
    else rig[step.kind]();
  }
  return rig;
}

test("each alert has one row, one start and at most one end, and changes severity only in between", () => {
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
          if (change === "raised" && rule === "seats")
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
      const stored = rig.store.state.sqlite.query<{ id: number }, []>("SELECT id FROM alerts").all();
      expect(stored.map(({ id }) => id).sort()).toEqual([...open.keys(), ...over].sort());
      expect(rig.alerts.firing().map(({ id }) => id)).toEqual([...open.keys()].sort((a, b) => a - b));
      // Every note about a resolution follows an earlier note about the same alert.
      const begun = new Set<number>();
      for (const { kind, alert } of rig.notes()) {
        if (kind === "resolved") expect(begun.has(alert.id)).toBe(true);
        begun.add(alert.id);
      }
      rig.close();
    }),
    { numRuns: 60 },
  );
});

/** Computes the levels of `seats` with plain loops over the usable polls. */
function plainSeats(looks: readonly number[], recoveries: number): number[] {
  const levelOf = (used: number) => (used >= 9.5 ? 2 : used >= 8 ? 1 : 0);
  const told: number[] = [];
  looks.forEach((_, now) => {
    const levels = looks.slice(0, now + 1).map(levelOf);
    const before = told.at(-1) ?? 0;
    const proven = levels.at(-1) ?? 0;
    const recent = levels.length < recoveries ? before : Math.max(...levels.slice(-recoveries));
    told.push(proven > before ? proven : Math.min(before, recent));
  });
  return told;
}

test("`seats` agrees with plain loops, regardless of failures, partial polls, time and restarts", () => {
  fc.assert(
    fc.property(anyHistory, ({ steps, failures, recoveries }) => {
      const rig = play({ steps, failures, recoveries });
      const looks = steps.flatMap((step) => (step.kind === "usage" ? [step.used] : []));
      const expected = plainSeats(looks, recoveries);
      const level = { warning: 1, critical: 2, info: 0 };
      const changes = rig
        .events()
        .filter(({ rule }) => rule === "seats")
        .map(({ change, severity }) => (change === "resolved" ? 0 : level[severity]));
      expect(changes).toEqual(expected.filter((each, index) => each !== (expected[index - 1] ?? 0)));
      rig.close();
    }),
    { numRuns: 80 },
  );
});
