import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DOCS, expressionsOf, readDashboard } from "../docs/dashboard.ts";
import { parseText } from "../export/parse-text.ts";
import { type Daemon, until } from "./harness.ts";
import { lmstat, REFUSED } from "./lmstat.ts";
import { HAS_PROMETHEUS, type Prometheus, promtool, startPrometheus } from "./prometheus-server.ts";
import { createSite, NO_LIMITS, type Site, serverToml } from "./site.ts";

const HOSTILE = 'we"ird\\name{x="1"}';
const people = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ user: `ada${n}`, host: "ws01" }));
const FEATURES = {
  solver: { total: 4, holders: people(3) },
  mesher: { total: 10, holders: [] },
  [HOSTILE]: { total: 7, holders: people(2) },
};

const servers = (tool: string) =>
  `${NO_LIMITS}[collector]\ninterval = "5s"\n${serverToml("eda", tool, 'labels = { site = "muc" }')}`;

const pushing = (prometheus: Prometheus, more = "") => `[export.remote_write]
url = "${prometheus.url}/api/v1/write"
interval = "5s"
labels = { job = "pushed", instance = "here"${more} }
`;

interface FeatureRow {
  readonly name: string;
  readonly total: number;
  readonly used: number;
  readonly available: number;
  readonly utilization: number;
}

const features = (daemon: Daemon, key: string) =>
  until("the features are read", async () => {
    const { features: rows } = await daemon.json<{ features: FeatureRow[] }>("/api/licenses/features", key);
    return rows.length > 0 ? rows : undefined;
  });

const answered = (prometheus: Prometheus, query: string) =>
  until(query, async () => {
    const found = await prometheus.query(query);
    return found.length > 0 ? found : undefined;
  });

async function same(prometheus: Prometheus, job: string, rows: readonly FeatureRow[]): Promise<void> {
  const wanted = {
    [`license_feature_seats_issued{job="${job}"}`]: "total",
    [`license_feature_seats_used{job="${job}"}`]: "used",
    [`license_feature_seats_available{job="${job}"}`]: "available",
    [`round(100 * license_feature_utilization_ratio{job="${job}"}, 0.01)`]: "utilization",
  } as const;
  for (const [query, field] of Object.entries(wanted)) {
    const found = await prometheus.query(query);
    expect(Object.fromEntries(found.map((one) => [one.metric.feature, one.value]))).toEqual(
      Object.fromEntries(rows.map((row) => [row.name, row[field]])),
    );
  }
}

async function siteWithKey() {
  const site = await createSite();
  const tool = await site.tool("lmutil");
  await tool.says(lmstat(FEATURES));
  await site.configure(servers(tool.path));
  const key = await site.key("viewer");
  await Bun.write(join(site.folder, "licmond.key"), key);
  return { ...site, tool, key };
}

const scraping = (site: Pick<Site, "folder" | "port">) => `global:
  scrape_interval: 1s
rule_files: ["${join(DOCS, "prometheus/licmond.rules.yml")}"]
scrape_configs:
  - job_name: licmond
    authorization: { type: Bearer, credentials_file: "${join(site.folder, "licmond.key")}" }
    static_configs: [{ targets: ["127.0.0.1:${site.port}"] }]
`;

describe.skipIf(!HAS_PROMETHEUS)("with a real Prometheus", () => {
  test("promtool accepts the metrics, the example config and the rules", async () => {
    await using site = await siteWithKey();
    const { key } = site;
    await using daemon = await site.serve();
    await features(daemon, key);
    for (const accept of ["text/plain", "application/openmetrics-text"]) {
      const text = await (await daemon.get("/metrics", key, { headers: { accept } })).text();
      expect(parseText(text).size).toBeGreaterThan(30);
      // promtool of this version reads only the older format.
      if (accept === "text/plain")
        expect(await promtool(["check", "metrics"], site.folder, text)).toEqual({ exitCode: 0, output: "" });
    }
    const docs = join(DOCS, "prometheus");
    for (const args of [
      ["check", "config", "--syntax-only", "prometheus.yml"],
      ["check", "rules", "licmond.rules.yml"],
      ["test", "rules", "licmond.rules.test.yml", "licmond.expiry.test.yml"],
    ]) {
      const { exitCode, output } = await promtool(args, docs);
      expect([args, exitCode, output]).toEqual([args, 0, expect.stringContaining("SUCCESS")]);
    }
  });

  test("scraped and pushed figures equal the API's, and end when a server is down", async () => {
    await using site = await siteWithKey();
    const { key, tool } = site;
    await using prometheus = await startPrometheus(site.folder, scraping(site));
    await site.configure(servers(tool.path) + pushing(prometheus, ', site = "muc"'));
    await using daemon = await site.serve();
    const rows = await features(daemon, key);
    expect(rows.map(({ name }) => name)).toContain(HOSTILE);

    await answered(prometheus, 'license_feature_seats_used{job="licmond"}');
    await answered(prometheus, 'license_feature_seats_used{job="pushed", site="muc"}');
    await same(prometheus, "licmond", rows);
    await same(prometheus, "pushed", rows);
    const [status] = await prometheus.query('license_server_status{job="licmond", status="up"}');
    expect([status?.metric.server, status?.value]).toEqual(["eda", 1]);
    expect(await prometheus.query('up{job="licmond"}')).toMatchObject([{ value: 1 }]);
    const [build] = await prometheus.query('licmond_build_info{job="pushed"}');
    expect(build?.metric).toMatchObject({ instance: "here", version: expect.stringMatching(/^\d/) });

    // Every query of the dashboard is valid and returns a series, except for denials and queues. A rate needs two scrapes.
    const dashboard = expressionsOf(await readDashboard());
    await until("the queries find something", async () => {
      const found = await Promise.all(dashboard.map((expression) => prometheus.query(expression)));
      const empty = dashboard.filter((_, index) => found[index]?.length === 0);
      return empty.every((expression) => /denials|queued|expiry/.test(expression)) || undefined;
    });
    expect(dashboard.length).toBeGreaterThan(20);
    const rules = await (await fetch(`${prometheus.url}/api/v1/rules`)).text();
    expect(rules).toContain('"rules":[{');
    expect(rules).not.toMatch(/"lastError":"[^"]/);

    // The server goes down. Scraped and pushed metrics both lose its counts at once, and report its state.
    await tool.says(REFUSED, 1);
    await until(
      "the numbers end",
      async () => (await prometheus.query("license_feature_seats_used")).length === 0 || undefined,
    );
    const down = await prometheus.query('license_server_status{status="down"} == 1');
    expect(down.map(({ metric }) => metric.job).toSorted()).toEqual(["licmond", "pushed"]);
    const states = await prometheus.query('license_feature_state{state="stale"}');
    expect(states).toHaveLength(2 * Object.keys(FEATURES).length);
    expect(await daemon.stop()).toBe(0);
    expect(daemon.output()).not.toContain("could not be written");
  });
});
