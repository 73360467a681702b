import { expect, test } from "bun:test";
import { appendFile, copyFile, mkdir, rename, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { createAlertSite, type Watching } from "./alert-site.ts";
import { SLOW, until, untilPrinted } from "./harness.ts";
import { framesOf, ownMegabytes } from "./stream-site.ts";

interface DenialRow {
  readonly timestamp: string;
  readonly until: string;
  readonly user: string;
  readonly feature: string;
  readonly attempts: number;
  readonly outcome: string;
  readonly code: number | null;
}

interface Page {
  readonly denials: readonly DenialRow[];
  readonly logging: readonly {
    readonly state: string;
    readonly source: string;
    readonly message: string | null;
  }[];
}

/** The server's clock, as it prints it. */
const clock = (at: number) => new Date(at).toISOString().slice(11, 19);
const lineAt = (words: string, at: number) => `${clock(at).replace(/^0/, " ")} (acmed) ${words}\n`;
const ago = (seconds: number) => Date.now() - seconds * 1000;
const full = '(Licensed number of users already reached. (-4,342:10054 ""))';
const denied = (user: string, at = ago(30)) => lineAt(`DENIED: "solver" ${user}@ws01  ${full}`, at);

const page = async (at: Watching): Promise<Page> =>
  (await (await at.daemon.get("/api/licenses/denials?limit=1000", at.key)).json()) as Page;

async function untilSeen(at: Watching, ...users: readonly string[]): Promise<void> {
  await until(`${users} are denied`, async () => {
    const seen = (await page(at)).denials.map(({ user }) => user);
    return users.every((user) => seen.includes(user)) || undefined;
  });
}

const untilState = (at: Watching, state: string) =>
  until(`denials are ${state}`, async () => {
    const { logging } = await page(at);
    return logging[0]?.state === state ? logging[0] : undefined;
  });

/** Every denial event that was ever told, in order. */
async function toldOf(at: Watching, count: number): Promise<string[]> {
  const stop = new AbortController();
  const path = "/stream/combined?events=denial&last_event_id=1";
  const response = await at.daemon.get(path, at.key, { signal: stop.signal });
  const told: string[] = [];
  for await (const { name, data } of framesOf(response)) {
    if (name === "denial") told.push(`${data.user} ${data.outcome}`);
    if (told.length === count) break;
  }
  stop.abort();
  return told;
}

test.concurrent("a log is followed over rotations of every kind and a kill -9: nothing is lost, nothing doubled", async () => {
  await using site = await createAlertSite();
  const log = join(site.folder, "acmed.log");
  await Bun.write(log, denied("before-anybody-looked"));
  await site.write("", `log_file = "${log}"`);
  /** When each is denied, in the whole seconds of the log. */
  const times = new Map<string, number>();
  const next = () => {
    const user = `u${times.size + 1}`;
    const at = Math.floor(ago(30) / 1000) * 1000;
    times.set(user, at);
    return denied(user, at);
  };
  const seen = (at: Watching) => untilSeen(at, ...times.keys());
  {
    await using at = await site.watch();
    await untilState(at, "on");
    await appendFile(log, next());
    await seen(at);

    // Renamed, with a line that nobody has read yet.
    await appendFile(log, next());
    await rename(log, `${log}.1`);
    await Bun.write(log, next());
    await seen(at);

    // Copied and emptied.
    await appendFile(log, next());
    await copyFile(log, `${log}-20260101`);
    await truncate(log, 0);
    await appendFile(log, next());
    await seen(at);

    // Emptied: what nobody read is gone, and that is said.
    await Bun.write(log, next());
    await seen(at);
    await untilPrinted(at.daemon, "A part of a debug log was moved away before it was read");

    // A line that is cut in the midst, and ended later.
    const whole = next();
    await appendFile(log, whole.slice(0, 20));
    await appendFile(log, whole.slice(20));
    await seen(at);
    await at.daemon.kill();
  }
  // Meanwhile the log goes on, and is moved away.
  await appendFile(log, next());
  await rename(log, `${log}.2`);
  await Bun.write(log, next());
  await using at = await site.watch();
  await seen(at);

  // Every denial once, under its own time, and told once.
  const { denials, logging } = await page(at);
  expect(new Map(denials.map(({ user, timestamp }) => [user, Date.parse(timestamp)]))).toEqual(times);
  expect(denials).toHaveLength(times.size);
  for (const { attempts, outcome, code } of denials)
    expect([attempts, outcome, code]).toEqual([1, "denied", -4]);
  expect(logging).toMatchObject([{ state: "on", source: "debug_log", message: null }]);
  const told = await toldOf(at, times.size);
  expect(told.sort()).toEqual([...times.keys()].map((user) => `${user} denied`).sort());
});

test.concurrent("a log that cannot be read is a state with its reason, and ends with it", async () => {
  await using site = await createAlertSite();
  const log = join(site.folder, "logs", "acmed.log");
  await site.write("");
  {
    await using at = await site.watch();
    expect(await untilState(at, "off")).toMatchObject({
      source: null,
      message: expect.stringContaining("log_file is not set"),
    });
  }
  await site.write("", `log_file = "${log}"`);
  await using at = await site.watch();
  expect(await untilState(at, "unreadable")).toMatchObject({ message: `${log} does not exist` });
  // It appears: all of it is new.
  await mkdir(join(site.folder, "logs"));
  await Bun.write(log, denied("first"));
  await untilSeen(at, "first");
  expect(await untilState(at, "on")).toMatchObject({ message: null });

  const replaceBy = async (bytes: string | Uint8Array) => {
    await rm(log, { recursive: true, force: true });
    await Bun.write(log, bytes);
  };
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(denied("wide"), "utf16le")]);
  await replaceBy(utf16);
  expect((await untilState(at, "unreadable")).message).toContain("UTF-16");
  await appendFile(log, Buffer.from(denied("wider"), "utf16le"));
  await replaceBy(denied("second"));
  await untilSeen(at, "second");
  await replaceBy(new Uint8Array(5_000).map((_, index) => (index * 7919) % 251));
  expect((await untilState(at, "unreadable")).message).toContain("encrypted report log");
  await rm(log);
  await mkdir(log);
  await until("it is a folder", async () =>
    (await page(at)).logging[0]?.message === `${log} is a folder` ? true : undefined,
  );
  await rm(log, { recursive: true });
  await Bun.write(log, denied("third"));
  await untilSeen(at, "third");
  expect((await page(at)).denials.map(({ user }) => user).sort()).toEqual(["first", "second", "third"]);
});

/** In the fast run a tenth of it. */
const LINE_MEGABYTES = SLOW ? 100 : 6;

test(`a line of ${LINE_MEGABYTES} MB is passed over in bounded memory, and the next one is read`, async () => {
  await using site = await createAlertSite();
  const log = join(site.folder, "acmed.log");
  await Bun.write(log, "");
  await site.write("", `log_file = "${log}"`);
  await using at = await site.watch();
  await untilState(at, "on");
  const before = await ownMegabytes(at.daemon.pid);
  const megabyte = "x".repeat(1e6);
  for (let index = 0; index < LINE_MEGABYTES; index++) await appendFile(log, megabyte);
  await appendFile(log, `\n${denied("after")}`);
  let most = 0;
  await until(
    "the line behind it is read",
    async () => {
      most = Math.max(most, await ownMegabytes(at.daemon.pid));
      return (await page(at)).denials.length > 0 || undefined;
    },
    90_000,
  );
  expect((await page(at)).denials).toMatchObject([{ user: "after" }]);
  expect(most - before).toBeLessThan(60);
});
