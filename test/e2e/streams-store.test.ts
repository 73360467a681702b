import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { fill, mayMount, smallDisk } from "./faults.ts";
import { type Daemon, until, untilPrinted } from "./harness.ts";
import { secretOf } from "./site.ts";
import { npmEventSource } from "./stream-clients.ts";
import { createStreamSite, framesOf, publish, replay, requestIdOf, untilSeen } from "./stream-site.ts";

/** Resumes a stream, and returns the comments that precede the first event. */
async function resumeComments(daemon: Daemon, key: string, from: number): Promise<string[]> {
  const comments: string[] = [];
  for await (const { text, name } of framesOf(daemon, `/stream/logs?last_event_id=${from}`, key)) {
    if (name !== null) break;
    if (text.startsWith(":")) comments.push(text.slice(1));
  }
  return comments;
}

const MAY_MOUNT = await mayMount("the test on a full disk");

test.skipIf(!MAY_MOUNT)(
  "on a full disk events are still sent, the terminal reports it once, and a later resume reports the gap",
  async () => {
    await using site = await createStreamSite();
    const storage = join(site.folder, "storage");
    await using _disk = await smallDisk(storage, 24);
    await using daemon = await site.serve();
    const key = await site.key("admin");
    const client = npmEventSource(`${daemon.url}/stream/logs?events=log&api_key=${key}`, ["log"]);
    await until("the client is connected", () => client.opened() === 1 || undefined);
    await publish(daemon, { tag: "before", count: 10 });
    await untilSeen(client.seen, "before-9");

    const free = fill(storage);
    await publish(daemon, { tag: "full", count: 3_000, length: 500 });
    await untilSeen(client.seen, "full-2999");
    const said = () => daemon.output().split("Cannot store events").length - 1;
    expect(said()).toBe(1);
    expect((await daemon.get("/api/ping", key)).status).toBe(200);
    // While the store fails, the gap is not stored, but the stream reports it.
    const from = client.seen.find((each) => requestIdOf(each) === "before-9")?.id ?? 0;
    expect((await resumeComments(daemon, key, from)).join("\n")).toContain("could not be stored");

    free();
    await publish(daemon, { tag: "again", count: 10 });
    await untilSeen(client.seen, "again-9");
    expect(said()).toBe(1);
    await untilPrinted(daemon, "Storing events again");
    client.close();
    const order = client.seen.map(({ id }) => id);
    expect(order).toEqual([...new Set(order)].sort((a, b) => a - b));

    const comments = await resumeComments(daemon, key, from);
    expect(comments[0]).toBe(`resume from ${from}`);
    const holes = comments.filter((comment) => comment.includes("could not be stored and are missing"));
    expect(holes.length).toBeGreaterThan(0);
    // The note about the gap lists exactly the missing events.
    const ranges = holes.map((text) => (text.match(/\d{13}/g) ?? []).map(Number));
    const stored = (await replay(daemon, key, from, "again-9")).map(({ id }) => id);
    const end = stored.at(-1) ?? 0;
    const missing = order.filter((id) => id > from && id <= end && !stored.includes(id));
    expect(missing.length).toBeGreaterThan(0);
    const isListed = (id: number) => ranges.some(([first = 0, last = 0]) => id >= first && id <= last);
    expect(missing.filter((id) => !isListed(id))).toEqual([]);
    // The note is stored, so the next process sends it too.
    expect(await daemon.stop()).toBe(0);
    await using second = await site.serve();
    const laterComments = await resumeComments(second, key, from);
    expect(laterComments.filter((comment) => holes.includes(comment))).toEqual(holes);
  },
);

test("no secret appears in the terminal, the database or a stream", async () => {
  await using site = await createStreamSite();
  const daemon = await site.serve();
  const admin = await site.key("admin");
  const viewer = await site.key("viewer");
  const seen = npmEventSource(`${daemon.url}/stream/logs?events=log&api_key=${admin}`, ["log"]);
  await until("the client is connected", () => seen.opened() === 1 || undefined);
  const wrong = `lmk_aaaaaaaaaaaa_${"Wr0ngSecret".repeat(3)}0123456789`;
  const password = "hunter2-correct-horse";
  const asks: [path: string, key?: string | undefined, headers?: Record<string, string>][] = [
    [`/api/licenses?api_key=${viewer}`],
    [`/nowhere/${viewer}?api_key=${viewer}`],
    [`/api/licenses/servers/${wrong}`, viewer],
    ["/api/licenses", undefined, { Authorization: `Bearer ${wrong}` }],
    ["/api/licenses", undefined, { Authorization: `Basic ${btoa(`admin:${password}`)}` }],
    [`/stream/logs?api_key=${wrong}`],
    [`/api/licenses/features?feature=${viewer}&limit=${viewer}`, admin],
    ["/api/licenses", viewer, { "X-Request-ID": viewer }],
    [`/api/logs/search?q=http://user:${password}@host/?api_key=${viewer}`, admin],
    [`/ws/logs?api_key=${viewer}`],
  ];
  for (const [path, key, headers = {}] of asks) await (await daemon.get(path, key, { headers })).text();
  await daemon.post("/api/licenses/rescan", admin, { servers: [viewer] });
  await daemon.post("/api/keys", admin, { name: viewer, role: "viewer", password });
  // A config with a secret in the wrong place is refused, and the log line has no secret.
  const hook = `type = "webhook"\nurl = 7\npassword = "${password}"`;
  await site.configure(`[[notifications]]\n${hook}\n[http]\napi_key = "${viewer}"\n`);
  process.kill(daemon.pid, "SIGHUP");
  await untilPrinted(daemon, "Invalid configuration");
  await publish(daemon, { tag: "end", count: 1 });
  await untilSeen(seen.seen, "end-0");
  seen.close();
  expect(await daemon.stop()).toBe(0);

  const secrets = [admin, viewer, wrong].map(secretOf);
  const places: Record<string, string> = {
    "the terminal": daemon.output(),
    "the stream": JSON.stringify(seen.seen),
  };
  for await (const name of new Bun.Glob("**").scan({ cwd: join(site.folder, "storage") }))
    places[name] = Buffer.from(await Bun.file(join(site.folder, "storage", name)).bytes()).toString("latin1");
  expect(Object.keys(places).length).toBeGreaterThan(2);
  for (const [place, text] of Object.entries(places))
    expect([place, [...secrets, password].filter((secret) => text.includes(secret))]).toEqual([place, []]);
});

test("the last log lines are stored when the daemon has ended", async () => {
  await using site = await createStreamSite();
  const daemon = await site.serve();
  await publish(daemon, { tag: "last", count: 5 });
  expect(await daemon.stop()).toBe(0);
  using database = new Database(join(site.folder, "storage/licmond.db"), { readonly: true });
  const messages = database.query("SELECT body FROM events ORDER BY id").values().map(String);
  expect(messages.filter((body) => body.includes('"requestId":"last-'))).toHaveLength(5);
  expect(messages.at(-1)).toContain("licmond is stopping");
});
