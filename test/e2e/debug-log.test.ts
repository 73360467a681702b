import { expect, test } from "bun:test";
import { appendFile, chmod, copyFile, mkdir, rename, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { DenialRecord, LoggingRecord } from "../../src/domain/denials.ts";
import { SLOW, until, untilPrinted } from "./harness.ts";
import { framesOf, ownMegabytes } from "./stream-site.ts";
import { createWatchedSite, type Watching } from "./watched-site.ts";

interface Page {
  readonly denials: readonly DenialRecord[];
  readonly logging: readonly LoggingRecord[];
}

/** A denial half a minute ago, by the server's clock. */
const denied = (user: string, at = Date.now() - 30_000) => {
  const clock = new Date(at).toISOString().slice(11, 19).replace(/^0/, " ");
  return `${clock} (acmed) DENIED: "solver" ${user}@ws01  (Licensed number of users already reached. (-4,342:10054 ""))\n`;
};

const page = (at: Watching) => at.ask<Page>("/api/licenses/denials?limit=1000");

async function untilSeen(at: Watching, ...users: readonly string[]): Promise<void> {
  await until(`${users} are denied`, async () => {
    const seen = (await page(at)).denials.map(({ user }) => user);
    return users.every((user) => seen.includes(user)) || undefined;
  });
}

const untilState = (at: Watching, state: string, message: RegExp | null) =>
  until(`denials are ${state}: ${message}`, async () => {
    const [logging] = (await page(at)).logging;
    const isSaid = message === null ? logging?.message === null : message.test(logging?.message ?? "");
    return (logging?.state === state && isSaid) || undefined;
  });

test.concurrent("a log is followed over rotations of every kind and a kill -9: nothing is lost, nothing doubled", async () => {
  await using site = await createWatchedSite();
  const log = join(site.folder, "acmed.log");
  await Bun.write(log, denied("before-the-first-look"));
  await site.write("", `log_file = "${log}"`);
  /** Time of each denial, in whole seconds as in the log. */
  const times = new Map<string, number>();
  const next = () => {
    const user = `u${times.size + 1}`;
    const at = Math.floor(Date.now() / 1000 - 30) * 1000;
    times.set(user, at);
    return denied(user, at);
  };
  const seen = (at: Watching) => untilSeen(at, ...times.keys());
  {
    await using at = await site.watch();
    await untilState(at, "on", null);
    await appendFile(log, next());
    await seen(at);

    // Rename the log while a line is unread.
    await appendFile(log, next());
    await rename(log, `${log}.1`);
    await Bun.write(log, next());
    await seen(at);

    await appendFile(log, next());
    await copyFile(log, `${log}-20260101`);
    await truncate(log, 0);
    await appendFile(log, next());
    await seen(at);

    // Truncate the log. Its unread lines are lost, which the page reports.
    await Bun.write(log, next());
    await seen(at);
    await untilPrinted(at.daemon, "Part of a debug log was moved before it was read");

    // Write a line in two parts.
    const whole = next();
    await appendFile(log, whole.slice(0, 20));
    await appendFile(log, whole.slice(20));
    await seen(at);
    await at.daemon.kill();
  }
  // While the daemon is down, the log grows and is renamed.
  await appendFile(log, next());
  await rename(log, `${log}.2`);
  await Bun.write(log, next());
  await using at = await site.watch();
  await seen(at);

  // Each denial appears once, with its own time, and was published once.
  const { denials, logging } = await page(at);
  expect(new Map(denials.map(({ user, timestamp }) => [user, Date.parse(timestamp)]))).toEqual(times);
  expect(denials).toHaveLength(times.size);
  for (const { attempts, outcome, code } of denials)
    expect([attempts, outcome, code]).toEqual([1, "denied", -4]);
  expect(logging).toMatchObject([{ state: "on", source: "debug_log", message: null }]);
  const told: string[] = [];
  const path = "/stream/combined?events=denial&last_event_id=1";
  for await (const { name, data } of framesOf(at.daemon, path, at.key)) {
    if (name === "denial") told.push(`${data.user} ${data.outcome}`);
    if (told.length === times.size) break;
  }
  expect(told.sort()).toEqual([...times.keys()].map((user) => `${user} denied`).sort());
});

test.concurrent("a log that cannot be read is a state with its reason, and ends with it", async () => {
  await using site = await createWatchedSite();
  const log = join(site.folder, "acmed.log");
  await site.write("", `log_file = "${log}"`);
  await using at = await site.watch();
  const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(denied("wide"), "utf16le")]);
  const states: readonly [RegExp, () => Promise<unknown>][] = [
    [/acmed\.log does not exist$/, async () => {}],
    [/UTF-16/, () => Bun.write(log, wide)],
    [/acmed\.log is a directory$/, () => mkdir(log)],
  ];
  for (const [reason, make] of states) {
    await make();
    await untilState(at, "unreadable", reason);
    await rm(log, { recursive: true, force: true });
  }
  // A new log at the same path is read from its start.
  await Bun.write(log, denied("ada"));
  await untilSeen(at, "ada");
  await untilState(at, "on", null);
  expect((await page(at)).denials).toHaveLength(1);
});

test.concurrent("a log_command is followed over its own end and the daemon's: nothing is lost, doubled or left behind", async () => {
  await using site = await createWatchedSite();
  const [log, ssh] = [join(site.folder, "acmed.log"), join(site.folder, "ssh")];
  await Bun.write(log, denied("before-the-first-start"));
  await Bun.write(ssh, '#!/bin/sh\necho "ssh says $1" >&2\nshift\n[ -e "$0.off" ] && exit 255\n"$@"\n');
  await chmod(ssh, 0o755);
  await site.write("", `log_command = ["${ssh}", "; touch x", "tail", "-n", "40", "-F", "${log}"]`);
  const tails = () =>
    Bun.spawnSync(["pgrep", "-f", `tail -n 40 -F ${log}`])
      .stdout.toString()
      .match(/\d+/g) ?? [];
  {
    await using at = await site.watch();
    await untilState(at, "on", null);
    await appendFile(log, denied("u1"));
    await untilSeen(at, "u1");
    await Bun.write(`${ssh}.off`, "");
    process.kill(Number(tails()[0]));
    await appendFile(log, denied("u2"));
    await untilState(
      at,
      "unreadable",
      /^log_command \(.*\/ssh\) exited with code 255: ssh says ; touch x\. /,
    );
    await rm(`${ssh}.off`);
    await untilSeen(at, "u1", "u2");
    await untilState(at, "on", null);
    await at.daemon.kill();
  }
  await appendFile(log, denied("u3"));
  {
    await using at = await site.watch();
    await untilSeen(at, "u1", "u2", "u3");
    expect((await page(at)).denials.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
    await at.daemon.stop();
  }
  expect(tails()).toEqual([]);
});

/** Length of the long line; shorter in the fast run. */
const LINE_MEGABYTES = SLOW ? 100 : 6;

test(`a line of ${LINE_MEGABYTES} MB is skipped in bounded memory, and the next one is read`, async () => {
  await using site = await createWatchedSite();
  const log = join(site.folder, "acmed.log");
  await Bun.write(log, "");
  await site.write("", `log_file = "${log}"`);
  await using at = await site.watch();
  await untilState(at, "on", null);
  const before = await ownMegabytes(at.daemon.pid);
  const megabyte = "x".repeat(1e6);
  for (let index = 0; index < LINE_MEGABYTES; index++) await appendFile(log, megabyte);
  await appendFile(log, `\n${denied("after")}`);
  let most = 0;
  await until("the line behind it is read", async () => {
    most = Math.max(most, await ownMegabytes(at.daemon.pid));
    return (await page(at)).denials.length > 0 || undefined;
  });
  expect((await page(at)).denials).toMatchObject([{ user: "after" }]);
  expect(most - before).toBeLessThan(60);
});
