import { describe, expect, test } from "bun:test";
import type { Reading } from "../../../src/domain/reading.ts";
import { lmx } from "../../../src/managers/lmx/index.ts";
import { createLmxParser } from "../../../src/managers/lmx/parser.ts";
import { createKnownHosts } from "../../../src/managers/manager.ts";
import { readOutputSync } from "../../../src/managers/read-output.ts";
import type { ToolTarget } from "../../../src/managers/simulated-tool.ts";
import { fixture, parse, render, ZONE } from "./read.ts";

const HAL = "6200@a,6201@b,6200@c";

test("queries each member with a time limit", () => {
  const env = { LMX_CONNECTION_TIMEOUT: "8" };
  expect(lmx.steps(["/opt/lmx/lmxendutil"], HAL)).toEqual(
    ["a 6200", "b 6201", "c 6200"].map((pair) => {
      const [host = "", port = ""] = pair.split(" ");
      const argv = ["/opt/lmx/lmxendutil", "-licstat", "-host", host, "-port", port];
      return { name: `${port}@${host} of several`, argv, env };
    }),
  );
  expect(lmx.steps(["lmxendutil"], "lic1").map(({ name }) => name)).toEqual(["6200@lic1"]);
  expect([1, 3].map(lmx.quorum)).toEqual([1, 2]);
});

const asked = (text: string, step: string): Reading => {
  const context = { zone: ZONE, now: 0, knownHosts: createKnownHosts(), step };
  return readOutputSync(new TextEncoder().encode(text), createLmxParser(context));
};

describe("the answers of a high-availability set", () => {
  const busy = parse(fixture("units.txt").replace("units.example.com", "a"));
  const IDLE =
    "LM-X License Server on 6201@b:\nServer version: v5.2 Uptime: 1 day(s) 0 hour(s) 0 min(s) 0 sec(s)\n";
  const idle = asked(IDLE, "6201@b of several");
  const gone = asked(fixture("none-available.txt"), "6200@c of several");
  const statuses = (reading: Reading | undefined) =>
    reading?.members.map(({ host, status }) => `${host} ${status}`).join(", ");

  test("an answer without a name belongs to the queried member", () => {
    expect(gone.members).toMatchObject([{ host: "c", port: 6200, status: "down" }]);
  });

  test("has the state of all members and the features of the first that has any", () => {
    for (const order of [
      [busy, idle, gone],
      [gone, idle, busy],
    ]) {
      const merged = lmx.merge?.(order);
      expect(merged?.features).toEqual(busy.features);
      expect(merged).toMatchObject({ errors: [], cut: false, recognised: true, daemons: busy.daemons });
      expect(merged?.members).toHaveLength(3);
    }
    expect(statuses(lmx.merge?.([busy, idle, gone]))).toBe("a up, b up, c down");
  });

  test("has every error if no member answers", () => {
    const other = parse(fixture("unreachable.txt"));
    const merged = lmx.merge?.([other, gone]);
    expect(merged).toMatchObject({ features: [], errors: { length: 2 } });
    expect(statuses(merged)).toBe("gone.example.org down, c down");
  });

  test("only one of several members may serve no features", () => {
    expect(idle.cut).toBe(false);
    expect(asked(IDLE, "6201@b").cut).toBe(true);
  });

  test("prints each step, and merges them again", () => {
    const whole = parse(fixture("several-servers.txt"));
    const steps = whole.members.map(({ host, port }) => `${port}@${host} of several`);
    const merged = lmx.merge?.(steps.map((step) => asked(render(whole, step), step)));
    expect(statuses(merged)).toBe(statuses(whole));
    expect(merged?.features).toEqual(whole.features);
  });
});

describe("simulated lmxendutil", () => {
  const whole = parse(fixture("several-servers.txt"));
  const hosts = whole.members.map(({ host, port }) => ({ host, port: port ?? 0 }));
  const site = (members: ToolTarget["members"], reading: ToolTarget["reading"]): ToolTarget => {
    return { address: HAL, version: "v5.5", zone: ZONE, members, reading };
  };
  const answer = (args: string[], server: ToolTarget) => lmx.simulatedTool?.answer(args, "", server);

  test("each member has its own answer", () => {
    const server = site(hosts, () => whole);
    const up = answer(["lmxendutil", "-licstat", "-host", "gamma.example.org", "-port", "6200"], server);
    expect(up).toMatchObject({ stderr: "", exitCode: 0 });
    const reading = parse(up?.stdout ?? "");
    expect(reading).toMatchObject({ members: [{ host: "gamma.example.org" }], features: whole.features });
    const down = answer(["-licstat", "-host", "beta.example.org", "-port", "6201"], server);
    expect(down?.exitCode).toBe(1);
    expect(parse(down?.stdout ?? "")).toMatchObject({ features: [], errors: [{ kind: "unreachable" }] });
    const stranger = answer(["-licstat", "-host", "delta"], server);
    expect(parse(stranger?.stdout ?? "")).toMatchObject({ members: [{ host: "delta", status: "down" }] });
  });

  test("a single server answers to any name", () => {
    const units = parse(fixture("units.txt"));
    const server = site([{ host: "units.example.com", port: 6200 }], (members) => ({
      ...units,
      members: units.members.map((member, index) => ({ ...member, ...members[index] })),
    }));
    const { stdout = "" } = answer(["-licstat", "-host", "other", "-port", "6300"], server) ?? {};
    expect(parse(stdout)).toMatchObject({
      members: [{ host: "other", port: 6300 }],
      features: units.features,
    });
  });
});
