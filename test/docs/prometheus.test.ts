import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DENIALS, FLEET, POLLS, PROCESS, SERVICE } from "../../src/export/meters.ts";
import { REMOTE_WRITE } from "../../src/export/remote-write/writer.ts";
import { FEATURE, SERVER } from "../../src/export/server-metrics.ts";
import { REQUESTS } from "../../src/http/request-counters.ts";
import { HUB, SITE } from "../../src/hub/metrics/exposition.ts";
import { DOCS, expressionsOf, readDashboard } from "./dashboard.ts";

const FAMILIES = [
  SERVER,
  FEATURE,
  DENIALS,
  POLLS,
  SERVICE,
  REQUESTS,
  FLEET,
  REMOTE_WRITE,
  PROCESS,
  SITE,
  HUB,
].flatMap((list) =>
  Object.values<{ readonly name: string; readonly type: string; readonly help: string }>(list),
);
const samplesOf = ({ name, type }: { readonly name: string; readonly type: string }) =>
  type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
const NAMES = new Set(FAMILIES.flatMap(samplesOf));
const read = (file: string) => Bun.file(join(DOCS, file)).text();

/** Returns the names of metrics in a text. Labels and functions do not have these prefixes. */
const asked = (text: string) =>
  new Set([...text.matchAll(/\b(?:license|licmond|process)_\w+/g)].map(([name]) => name));

describe("the families", () => {
  test("follow Prometheus's conventions, each once", () => {
    expect(new Set(FAMILIES.map(({ name }) => name)).size).toBe(FAMILIES.length);
    for (const { name, type, help } of FAMILIES) {
      expect(name).toMatch(/^(license|licmond|process)(_[a-z]+)+$/);
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
      expect(help).toMatch(/^[^"\\\n]+\.$/);
      expect(name).not.toMatch(/_(ms|milliseconds|percent|minutes|days|megabytes)(_|$)/);
    }
  });

  test("are exactly those of the documentation", async () => {
    const rows = [...(await read("prometheus.md")).matchAll(/^\| `(\w+)` \|/gm)].map(([, name = ""]) => name);
    expect(rows).toEqual(FAMILIES.map(({ name }) => name));
  });

  test("cover the rules", async () => {
    const rules = asked(await read("prometheus/licmond.rules.yml"));
    expect(rules.size).toBeGreaterThan(15);
    expect([...rules].filter((name) => !NAMES.has(name))).toEqual([]);
  });
});

describe("the dashboard", () => {
  test("uses existing metrics", async () => {
    const dashboard = await readDashboard();
    const names = asked(expressionsOf(dashboard).join("\n"));
    expect(names.size).toBeGreaterThan(15);
    expect([...names].filter((name) => !NAMES.has(name))).toEqual([]);
  });

  test("has no overlapping panels, and variables for its filters", async () => {
    const { panels, templating, uid, title } = await readDashboard();
    expect([uid, title].every((text) => text.length > 0)).toBe(true);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { title: name, gridPos, type, targets = [] } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      expect([name, targets.length > 0]).toEqual([name, type !== "row"]);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([name, taken.has(`${x},${y}`)]).toEqual([name, false]);
          taken.add(`${x},${y}`);
        }
      }
    }
    const used = [...JSON.stringify(panels).matchAll(/\$\{?([a-z]+)\}?/g)].map(([, name = ""]) => name);
    expect(new Set(used)).toEqual(new Set(templating.list.map(({ name }) => name)));
  });
});
