import { describe, expect, test } from "bun:test";
import type { Reading } from "../../../src/domain/reading.ts";
import { rlm } from "../../../src/managers/rlm/index.ts";
import { ZONE } from "./arbitrary-reading.ts";
import { fixture, parse } from "./read.ts";

const FIXTURES = ["two-isv-servers.txt", "isv-only.txt", "old-layout.txt"];

const render = (reading: Reading) => rlm.render(reading, { address: "5053@lic", zone: ZONE });

test("a silent server is printed as the tool's error", () => {
  const silent: Reading = {
    ...parse(fixture("unreachable.txt")),
    members: [{ host: "gone", port: 5053, status: "down", master: false, version: null, error: null }],
    errors: [],
  };
  expect(parse(render(silent))).toMatchObject({
    members: [{ host: "gone", status: "down" }],
    errors: [{ kind: "unreachable", major: -17 }],
    unparsed: [],
  });
});

describe("cut at every byte", () => {
  test.each(FIXTURES)("%s lacks pools unnoticed only after pools of an idle ISV server", (name) => {
    const text = fixture(name);
    const whole = parse(text);
    const bytes = new TextEncoder().encode(text);
    for (let length = 0; length < bytes.length; length++) {
      const { features, cut, errors, recognised, daemons } = parse(bytes.subarray(0, length));
      if (features.length === whole.features.length || cut || errors.length > 0) continue;
      const last = daemons.filter(({ status }) => status === "up").at(-1)?.name;
      const isIdle = features.every(({ daemon, used }) => daemon !== last || (used ?? 0) === 0);
      expect([length, recognised && !isIdle]).toEqual([length, false]);
    }
  });
});

describe("cut at the head, before every line", () => {
  test.each(FIXTURES)("%s never gives wrong numbers that look complete", (name) => {
    const lines = fixture(name).split("\n");
    const whole = parse(fixture(name));
    for (let from = 0; from < lines.length; from++) {
      const reading = parse(lines.slice(from).join("\n"));
      // A text that begins with an ISV server's heading is complete for that ISV server.
      const ofDaemon = (daemon: string) => reading.daemons.some((each) => each.name === daemon);
      for (const truth of whole.features) {
        if (reading.cut || !reading.recognised) continue;
        if (reading.unparsedLines === 0 && !ofDaemon(truth.daemon)) continue;
        const own = reading.features.find((each) => each.daemon === truth.daemon && each.name === truth.name);
        const { name: product, total, used } = truth;
        expect([from, product, own?.total, own?.used]).toEqual([from, product, total, used]);
      }
    }
  });
});
