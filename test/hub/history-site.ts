import { demoSite, makeDemoHistory } from "../../src/cli/demo/demo-site.ts";
import { outcomeOf } from "../../src/cli/parse.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import type { Audience } from "../../src/domain/words.ts";
import { recordFacts } from "../../src/fleet/recording.ts";
import { createDayPacker, DAY_QUERIES, type DayQueries } from "../../src/history/day-packer.ts";
import { createReader } from "../../src/history/reader.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { siteOver } from "../fleet/rig.ts";
import { createRig } from "../history/rig.ts";
import { historyPort } from "../http/history-port.ts";
import { bench } from "../http/make.ts";
import { openBoth, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";
import { until } from "../until.ts";

const INTERVAL_MS = 600_000;
const HOUR = 3_600_000;

interface SiteWanted {
  readonly name: string;
  readonly seed: number;
  readonly days: number;
  /** End of the history, epoch ms. */
  readonly end: number;
  readonly people?: Audience;
  readonly peopleKeyFile?: string | null;
  /** Whether the site has packed its days of sessions. */
  readonly packs?: boolean;
}

export type HistorySite = Awaited<ReturnType<typeof makeSite>>;

/**
 * Creates a site with its own API and some days of the demo's history. The pushes come from the site's
 * store.
 */
export async function makeSite(wanted: SiteWanted) {
  const { name, seed, days, end, people = "names", peopleKeyFile = null, packs = false } = wanted;
  const directory = temporaryDirectory();
  const demo = demoSite({ host: "127.0.0.1", port: 0, interval: "10m", directory, seed }, 0);
  // The site joins its fleet three hours before the end, so it sends the last hours as they happen.
  const joined = end - 3 * HOUR;
  await makeDemoHistory(demo, days, joined, recordingLog(), () => true);
  const servers = demo.config.servers.map(
    (server): MonitoredServer => ({ ...server, intervalMs: INTERVAL_MS }),
  );
  const rig = createRig(servers, directory);
  rig.clock.time = joined;
  recordFacts(rig.store, false);

  const both = openBoth(rig.store);
  const history = historyPort(() => createReader(both, { now: rig.clock.time }));
  const daemon = bench({ history }, { products: demo.config.products });

  const live: MonitoredServer[] = [...servers];
  async function poll(from: number, to: number): Promise<void> {
    for (let at = from; at <= to; at += INTERVAL_MS)
      for (const server of live) {
        const spec = SERVERS.find(({ id }) => id === server.id);
        if (spec === undefined) throw new Error(`There is no simulated server ${server.id}`);
        const reading = demo.site.reading(spec, at);
        const argv = server.tool ?? [];
        const of = [server, managerOf(server.manager), server.address, argv, new Uint8Array(0)] as const;
        await rig.poll(outcomeOf(...of, reading, at, 40));
      }
  }

  if (packs) {
    const ask = (kind: keyof DayQueries, asked: Parameters<DayQueries["held"]>[1]) =>
      DAY_QUERIES[kind](createReader(rig.store.sqlite, { now: asked.now }), asked);
    const step = createDayPacker({
      store: rig.store,
      query: ask as never,
      clock: rig.clock,
      intervals: () => Object.fromEntries(servers.map(({ id, intervalMs }) => [id, intervalMs])),
    });
    while (await step());
  }

  return {
    name,
    rig,
    daemon,
    /** Pushes the past, polls until the end, and waits until the hub has everything. */
    async pushTo(url: string, key: string): Promise<void> {
      const keyFile = `${temporaryDirectory()}/key`;
      await Bun.write(keyFile, `${key}\n`);
      const settings = { site: name, url, apiKeyFile: keyFile, people, peopleKeyFile };
      const actions = {
        acknowledge: async () => {},
        silence: async () => {},
        rescan: async () => [],
        execute: async () => ({ exitCode: 0, durationMs: 0 }),
      };
      const site = siteOver(rig, settings, actions, recordingLog(), 0);
      const told = (what: string) =>
        until(what, () => {
          const { state, waitingFacts, daysLeft } = site.status();
          return (state === "connected" && waitingFacts === 0 && daysLeft === 0) || undefined;
        });
      site.start();
      await told(`${name} has told its past`);
      await poll(joined + INTERVAL_MS, end);
      rig.clock.time = end;
      rig.history().packAll();
      const polled = performance.now();
      // Wait for a push that started after the last poll, because it has the final state.
      await until(`${name} has told everything`, () => {
        const { lastContactAt, waitingFacts } = site.status();
        return (waitingFacts === 0 && lastContactAt === end && performance.now() - polled > 300) || undefined;
      });
      await site.stop();
      daemon.now = end;
      daemon.show(...rig.live().snapshot().servers);
    },
  };
}
