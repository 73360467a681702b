import { afterEach, describe, expect, test } from "bun:test";
import { createHistoryClient } from "../../src/history/client.ts";
import { createPseudonyms } from "../../src/http/anonymous/anonymous.ts";
import type { HistoryAnswers } from "../../src/http/history-answers/answers.ts";
import { createEvents } from "../../src/store/events.ts";
import { installationSecret } from "../../src/store/secrets.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { cleanUp, later } from "../store/place.ts";

afterEach(cleanUp);

const PAGE = { start: null, end: null, limit: 100, offset: 0, format: "json" } as const;

/** Runs queries as the daemon does: in a worker with its own connection. */
async function worker() {
  const rig = createRig();
  const checkouts = [a.checkout({ user: "ann", host: "WS1", display: "ann:0", startedAt: null })];
  const features = [a.feature({ name: "compiler", total: 2, used: 1, checkouts })];
  for (const at of [a.NOON, a.NOON + 60_000])
    await rig.poll(a.outcome({ startedAt: at - 200, finishedAt: at, reading: a.reading({ features }) }));
  const { clock, log } = rig;
  const client = createHistoryClient<HistoryAnswers>({ path: rig.store.path, clock, log });
  later(() => client.stop());
  const asked = (anonymize: boolean, users: readonly string[] | null = null) => ({
    now: rig.clock.time,
    intervals: { eda: 60_000 },
    ...PAGE,
    anonymize,
    filter: { servers: null, daemons: null, features: null, users, hosts: null },
    sort: { field: "firstSeenAt", descending: true } as const,
  });
  return { rig, client, asked };
}

const textOf = ({ body }: { readonly body: Uint8Array }) => new TextDecoder().decode(body);

describe("answers of the history worker", () => {
  test("are bytes with their headers", async () => {
    const { client, asked } = await worker();
    const answer = await client.query("sessions", asked(false));
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(JSON.parse(textOf(answer))).toMatchObject({
      total: 1,
      sessions: [{ user: "ann", host: "WS1", display: "ann:0" }],
    });
    const csv = await client.query("sessions", { ...asked(false), format: "csv" });
    expect(csv.headers["x-total-count"]).toBe("1");
    expect(textOf(csv).split("\r\n")).toHaveLength(3);
  });

  test.each([
    ["not JSON", "bad", "UPDATE events SET body = '{bad' WHERE id = ?"],
    ["JSON of something else", "0", "UPDATE events SET body = '0' WHERE id = ?"],
    ["noise", "server", "UPDATE events SET body = cast(x'a5a5' AS TEXT) WHERE id = ?"],
  ])(
    "with a stored log line that is %s are the fault of the database, with words to search and without",
    async (_, word, damage) => {
      const { rig, client } = await worker();
      const lines = [1, 2, 3].map((n) => a.NOON + n);
      for (const id of lines) {
        const fields = { level: "info", message: "Server is up", source: "collector", metadata: {} } as const;
        const event = {
          type: "log",
          id: `log-${id}`,
          timestamp: new Date(id).toISOString(),
          ...fields,
        } as const;
        rig.store.transaction(() => createEvents(rig.store).insert(id, event, JSON.stringify(event)));
      }
      const any = { levels: null, sources: null, serverIds: null, start: null, end: null, hiddenSources: [] };
      const logs = (q: string | null, format: "json" | "csv" = "json") =>
        client.query("logs", { ...PAGE, ...any, q, format, oldestFirst: false });
      expect(JSON.parse(textOf(await logs("server")))).toMatchObject({ total: 3 });
      rig.store.sqlite.run(damage, [lines[1] ?? 0]);
      for (const [q, format] of [
        [null, "json"],
        [word, "json"],
        [null, "csv"],
      ] as const)
        expect(await logs(q, format).catch((error: unknown) => error)).toMatchObject({ code: "CORRUPT" });
    },
  );

  test("use the installation's pseudonyms for callers who may not see names", async () => {
    const { rig, client, asked } = await worker();
    const pseudonyms = createPseudonyms(installationSecret(rig.store));
    const hidden = textOf(await client.query("sessions", asked(true)));
    expect(hidden).not.toMatch(/ann|ws1/i);
    const ann = pseudonyms.user("ann");
    expect(JSON.parse(hidden)).toMatchObject({
      sessions: [{ user: ann, host: pseudonyms.host("ws1"), display: null }],
    });
    const found = async (user: string) =>
      JSON.parse(textOf(await client.query("sessions", asked(true, [user])))).total;
    expect([await found(ann), await found("ann")]).toEqual([1, 0]);
  });

  test("have no names if the secret is missing", async () => {
    const { client, asked } = await worker();
    await expect(client.query("sessions", asked(true))).rejects.toThrow("secret");
    expect(textOf(await client.query("sessions", asked(false)))).toContain("ann");
  });
});
