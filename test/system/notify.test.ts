import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { openNotifySocket, unixAddress } from "../../src/system/service-manager.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";
import { receiveNotifications } from "./notify-receiver.ts";

afterEach(cleanUp);

test.each(["path", "abstract"])("messages arrive complete and in order: %s", async (kind) => {
  const folder = temporaryDirectory();
  const name = kind === "path" ? join(folder, "notify") : `@${folder}`;
  using receiver = receiveNotifications(name);
  const socket = await openNotifySocket(name);
  expect(socket.send(["READY=1", "STATUS=größer → 1"])).toBe(true);
  expect(socket.send(["WATCHDOG=1"])).toBe(true);
  expect(receiver.take()).toEqual(["READY=1\nSTATUS=größer → 1", "WATCHDOG=1"]);
  socket.close();
  socket.close();
  expect(socket.send(["WATCHDOG=1"])).toBe(false);
});

test("send returns false without a reader or with a full queue", async () => {
  const name = join(temporaryDirectory(), "notify");
  const socket = await openNotifySocket(name);
  expect(socket.send(["READY=1"])).toBe(false);
  using receiver = receiveNotifications(name);
  let taken = 0;
  while (taken < 100_000 && socket.send(["WATCHDOG=1"])) taken += 1;
  expect(taken).toBeGreaterThan(0);
  expect(socket.send(["STATUS=too much"])).toBe(false);
  expect(receiver.take()).toHaveLength(taken);
  expect(socket.send(["STATUS=again"])).toBe(true);
  socket.close();
});

test("the clock is monotonic", async () => {
  const socket = await openNotifySocket("@licmond-nobody-listens-here");
  const first = socket.monotonicMicroseconds();
  const second = socket.monotonicMicroseconds();
  socket.close();
  if (first === null || second === null) throw new Error("no clock");
  expect(second).toBeGreaterThanOrEqual(first);
  // /proc/uptime also counts suspended time, so it is never behind.
  const uptime = Number((await Bun.file("/proc/uptime").text()).split(" ")[0]) * 1e6;
  expect(Number(second)).toBeLessThanOrEqual(uptime + 1e6);
  expect(Number(second)).toBeGreaterThan(0);
});

test.each([
  ["/run/systemd/notify", [1, 0, ...Buffer.from("/run/systemd/notify"), 0]],
  ["@a", [1, 0, 0, 97]],
  [`/${"x".repeat(106)}`, [1, 0, 47, ...Buffer.from("x".repeat(106)), 0]],
  [`@${"x".repeat(107)}`, [1, 0, 0, ...Buffer.from("x".repeat(107))]],
])("address of %s", (name, bytes) => {
  expect([...(unixAddress(name) ?? [])]).toEqual(bytes);
});

test.each(["", "@", "run/notify", "vsock:2:1234", "/a\0b", `/${"x".repeat(107)}`, `@${"x".repeat(108)}`])(
  "no address: %j",
  async (name) => {
    expect(unixAddress(name)).toBeNull();
    await expect(openNotifySocket(name)).rejects.toThrow("must be a path");
  },
);
