import { describe, expect, test } from "bun:test";
import { uncompress } from "snappyjs";
import type { ServerPicture } from "../../../src/domain/picture.ts";
import { createSlices } from "../../../src/domain/time/slices.ts";
import { type Emit, gauge } from "../../../src/export/family.ts";
import type { Posted, WriteTarget } from "../../../src/export/remote-write/request.ts";
import {
  createWriter,
  LONGEST_PAUSE_MS,
  type WriterDeps,
  type WriterSettings,
} from "../../../src/export/remote-write/writer.ts";
import { createVirtualTime } from "../../collector/virtual-time.ts";
import { picture } from "../../http/make.ts";
import { recordingLog } from "../../store/recording-log.ts";
import { nameOf, type ReadSeries, readRequest } from "./read-request.ts";

const SETTINGS: WriterSettings = {
  url: "http://127.0.0.1/write",
  username: null,
  tokenFile: null,
  intervalMs: 10_000,
  labels: [["site", "muc"]],
};

/** Creates a writer of one gauge, whose value is the time in seconds, and a scripted receiver. */
function rig(more: Partial<WriterDeps> = {}) {
  const time = createVirtualTime();
  const start = time.clock.now();
  const answers: Posted[] = [];
  const got: { readonly target: WriteTarget; readonly series: ReadSeries[] }[] = [];
  const log = recordingLog();
  const logged = (level: string) =>
    log.lines.filter((line) => line.level === level).map(({ message, fields }) => [message, fields]);
  let servers: readonly ServerPicture[] = [];
  let usual: Posted = { outcome: "taken" };
  const ticks = gauge("ticks", "Ticks.");
  const writer = createWriter({
    snapshot: () => ({ version: 1, servers }),
    service: (emit: Emit) => emit(ticks, [], (time.clock.now() - start) / 1000),
    post: (target, body) => {
      const answer = answers.shift() ?? usual;
      got.push({ target, series: readRequest(uncompress(body)) });
      return Promise.resolve(answer);
    },
    clock: time.clock,
    timers: time.timers,
    random: () => 1,
    log,
    inSlices: createSlices(() => 0),
    ...more,
  });
  const metric = (name: string, outcome?: string): number | undefined => {
    const found: number[] = [];
    writer.emit((family, labels, value) => {
      if (family.name === `licmond_remote_write_${name}` && labels[0]?.[1] === outcome) found.push(value);
    });
    return found[0];
  };
  return {
    time,
    writer,
    answers,
    got,
    logged,
    metric,
    start,
    show(...next: ServerPicture[]) {
      servers = next;
    },
    answerWith(answer: Posted) {
      usual = answer;
    },
    ticks: () =>
      got.flatMap(({ series }) =>
        series.flatMap((one) => (nameOf(one).startsWith("ticks") ? one.value : [])),
      ),
  };
}

const FAILED: Extract<Posted, { outcome: "failed" }> = {
  outcome: "failed",
  why: "It answered 503",
  retryAfterMs: null,
};
const REFUSED: Posted = { outcome: "refused", status: 400, why: "It answered 400: no" };

describe("the writer", () => {
  test("writes at once and then at each interval, with external labels", async () => {
    const at = rig();
    at.writer.configure(SETTINGS);
    await at.time.pass(25_000);
    expect(at.ticks()).toEqual([0, 10, 20]);
    const times = at.got.map(({ series }) => (series[0]?.timestamp ?? 0) - at.start);
    expect(times).toEqual([0, 10_000, 20_000]);
    expect(at.got[0]?.series.map(nameOf)).toEqual(["ticks{site=muc}"]);
    expect(at.metric("samples_total", "sent")).toBe(3);
    await at.writer.stop();
    await at.time.pass(60_000);
    expect(at.got).toHaveLength(3);
  });

  test("ends the series of a server that is down, once", async () => {
    const at = rig();
    const up = picture("eda");
    const stale = up.features.map((feature) => ({ ...feature, state: "stale" as const }));
    at.show(up);
    at.writer.configure(SETTINGS);
    await at.time.pass(5_000);
    at.show({ ...up, state: "stale", status: "down", features: stale });
    await at.time.pass(20_000);
    const seats = "license_feature_seats_used{daemon=acmed,feature=solver,server=eda,site=muc}";
    const seen = at.got.map(({ series }) => series.find((one) => nameOf(one) === seats)?.value);
    expect(seen).toEqual([1, Number.NaN, undefined]);
    const down = "license_server_status{server=eda,site=muc,status=down}";
    expect(at.got.map(({ series }) => series.find((one) => nameOf(one) === down)?.value)).toEqual([0, 1, 1]);
    // Each write has a series only once, either with a number or as ended.
    for (const { series } of at.got) expect(new Set(series.map(nameOf)).size).toBe(series.length);
    at.show(up);
    await at.time.pass(10_000);
    expect(at.got.at(-1)?.series.find((one) => nameOf(one) === seats)?.value).toBe(1);
  });

  test("sorts labels around the name, and a series' own label beats an external one", async () => {
    const at = rig();
    at.show(picture("eda"));
    const outer = { zone: "1", server: "outer", Site: "muc", empty: "" };
    at.writer.configure({ ...SETTINGS, labels: Object.entries(outer) });
    await at.time.pass(1_000);
    const series = at.got.flatMap((one) => one.series);
    for (const one of series) {
      const names = one.labels.map(([name]) => name);
      expect(names).toEqual([...new Set(names)].toSorted((a, b) => (a < b ? -1 : 1)));
      expect([names[0], names[1]]).toEqual(["Site", "__name__"]);
      expect(names).not.toContain("empty");
    }
    const seats = series.find((one) => nameOf(one).startsWith("license_feature_seats_used{"));
    expect(Object.fromEntries(seats?.labels ?? [])).toMatchObject({ server: "eda", zone: "1", Site: "muc" });
  });

  test("ends series with previous external labels", async () => {
    const at = rig();
    at.writer.configure(SETTINGS);
    await at.time.pass(5_000);
    at.writer.configure({ ...SETTINGS, labels: [["site", "ber"]] });
    await at.time.pass(10_000);
    expect(at.got[1]?.series.map((one) => [nameOf(one), one.value])).toEqual([
      ["ticks{site=ber}", 10],
      ["ticks{site=muc}", Number.NaN],
    ]);
  });

  test("queues samples that fail and sends them later, in order and once, with growing pauses", async () => {
    const at = rig();
    at.writer.configure(SETTINGS);
    await at.time.pass(5_000);
    at.answerWith(FAILED);
    await at.time.pass(60_000);
    const tries = at.got.length - 1;
    // The retries come 1, 2, 4, 8, 16 and 32 s after the first failure.
    expect(tries).toBe(6);
    expect(at.metric("failures_total")).toBe(6);
    expect(at.metric("pending_samples")).toBe(6);
    at.got.length = 1;
    at.answerWith({ outcome: "taken" });
    await at.time.pass(LONGEST_PAUSE_MS);
    expect(at.ticks()).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120]);
    expect(at.metric("pending_bytes")).toBe(0);
    const fields = { error: "It answered 503", failures: 1, waiting: 1 };
    expect(at.logged("warn")).toEqual([["Cannot write metrics; retrying", fields]]);
    expect(at.logged("info")).toEqual([["Writing metrics again", expect.anything()]]);
  });

  test("waits as long as the receiver asks", async () => {
    const at = rig();
    at.answers.push({ ...FAILED, retryAfterMs: 45_000 });
    at.writer.configure(SETTINGS);
    await at.time.pass(44_000);
    expect(at.got).toHaveLength(1);
    await at.time.pass(2_000);
    expect(at.got.length).toBeGreaterThan(1);
  });

  test("drops refused samples, logs that once, and continues", async () => {
    const at = rig();
    at.answers.push(REFUSED, REFUSED);
    at.writer.configure(SETTINGS);
    await at.time.pass(35_000);
    expect(at.metric("samples_total", "refused")).toBe(2);
    expect(at.metric("samples_total", "sent")).toBe(2);
    const fields = { error: "It answered 400: no", count: 1 };
    expect(at.logged("error")).toEqual([["The receiver rejects metrics; dropping them", fields]]);
  });

  test("limits its queue over a month without a receiver, and logs once that it drops samples", async () => {
    const at = rig({ maxWaitingBytes: 20_000 });
    at.answerWith(FAILED);
    at.writer.configure({ ...SETTINGS, intervalMs: 600_000 });
    let most = 0;
    for (let day = 0; day < 30; day++) {
      await at.time.pass(86_400_000);
      most = Math.max(most, at.metric("pending_bytes") ?? 0);
    }
    expect(most).toBeLessThanOrEqual(20_000);
    expect(most).toBeGreaterThan(0);
    const pending = at.metric("pending_samples") ?? 0;
    expect(at.metric("samples_total", "dropped")).toBe(30 * 144 + 1 - pending);
    expect(at.logged("error")).toHaveLength(1);
    at.got.length = 0;
    at.answerWith({ outcome: "taken" });
    await at.time.pass(LONGEST_PAUSE_MS);
    const told = at.ticks();
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    // The newest samples are kept, without a gap between them.
    expect(told.length).toBeGreaterThanOrEqual(pending);
    expect(new Set(told.map((value, index) => value - index * 600)).size).toBe(1);
  });

  test("uses a new target at once, and drops the queue for the previous one", async () => {
    const at = rig();
    at.answerWith(FAILED);
    at.writer.configure(SETTINGS);
    await at.time.pass(30_000);
    at.answerWith({ outcome: "taken" });
    at.got.length = 0;
    at.writer.configure({ ...SETTINGS, url: "http://127.0.0.2/write" });
    await at.time.pass(20_000);
    expect(new Set(at.got.map(({ target }) => target.url))).toEqual(new Set(["http://127.0.0.2/write"]));
    expect(at.ticks()).toEqual([40, 50]);
  });

  test("retries at once when the token may have changed", async () => {
    const at = rig();
    at.answerWith(FAILED);
    at.writer.configure(SETTINGS);
    await at.time.pass(20_000);
    at.got.length = 0;
    at.writer.configure({ ...SETTINGS, tokenFile: "/run/token" });
    await at.time.pass(0);
    expect(at.got.length).toBeGreaterThan(0);
  });

  test("splits samples into requests of 2,000", async () => {
    const at = rig();
    const [feature] = picture("eda").features;
    if (feature === undefined) throw new Error("no feature");
    const features = Array.from({ length: 500 }, (_, n) => ({ ...feature, name: `f${n}` }));
    at.show(picture("eda", { features }));
    at.writer.configure(SETTINGS);
    await at.time.pass(1_000);
    const lengths = at.got.map(({ series }) => series.length);
    expect(Math.max(...lengths)).toBe(2_000);
    expect(lengths.length).toBe(Math.ceil(lengths.reduce((a, b) => a + b, 0) / 2_000));
    expect(new Set(at.got.map(({ series }) => series[0]?.timestamp)).size).toBe(1);
  });
});
