import { afterEach, expect, test } from "bun:test";
import { demoSite, makeDemoHistory } from "../../src/cli/demo/demo-site.ts";
import { coveredMs, NO_ROLLUP } from "../../src/domain/stats/rollup.ts";
import { hostZone } from "../../src/domain/time/zone.ts";
import type { KnownFeature } from "../../src/history/buckets.ts";
import { createReader } from "../../src/history/reader.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { createSite } from "../../src/simulator/site.ts";
import { denialPage } from "../../src/store/denial-queries.ts";
import { createDenialSources, createDenials } from "../../src/store/denials.ts";

import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

const NOW = Date.parse("2026-11-18T11:00:00Z");
const HOUR = 3_600_000;

async function make(directory: string, progress: (done: number) => boolean = () => true) {
  const options = { host: "127.0.0.1", port: 0, seed: 3, interval: "10s", history: 2, directory };
  return makeDemoHistory(demoSite(options, 0), 2, NOW, recordingLog(), progress);
}

test("two days of history match the simulated servers", async () => {
  const directory = temporaryDirectory();
  const told: number[] = [];
  expect(await make(directory, (done) => told.push(done) > 0)).toBe("made");
  expect(told).toEqual([...told].sort((a, b) => a - b));
  expect(told.at(-1)).toBeGreaterThan(0.99);

  const store = open(directory);
  const reader = createReader(store.sqlite, { now: NOW });
  const features = reader.features();
  const rollupOf = (feature: KnownFeature, start: number, end: number) =>
    reader.rollups([feature], start, end)[0] ?? NO_ROLLUP;
  expect(new Set(features.map(({ server }) => server))).toEqual(new Set(SERVERS.map(({ id }) => id)));
  const site = createSite({ seed: 3, zone: hostZone() });
  const at = NOW - 20 * HOUR;
  for (const feature of features) {
    const spec = SERVERS.find(({ id }) => id === feature.server);
    if (spec === undefined || spec.silentMinutes > 0) continue;
    const isIt = (one: { daemon: string; name: string }) =>
      one.daemon === feature.daemon && one.name === feature.feature;
    const reading = site.reading(spec, at).features.find(isIt);
    const [step] = reader.series(feature, at, at + 1).steps;
    expect(step?.used ?? null).toBe(reading?.used ?? null);
    const covered = coveredMs(rollupOf(feature, NOW - 48 * HOUR, NOW));
    expect(covered).toBe(reading?.used === null || reading === undefined ? 0 : 48 * HOUR);
  }
  const [silent] = SERVERS.filter(({ silentMinutes }) => silentMinutes > 0);
  const [half] = reader.features({ servers: [silent?.id ?? ""] });
  if (half === undefined) throw new Error("no server is silent");
  const covered = coveredMs(rollupOf(half, NOW - 48 * HOUR, NOW));
  expect(covered).toBeGreaterThan(30 * HOUR);
  expect(covered).toBeLessThan(46 * HOUR);

  const denials = createDenials(store);
  const any = { daemons: null, features: null, users: null, hosts: null, start: null, end: null };
  const page = { sort: null, limit: null, offset: 0 };
  const denied = (server: string) => denialPage(denials, { servers: [server], ...any, ...page }).rows;
  const hourly = denied("eda").filter(({ user }) => user === "regress");
  expect(hourly.length).toBeGreaterThanOrEqual(46);
  for (const { attempts, outcome } of hourly) expect([attempts, outcome]).toEqual([3, "denied"]);
  const outcomes = new Set(denied("eda").map(({ outcome }) => outcome));
  expect(outcomes).toContain("queued");
  expect(outcomes).toContain("denied");
  const [media] = SERVERS.filter(({ manager }) => manager === "rlm");
  if (media === undefined) throw new Error("there is no server that counts denials");
  const counted = (instant: number) =>
    site.reading(media, instant).daemons.reduce((sum, { totals }) => sum + (totals?.denials ?? 0), 0);
  const counts = denied(media.id).reduce((sum, { count }) => sum + count, 0);
  expect(counts).toBe(counted(NOW) - counted(NOW - 48 * HOUR));
  expect(counts).toBeGreaterThan(0);
  const signoff = features.find(({ feature }) => feature === "Timing_Signoff");
  if (signoff === undefined) throw new Error("there is no denied feature");
  expect(rollupOf(signoff, NOW - 30 * HOUR, NOW - 6 * HOUR).denials).toBe(24);
  const states = createDenialSources(store);
  expect(SERVERS.filter(({ id }) => states.spans(id).length > 0).map(({ id }) => id)).toEqual(
    SERVERS.filter(({ debugLog, manager }) => debugLog || manager === "rlm").map(({ id }) => id),
  );

  const count = "SELECT count(*) AS n, count(ended_at) AS ended FROM sessions";
  const sessions = store.sqlite.query(count).get() as { n: number; ended: number };
  expect(sessions.ended).toBeGreaterThan(100);
  expect(sessions.n).toBeGreaterThan(sessions.ended);
});

test("existing history is kept, and an interrupted run releases the directory", async () => {
  const directory = temporaryDirectory();
  expect(await make(directory, () => false)).toBe("broken off");
  expect(await make(directory)).toBe("there already");
});
