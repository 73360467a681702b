import { expect, test } from "bun:test";
import type { LiveFeature } from "../../../src/cli/ask/output.ts";
import { afterKey, FIRST_VIEW, frame, shownFeatures, type View } from "../../../src/cli/ask/top.ts";
import { freeOf } from "../../../src/cli/ask/wait.ts";
import type { Site } from "../../../src/cli/client/watch-picture.ts";
import type { PictureServer } from "../../../src/domain/live-picture.ts";
import { type KeptServer, keptServer } from "../../../src/domain/polls/kept-picture.ts";
import { serverJson } from "../../../src/http/picture.ts";
import { feature, NOW, picture } from "../../http/make.ts";

const counts = (total: number, used: number, queued = 0) => ({
  total,
  used,
  available: total - used,
  queued,
  utilization: (100 * used) / total,
});
const EXPIRY = { expiresOn: "2026-03-02", expiresAt: NOW, permanent: false };
const EDA = picture("eda", {
  features: [
    feature("half", counts(10, 5)),
    feature("full", counts(4, 4, 2)),
    feature("idle", { ...counts(8, 0), expiry: EXPIRY }),
    feature("free", { total: null, used: 3, available: null, utilization: null, unlimited: true }),
    feature("evil\u001b[2J\n", { ...counts(2, 1), state: "stale" }),
  ],
});
const MANY = picture("big", {
  features: Array.from({ length: 100 }, (_, at) =>
    feature(`f${String(at).padStart(2, "0")}`, counts(100, at)),
  ),
});

const siteOf = (...pictures: ReturnType<typeof picture>[]): Site =>
  new Map<string, KeptServer>(
    pictures.map((one) => [one.server.id, keptServer(JSON.parse(serverJson(one, 1)) as PictureServer)]),
  );

/** Presses keys, separated by spaces, and returns the resulting view. */
function press(keys: string, site: Site, page = 10): View | "quit" {
  return keys
    .split(" ")
    .filter(Boolean)
    .reduce<View | "quit">(
      (view, key) => (view === "quit" ? view : afterKey(view, key, page, shownFeatures(site, view).length)),
      FIRST_VIEW,
    );
}

const EVIL = "evil\u001b[2J\n";
test.each([
  ["", `full half ${EVIL} idle free`],
  ["r", `free idle half ${EVIL} full`],
  ["n r", `idle half full free ${EVIL}`],
  ["n", `${EVIL} free full half idle`],
  ["f", `full ${EVIL} half idle free`],
  ["w", `full half idle free ${EVIL}`],
  ["e a a", "full"],
  ["a", `full half ${EVIL} free`],
  ["a a a", EVIL],
  ["/ A l \u007f L F \r", "half"],
  ["/ x \u001b", `full half ${EVIL} idle free`],
  ["/ q \r \u001b", `full half ${EVIL} idle free`],
])("keys %j show %j", (keys, names) => {
  const site = siteOf(EDA);
  const shown = shownFeatures(site, press(keys, site) as View).map(({ name }) => name);
  expect(shown.join(" ")).toBe(names);
});

test.each<[string, number | "quit"]>([
  ["\u001b[B \u001bOB", 2],
  ["\u001b[6~ \u001b[A", 9],
  ["\u001b[F \u001b[B", 90],
  ["\u001b[F \u001b[H", 0],
  ["\u001b[F u", 0],
  ["z \u001b[9~", 0],
  ["q", "quit"],
  ["/ q \u0003", "quit"],
])("keys %j scroll to %j", (keys, to) => {
  const view = press(keys, siteOf(MANY));
  expect(view === "quit" ? view : view.offset).toBe(to);
});

test.each([
  [80, 24],
  [40, 10],
  [200, 5],
  [10, 3],
])("a frame of %d × %d has all lines, without control characters", (columns, rows) => {
  const site = siteOf(EDA, MANY);
  const typing = press("/ e", site) as View;
  for (const view of [FIRST_VIEW, { ...FIRST_VIEW, offset: 99_999 }, typing]) {
    const size = { columns, rows };
    const shown = { site, features: shownFeatures(site, view), lost: null, now: NOW, size };
    const lines = frame(view, { ...shown, colour: true });
    expect(lines.length).toBe(rows);
    expect(lines.join("").replaceAll(/\u001b\[[0-9;]*m/g, "")).not.toMatch(/\p{Cc}/u);
    if (columns >= 80) for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
    expect(frame(view, { ...shown, lost: "connection refused", colour: false })[0]).toStartWith("licmond  ");
  }
});

test.each<[number, Partial<LiveFeature>[], number | null]>([
  [1, [{ available: 0 }], null],
  [1, [{ available: 1 }], 0],
  [2, [{ available: 1 }, { available: 3 }, { available: 2 }], 1],
  [1, [{ available: 5, state: "stale" }], null],
  [1, [{ available: null, state: "failed" }], null],
  [9, [{ available: null, unlimited: true }], 0],
  [1, [], null],
])("%d seats of %j", (count, features, which) => {
  const [base] = shownFeatures(siteOf(EDA), FIRST_VIEW);
  const all = features.map((change) => ({ ...(base as LiveFeature), ...change }));
  expect(freeOf(all, count)).toBe(which === null ? null : (all[which] as LiveFeature));
});
