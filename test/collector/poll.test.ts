import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPoller, type PollerDeps } from "../../src/collector/poll.ts";
import type { MeasureReachability, MemberAddress } from "../../src/collector/reachability.ts";
import { type CommandRequest, createCommandRunner } from "../../src/collector/run-command.ts";
import type { PollErrorCode } from "../../src/domain/errors.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { server } from "./collector-site.ts";

const tools = join(import.meta.dir, "../fake-tools");
const path = `${tools}:/usr/bin:/bin`;
const runner = createCommandRunner({ path, home: "/nonexistent", graceMs: 100, quietMs: 100 });
const NOW = Date.UTC(2026, 0, 5, 12);

const BANNER = `lmstat - Copyright (c) 1989-2025 Flexera. All Rights Reserved.
Flexible License Manager status on Mon 1/5/2026 13:00

License server status: 27000@lic1
    License file(s) on lic1: /opt/lic/license.dat:

`;
const UP = `${BANNER}      lic1: license server UP (MASTER) v11.19.5

Vendor daemon status (on lic1):

   toolsd: UP v11.19.5
Feature usage info:

Users of router:  (Total of 4 licenses issued;  Total of 1 license in use)

  "router" v2026.0, vendor: toolsd, expiry: 31-dec-2026
  floating license

    ann ws1 /dev/pts/1 (v2026.0) (lic1/27000 101), start Mon 1/5 8:00

`;
const REFUSED = `${BANNER}Error getting status: Cannot connect to license server system. (-15,570:111 "Connection refused")\n`;
const EMBEDDED = `${BANNER}Error getting status: Cannot read data from license server system. (-16,287)\n`;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "licmond-poll-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Makes a server whose tool prints this text. The name of the file tells the fake tool how to end. */
function serverSaying(text: string, ending = "ok", more: Partial<MonitoredServer> = {}): MonitoredServer {
  const file = join(folder, `${ending}.txt`);
  writeFileSync(file, text);
  return server("a", { address: file, tool: [join(tools, "lmstat")], timeoutMs: 20_000, ...more });
}

function poller(more: Partial<PollerDeps> = {}) {
  const measure: MeasureReachability = async () => [];
  return createPoller({ run: runner.run, managerOf, measure, path, clock: { now: () => NOW }, ...more });
}

describe("a poll with a real tool and the real parser", () => {
  test("returns reading, raw output and times", async () => {
    const of = serverSaying(UP);
    const outcome = await poller().poll(of);
    expect(outcome.error).toBeNull();
    const argv = [join(tools, "lmstat"), "-a", "-i", "-c", of.address];
    expect(outcome).toMatchObject({ serverId: "a", startedAt: NOW });
    expect(outcome.raw).toMatchObject({ argv, exitCode: 0, signal: null, truncated: false });
    expect(outcome.finishedAt).toBe(NOW + outcome.durationMs);
    expect(new TextDecoder().decode(outcome.raw.stdout)).toBe(UP);
    const members = [{ host: "lic1", status: "up" }];
    expect(outcome.reading).toMatchObject({ cut: false, unparsedLines: 0, members });
    const [feature] = outcome.reading?.features ?? [];
    expect(feature).toMatchObject({ daemon: "toolsd", name: "router", total: 4, used: 1 });
    expect(feature?.checkouts).toMatchObject([
      { user: "ann", host: "ws1", startedAt: Date.UTC(2026, 0, 5, 8) },
    ]);
  });

  test.each<[string, string, string | null, object | null]>([
    ["exit-241", UP, null, { cut: false }],
    ["then-die", UP, null, { cut: true }],
    ["then-hang", UP, null, { cut: true }],
    ["then-hang-before-anything", "", "TIMEOUT", null],
    ["then-hang-after-the-banner", BANNER, "TIMEOUT", {}],
    ["exit-241-refused", REFUSED, "LICENSE_SERVER_UNREACHABLE", { features: [] }],
    ["exit-241-refused-on-stderr", REFUSED, "LICENSE_SERVER_UNREACHABLE", { features: [] }],
    ["exit-241-embedded-on-stderr", EMBEDDED, "LICENSE_QUERY_FAILED", { features: [] }],
    ["exit-241-garbage-on-stderr", "Segmentation violation\n", "LICENSE_QUERY_FAILED", null],
    ["numbers-on-stderr", UP, "LICENSE_PARSE_ERROR", null],
    ["exit-241-embedded", EMBEDDED, "LICENSE_QUERY_FAILED", { features: [] }],
    ["garbage", "<html>\0\xff</html>\n", "LICENSE_PARSE_ERROR", null],
    ["exit-241-garbage", "Segmentation violation\n", "LICENSE_QUERY_FAILED", null],
    ["empty", "", "LICENSE_PARSE_ERROR", null],
  ])("%s", async (ending, text, code, reading) => {
    const timeoutMs = ending.startsWith("then-hang") ? 200 : 3000;
    const outcome = await poller().poll(serverSaying(text, ending, { timeoutMs }));
    expect(outcome.error?.code ?? null).toBe(code as PollErrorCode | null);
    if (text === "") expect(outcome.error?.details).toBeNull();
    if (reading === null) expect(outcome.reading).toBeNull();
    else expect(outcome.reading).toMatchObject(reading);
  });

  test("details quote the tool, the message explains", async () => {
    const { error } = await poller().poll(serverSaying(EMBEDDED));
    expect(error?.details).toContain("Cannot read data from license server system. (-16,287)");
    expect(error?.message).toContain("sent no data (-16,287)");
  });

  test("output above the size limit is an error without a reading", async () => {
    const text =
      UP + `    ${"ann ws1 /dev/pts/1 (v2026.0) (lic1/27000 101), start Mon 1/5 8:00\n"}`.repeat(250_000);
    const outcome = await poller().poll(serverSaying(text));
    expect(outcome.reading).toBeNull();
    expect(outcome.error).toMatchObject({ code: "LICENSE_QUERY_FAILED" });
    expect(outcome.error?.message).toStartWith("lmstat printed more than 16 MiB and was killed;");
    expect(outcome.raw.truncated).toBe(true);
    expect(new TextDecoder().decode(outcome.raw.stdout)).toBe(text.slice(0, 2 ** 20));
    expect(outcome.raw.stdout.buffer.byteLength).toBe(2 ** 20);
  });

  test("an abort signal ends it", async () => {
    const outcome = await poller().poll(
      serverSaying("", "then-hang", { timeoutMs: 10_000 }),
      AbortSignal.timeout(50),
    );
    expect(outcome.error?.code).toBe("LICENSE_QUERY_FAILED");
  });

  test("explains why a tool cannot start", async () => {
    const missing = await poller({ path: "/no/such" }).poll(server("a"));
    expect(missing).toMatchObject({ reading: null, raw: { exitCode: null } });
    expect(missing.error?.code).toBe("LICENSE_QUERY_FAILED");
    expect(missing.error?.details).toContain("`lmutil`");
    const broken = await poller().poll(server("a", { tool: [join(tools, "no-interpreter")] }));
    expect(broken.error?.details).toContain("/no/such/interpreter");
    const query = ["lmstat", "-a", "-i", "-c", "27000@lic1"];
    expect(broken.raw.argv).toEqual([join(tools, "no-interpreter"), ...query]);
  });

  test("finds the manager's tool in $PATH, and runs nothing for an invalid address", async () => {
    const asked: CommandRequest[] = [];
    const run: PollerDeps["run"] = (request) => {
      asked.push(request);
      return runner.run(request);
    };
    const found = await poller({ run }).poll(
      serverSaying(UP, "ok", { tool: null, timezone: "Europe/Berlin" }),
    );
    expect(found.error).toBeNull();
    expect(asked[0]?.argv[0]).toBe(join(tools, "lmstat"));
    expect(asked[0]?.env).toMatchObject({ TZ: "Europe/Berlin" });
    const wrong = await poller({ run }).poll(server("a", { address: "-x $(reboot)" }));
    expect(wrong.error).toMatchObject({ code: "LICENSE_QUERY_FAILED" });
    expect(wrong.error?.message).toStartWith("Invalid address");
    expect(asked.length).toBe(1);
  });
});

describe("reachability", () => {
  function recorder() {
    const asked: (readonly MemberAddress[])[] = [];
    const measure: MeasureReachability = async (members) => {
      asked.push(members.map(({ host, port }) => ({ host, port })));
      const measured = { addresses: [], reachable: true, connectMs: 1, error: null };
      return members.map((member) => ({ ...member, ...measured }));
    };
    return { asked, measure };
  }

  test("is measured for the members of the address", async () => {
    const { asked, measure } = recorder();
    const of = server("a", { address: "27000@lic1,27001@lic2,27002@lic3", tool: [join(tools, "exit-241")] });
    const outcome = await poller({ measure }).poll(of);
    const members = [0, 1, 2].map((index) => ({ host: `lic${index + 1}`, port: 27_000 + index }));
    expect(asked).toEqual([members]);
    expect(outcome.reachability.length).toBe(3);
  });

  test("is measured for the members that the last reading of a license file had", async () => {
    const { asked, measure } = recorder();
    const asking = poller({ measure });
    const lic1 = [{ host: "lic1", port: 27000 }];
    expect((await asking.poll(serverSaying(UP))).reachability).toMatchObject(lic1);
    expect((await asking.poll(serverSaying("", "empty"))).reachability).toMatchObject(lic1);
    asking.forget("a");
    expect((await asking.poll(serverSaying("", "empty"))).reachability).toEqual([]);
    expect(asked).toEqual([[], lic1, lic1, [], []]);
  });
});

test("learnt hosts are known in the next poll and after a restart", async () => {
  const seen: boolean[] = [];
  const kept: string[][] = [];
  const warnings: string[] = [];
  let fails = false;
  const hosts = {
    load: () => ["old1"],
    save: (_: string, list: readonly string[]) => {
      if (fails) throw new Error("disk full");
      kept.push([...list]);
    },
  };
  const asking = poller({
    hosts,
    log: { warn: (message) => void warnings.push(message) },
    managerOf: (name) => ({
      ...managerOf(name),
      createParser(context) {
        seen.push(context.knownHosts.has("WS1"));
        return managerOf(name).createParser(context);
      },
    }),
  });
  await asking.poll(serverSaying(UP));
  await asking.poll(serverSaying(UP));
  asking.forget("a");
  expect(kept).toEqual([["old1", "ws1"]]);
  fails = true;
  expect((await asking.poll(serverSaying(UP))).error).toBeNull();
  expect(warnings).toEqual(["known hosts could not be stored"]);
  // Only the head of a repeated output is parsed again.
  expect(seen).toEqual([false, false, true, false, false]);
});
