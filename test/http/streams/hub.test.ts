import { expect, test } from "bun:test";
import { createEncoder } from "../../../src/http/streams/encode.ts";
import { type Carrier, createClient, createHub, type StreamClient } from "../../../src/http/streams/hub.ts";

import { createStreamFilter } from "../../../src/http/streams/stream-filter.ts";
import type { Published } from "../../../src/live/bus.ts";
import { PSEUDONYMS } from "./rig.ts";

test("of several samples in one group a client gets the newest alone", () => {
  let publish = (_: readonly Published[]) => {};
  const hub = createHub({
    bus: {
      subscribe(listener) {
        publish = listener;
        return () => {};
      },
      lastPublished: () => 0,
    },
    requestSample() {},
    keyHolds: () => true,
    encoder: createEncoder(PSEUDONYMS),
  });
  const sent: string[] = [];
  const carrier: Carrier = {
    kind: "sse",
    waiting: () => 0,
    send: (chunk) => void sent.push(...chunk.texts()),
    close() {},
  };
  const filter = createStreamFilter("metrics", {}, { hidden: [], anonymous: false });
  const client: StreamClient = createClient(
    "k",
    filter,
    carrier,
    () => hub.leave(client),
    () => {},
  );
  hub.enter(client);
  hub.goLive(client);
  hub.wantSample(client);
  const sample = (id: number) => {
    const system = { cpu: 1, memory: 1, disk: null };
    const licenses = { total: null, used: null, utilization: null };
    const timestamp = "2026-03-01T12:00:00.000Z";
    const event = {
      type: "metrics",
      id: `metrics-${id}`,
      timestamp,
      cpu: 1,
      memory: 1,
      system,
      licenses,
    } as const;
    return { id, event, json: JSON.stringify(event), stored: false } as unknown as Published;
  };
  publish([sample(1), sample(2)]);
  expect(sent).toEqual([expect.stringContaining('"id":"metrics-2"')]);
  hub.close();
});
