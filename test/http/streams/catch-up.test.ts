import { expect, test } from "bun:test";
import { createPseudonyms } from "../../../src/http/anonymous/pseudonyms.ts";
import { createEncoder, type EventRow } from "../../../src/http/streams/encode.ts";
import { catchUp, PAGE_EVENTS } from "../../../src/http/streams/open-stream.ts";
import { createStreamFilter } from "../../../src/http/streams/stream-filter.ts";

const log = (id: number): EventRow => ({
  id,
  type: "log",
  level: "info",
  source: "system",
  json: `{"n":${id}}`,
});

/** Catches up behind `from` over events that are there when a page is read; what happened, in order. */
async function replayed(
  pages: (page: number) => readonly EventRow[],
  newest: number,
  late: readonly string[] = [],
) {
  const did: string[] = [];
  let read = 0;
  const notes = [...late];
  await catchUp(
    {
      kind: "sse",
      keyId: "k",
      gone: false,
      filter: createStreamFilter("logs", {}, { hidden: [], anonymous: false }),
      send: (chunk) => void did.push(`sent ${chunk.texts().length}`),
      note: (text) => void did.push(`note ${text}`),
      ready: () => Promise.resolve(),
      heartbeat() {},
      end() {},
    },
    1,
    {
      hub: {
        goLive: () => void did.push("live"),
        wantSample() {},
        lastPublished: () => newest,
        encoder: createEncoder(createPseudonyms(new Uint8Array(32))),
      },
      history: { page: () => pages(read++) },
      samplesSince: () => [],
      lateNotes: () => notes,
      breathe: () => Promise.resolve(),
    },
  );
  return did;
}

test("reads page by page and goes live in the turn of the last one", async () => {
  const full = Array.from({ length: PAGE_EVENTS }, (_, index) => log(index + 2));
  const did = await replayed((page) => (page < 2 ? full : [log(1_000)]), 1_000);
  expect(did).toEqual([`sent ${PAGE_EVENTS}`, `sent ${PAGE_EVENTS}`, "sent 1", "live"]);
});

test("says what has gone missing while it read, before it goes live", async () => {
  const did = await replayed(() => [log(2)], 9, ["events 3 to 9 could not be stored and are missing"]);
  expect(did).toEqual(["sent 1", "note events 3 to 9 could not be stored and are missing", "live"]);
});
