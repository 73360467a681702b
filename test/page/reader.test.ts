import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Patch, PictureServer } from "../../src/domain/live-picture.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { patchJson, serverJson } from "../../src/http/picture.ts";
import { createReader } from "../../src/page/live/reader.ts";
import type { Site } from "../../src/page/model.ts";
import { checkout, feature, picture } from "../http/make.ts";

/**
 * Steps that occur in any order: polls whose event comes, is lost, or comes twice or late; a stream that
 * opens; answers.
 */
const STEP = fc.oneof(
  fc.record({
    poll: fc.constantFrom("eda", "cae"),
    used: fc.nat(3),
    event: fc.constantFrom("comes", "is lost", "comes twice", "comes late"),
  }),
  fc.constantFrom("the stream opens", "an answer comes", "an answer fails", "late events come"),
);

test("ends with the daemon's picture, whatever is lost, doubled or late", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 20 }), async (steps) => {
      const now = new Map<string, ServerPicture>(["eda", "cae"].map((id) => [id, picture(id)]));
      const numbers = new Map([...now.keys()].map((id) => [id, 1]));
      const asked: PromiseWithResolvers<readonly PictureServer[]>[] = [];
      const wholeOf = (ids: readonly string[] | null) =>
        [...now].flatMap(([id, one]) =>
          ids === null || ids.includes(id)
            ? [JSON.parse(serverJson(one, numbers.get(id) ?? 0)) as PictureServer]
            : [],
        );
      let shown: Site = new Map();
      const reader = createReader({
        async load(ids) {
          // The daemon reads its picture now and answers later.
          const whole = wholeOf(ids);
          const answer = Promise.withResolvers<readonly PictureServer[]>();
          asked.push(answer);
          await answer.promise;
          return whole;
        },
        changed: (site) => {
          shown = site;
        },
        failed: () => {},
      });
      const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
      const late: Patch[] = [];
      for (const step of steps) {
        if (step === "the stream opens") void reader.reload();
        else if (step === "an answer comes") asked.shift()?.resolve([]);
        else if (step === "an answer fails") asked.shift()?.reject(new Error("no"));
        else if (step === "late events come") reader.apply(late.splice(0));
        else {
          const before = now.get(step.poll) ?? picture(step.poll);
          const holders = ["ada", "bob", "cy"].slice(0, step.used).map((user) => checkout(user));
          const after = picture(step.poll, {
            features: [feature("solver", { used: step.used, checkouts: holders })],
          });
          const from = numbers.get(step.poll) ?? 0;
          now.set(step.poll, after);
          numbers.set(step.poll, from + 1);
          const head = `"server":"${step.poll}","from":${from},"to":${from + 1},"status":"up"`;
          const patch = JSON.parse(`{${head},${patchJson(before, after)}}`) as Patch;
          if (step.event === "comes late") late.push(patch);
          else if (step.event !== "is lost") reader.apply([patch]);
          if (step.event === "comes twice") reader.apply([patch]);
        }
        await turn();
      }
      // The stream is open and every request is answered.
      const done = reader.reload();
      for (let end = false; !end; ) {
        asked.shift()?.resolve([]);
        end = await Promise.race([done.then(() => true), turn().then(() => false)]);
      }
      expect([...shown.keys()]).toEqual(["eda", "cae"]);
      for (const whole of wholeOf(null)) {
        const mine = shown.get(whole.id);
        expect(mine?.snapshot).toBe(whole.snapshot);
        expect([...(mine?.rows.keys() ?? [])].sort()).toEqual(whole.rows.map(([key]) => key).sort());
        expect([...(mine?.features.values() ?? [])].map(({ used }) => used)).toEqual(
          whole.features.map((values) => values[4]),
        );
      }
    }),
    { numRuns: 200 },
  );
});

test("a reload requested while another one fails is made", async () => {
  const answers = [Promise.reject(new Error("no")), Promise.resolve([])];
  let shown: Site | null = null;
  const reader = createReader({
    load: () => answers.shift() ?? Promise.resolve([]),
    changed: (site) => {
      shown = site;
    },
    failed: () => {},
  });
  await Promise.all([reader.reload(), reader.reload()]);
  expect(shown).not.toBeNull();
});
