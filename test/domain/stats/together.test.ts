import { expect, test } from "bun:test";
import fc from "fast-check";
import { eachSpan, sumOfSeries } from "../../../src/domain/stats/spans.ts";
import { randomPolls, seconds, seriesOf } from "./histories.ts";

test("several features as one agree with plain loops over every second", () => {
  const length = 3600;
  fc.assert(
    fc.property(fc.array(randomPolls(length, 60), { maxLength: 4 }), (features) => {
      const held = features.map((polls) => seconds(polls, length));
      const wanted = Array.from({ length }, (_, second) => {
        const known = held.flatMap((polls) => polls[second] ?? []);
        const unlimited = known.some((poll) => poll.unlimited);
        const limited = known.length > 0 && !unlimited && known.every((poll) => poll.total !== null);
        const sum = (values: readonly (number | null)[]) => values.reduce<number>((a, b) => a + (b ?? 0), 0);
        return [
          known.length > 0 ? sum(known.map(({ used }) => used)) : null,
          limited ? sum(known.map(({ total }) => total)) : null,
          unlimited,
        ];
      });
      const got: unknown[] = Array.from({ length }, () => [null, null, false]);
      const series = features.map((polls) => seriesOf(polls, 0, length * 1000));
      eachSpan(sumOfSeries(series, 0, length * 1000), (step, from, to) => {
        for (let at = from; at < to; at += 1000) got[at / 1000] = [step.used, step.total, step.unlimited];
      });
      expect(got).toEqual(wanted);
    }),
    { numRuns: 20 },
  );
});
