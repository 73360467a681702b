import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { receiveNotifications } from "../system/notify-receiver.ts";
import { BINARY, until } from "./harness.ts";
import { createSite, type Site, serverToml } from "./site.ts";

let site: Site;
beforeAll(async () => {
  site = await createSite();
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

/** Starts `serve` as systemd would, with a notify socket and a watchdog. */
function startService(name: string) {
  const receiver = receiveNotifications(name);
  const told: string[] = [];
  const child = Bun.spawn([BINARY, "serve", "--config", site.config], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", NOTIFY_SOCKET: name },
    stdio: ["ignore", "ignore", "ignore"],
  });
  const all = () => {
    told.push(...receiver.take());
    return told;
  };
  return {
    /** Messages so far, oldest first. */
    told: all,
    exited: child.exited,
    /** Waits for the first matching message after `from`. */
    message: (pattern: RegExp, from = 0) =>
      until(`a message ${pattern}`, () =>
        all()
          .slice(from)
          .find((text) => pattern.test(text)),
      ),
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      receiver[Symbol.dispose]();
    },
  };
}

const url = (path: string) => `http://127.0.0.1:${site.port}${path}`;

test("reports readiness when it answers, then reloads and the end", async () => {
  await site.configure("");
  await using service = startService(join(site.folder, "notify"));
  const ready = await service.message(/^READY=1$/m);
  expect((await fetch(url("/api/ping"))).status).toBe(200);
  expect(ready).toBe(`READY=1\nSTATUS=http://127.0.0.1:${site.port}, no servers configured`);
  expect(service.told()[0]).toBe("STATUS=Opening the database");
  // $WATCHDOG_USEC is not set.
  expect(service.told().join("\n")).not.toContain("WATCHDOG");

  let from = service.told().length;
  await site.configure('[[servers]]\nid = "off"\nmanager = "rlm"\naddress = "1@x"\nenabled = false');
  service.signal("SIGHUP");
  await service.message(/^RELOADING=1\nMONOTONIC_USEC=\d+$/, from);
  expect(await service.message(/^READY=1$/m, from)).toContain("1 server: 1 disabled");

  from = service.told().length;
  await site.configure('[log]\nlevel = "loud"');
  service.signal("SIGHUP");
  expect(await service.message(/^READY=1$/m, from)).toContain("config reload failed");
  expect(service.told().slice(from)[0]).toStartWith("RELOADING=1");

  // Reloads over HTTP send the same messages.
  await site.configure("");
  const headers = { "X-API-Key": await site.key("admin") };
  from = service.told().length;
  expect((await fetch(url("/api/reload"), { method: "POST", headers })).status).toBe(200);
  expect(await service.message(/^READY=1$/m, from)).not.toContain("refused");

  from = service.told().length;
  service.signal("SIGTERM");
  await service.message(/^STOPPING=1$/m, from);
  expect(await service.exited).toBe(0);
});

test("the manager's variables reach no tool; a manager that does not listen blocks nothing", async () => {
  const tool = join(site.folder, "lmutil");
  await Bun.write(tool, "#!/bin/sh\nenv\n");
  await chmod(tool, 0o755);
  await site.configure(serverToml("eda", tool));
  await using daemon = await site.serve({
    env: {
      NOTIFY_SOCKET: join(site.folder, "nobody"),
      WATCHDOG_USEC: "30000000",
      CREDENTIALS_DIRECTORY: "/run/credentials/x",
    },
  });
  const admin = await site.key("admin");
  const raw = await until("the output of the first poll", async () => {
    // `stdout` is null until the poll has ended.
    const { stdout } = await daemon.json<{ stdout?: string | null }>("/api/licenses/servers/eda/raw", admin);
    return stdout || undefined;
  });
  expect(raw).toContain("LC_ALL=C");
  expect(raw).not.toMatch(/NOTIFY_SOCKET|WATCHDOG|CREDENTIALS/);
  expect(await daemon.stop()).toBe(0);
  expect(daemon.output().match(/The service manager does not accept a message/g)).toHaveLength(1);
});
