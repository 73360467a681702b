import { expect, test } from "bun:test";
import type { Daemon } from "./harness.ts";
import { connectStalled, type Stalled, sse, ws } from "./stalled.ts";
import { createStreamSite } from "./stream-site.ts";

async function open(port: number, request: string): Promise<Stalled> {
  const reader = await connectStalled(port, request);
  reader.resume();
  return reader;
}

async function refusal(daemon: Daemon, path: string, key: string) {
  const response = await daemon.get(path, key);
  const body: unknown = await response.json();
  return { status: response.status, retryAfter: response.headers.get("retry-after"), body };
}

const GOING_AWAY = `\x88\x1a\x03\xe9licmond is shutting down`;
const GOODBYE = ":licmond is shutting down\n\n";

test("2,000 streams is the limit, and all get a goodbye at shutdown, which needs no kill", async () => {
  await using site = await createStreamSite("streams_per_key = 5000\n");
  await using daemon = await site.serve();
  const key = await site.key("viewer");
  const readers: Stalled[] = [];
  while (readers.length < 2_000) {
    const more = Array.from({ length: 100 }, (_, index) =>
      open(site.port, index % 2 === 0 ? sse(key, "/stream/combined") : ws(key, "/ws/combined")),
    );
    readers.push(...(await Promise.all(more)));
  }
  expect(readers.filter((each) => !/^HTTP\/1\.1 (200|101) /.test(each.text()))).toEqual([]);
  for (const path of ["/stream/logs", "/stream/metrics", "/api/logs/stream"]) {
    expect(await refusal(daemon, path, key)).toMatchObject({
      status: 503,
      retryAfter: "5",
      body: { code: "SERVICE_UNAVAILABLE", error: "Service Unavailable" },
    });
  }
  expect((await open(site.port, ws(key))).text()).toStartWith("HTTP/1.1 503 ");

  // A daemon that does not end by itself is killed and has no exit code.
  expect(await daemon.stop()).toBe(0);
  await Promise.all(readers.map(({ closed }) => closed));
  const unsaid = readers.filter(
    (each) => !each.text().includes(GOODBYE) && !each.text().endsWith(GOING_AWAY),
  );
  expect(unsaid).toHaveLength(0);
  expect(readers.filter((each) => each.text().endsWith(GOING_AWAY))).toHaveLength(1_000);
});
