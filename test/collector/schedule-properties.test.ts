import { expect, test } from "bun:test";
import fc from "fast-check";
import { createSite, server, UNREACHABLE } from "./collector-site.ts";

const IDS = ["a", "b", "c", "d", "e", "f"];
const id = fc.constantFrom(...IDS);
const takesMs = fc.nat(30_000);

const event = fc.oneof(
  fc.record({ kind: fc.constant("pass"), ms: fc.nat(90_000) }),
  fc.record({ kind: fc.constant("poll"), id }),
  fc.record({ kind: fc.constant("rescan"), ids: fc.uniqueArray(id, { minLength: 1 }), ms: fc.nat(20_000) }),
  fc.record({ kind: fc.constant("behave"), id, takesMs, fails: fc.boolean(), breaks: fc.boolean() }),
  fc.record({
    kind: fc.constant("config"),
    servers: fc.uniqueArray(
      fc.record({
        id,
        enabled: fc.boolean(),
        address: fc.constantFrom("1@x", "1@y"),
        intervalMs: fc.constantFrom(5000, 60_000),
      }),
      { selector: (each) => each.id },
    ),
  }),
);

test("one poll per server at a time, a limited number in total, and no server starves", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.nat(5000),
      fc.array(event, { maxLength: 25 }),
      fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
      async (concurrency, abortTakesMs, events, random) => {
        const site = createSite(IDS, { concurrency, abortTakesMs, random: () => random.next().value ?? 0.5 });
        const { collector, time } = site;
        let servers = IDS.map((each) => server(each));
        const asked: Promise<unknown>[] = [];
        collector.start();
        for (const each of events) {
          if ("takesMs" in each) {
            site.behave(each.id, {
              takesMs: each.takesMs,
              error: each.fails ? UNREACHABLE : null,
              breaks: each.breaks,
            });
          } else if ("servers" in each) {
            servers = each.servers.map((more) => server(more.id, more));
            collector.setServers(servers);
          } else if ("ids" in each) {
            asked.push(collector.rescan(each.ids, each.ms).catch(String));
          } else if ("id" in each) {
            asked.push(collector.pollNow(each.id).catch(String));
          } else {
            await time.pass(each.ms);
          }
        }
        // Wait longer than the maximum back-off and all earlier polls together, so that each enabled server
        // is polled again.
        const before = site.polls.length;
        await time.pass(1_500_000);
        const again = new Set(site.polls.slice(before).map((poll) => poll.id));
        for (const each of servers) if (each.enabled) expect(again).toContain(each.id);
        await Promise.all(asked);

        const stopping = collector.stop();
        await time.pass(abortTakesMs);
        await stopping;
        expect(site.running()).toEqual([]);
        expect(site.most.atOnce).toBeLessThanOrEqual(concurrency);
        expect(site.most.ofOneServer).toBeLessThanOrEqual(1);
      },
    ),
    { numRuns: 60 },
  );
});
