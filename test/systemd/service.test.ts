import { describe, expect, test } from "bun:test";
import { bootedMachine } from "./booted.ts";
import { BASE, until } from "./machine.ts";
import {
  allRead,
  BUSY,
  configure,
  createKey,
  dropIn,
  get,
  installed,
  journal,
  mainPid,
  mark,
  PORT,
  restart,
  serverToml,
  sessionIds,
  show,
} from "./service.ts";

const COLLECTOR = '[collector]\ninterval = "5s"\n';
const SERVERS = COLLECTOR + serverToml("eda", BUSY) + serverToml("cae");

/** The life of one machine: each test goes on from where the one before it left off. */
describe.skipIf(BASE === undefined)("the service", () => {
  const machine = bootedMachine((fresh) => installed(fresh, SERVERS));
  let admin = "";

  test("after `install` and an edit, `check` finds nothing wrong", async () => {
    // One host of the simulated triad is down, which a poll would call a problem.
    expect(await machine.sh("sudo licmond check --no-poll")).toEndWith("All is well.");
    expect(await machine.sh("systemd-analyze verify licmond.service 2>&1")).toBe("");
  });

  test("`systemctl enable --now` returns when it answers", async () => {
    const ping = "curl -fsS --max-time 30 http://127.0.0.1:8080/api/ping";
    expect(await machine.sh(`systemctl enable --now licmond && ${ping}`)).toContain("pong");
    admin = await createKey(machine, "admin");
    await allRead(machine, admin, ["eda", "cae"]);
    // Once could be luck.
    for (let i = 0; i < 5; i++) {
      await machine.sh("systemctl stop licmond; systemctl reset-failed licmond");
      expect(await machine.sh(`systemctl start licmond && ${ping}`)).toContain("pong");
    }
  });

  test("`systemctl status` says how it is", async () => {
    await until("the status line has the servers", async () => {
      const { StatusText } = await show(machine, "StatusText");
      return (
        /^http:\/\/0\.0\.0\.0:8080, 2 servers: 1 up, 1 degraded, last poll .* UTC$/.test(StatusText) ||
        undefined
      );
    });
    expect(await machine.sh("systemctl status licmond")).toContain(
      'Status: "http://0.0.0.0:8080, 2 servers:',
    );
  });

  test("the journal knows how grave each line is", async () => {
    const entries = (await journal(machine)).filter(({ _COMM }) => _COMM === "licmond");
    const priorityOf = (text: string) => entries.find(({ MESSAGE }) => MESSAGE.includes(text))?.PRIORITY;
    expect(priorityOf("licmond started")).toBe("6");
    expect(priorityOf("Plain HTTP beyond loopback")).toBe("4");
    // The prefix that carries the priority is the journal's to take away.
    expect(entries.filter(({ MESSAGE }) => /^<\d>/.test(MESSAGE))).toEqual([]);
    expect(entries.filter(({ PRIORITY }) => Number(PRIORITY) <= 3)).toEqual([]);
  });

  test("it is confined: an exposure of 2.0 or less, no privilege, a user of its own", async () => {
    const verdict = await machine.sh("systemd-analyze security --no-pager licmond | tail -n 1");
    const exposure = Number(/exposure level for licmond\.service: (\d+\.\d+)/.exec(verdict)?.[1]);
    expect(exposure).toBeLessThanOrEqual(2);
    const status = await machine.read(`/proc/${await mainPid(machine)}/status`);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(await machine.sh(`stat --format=%U /proc/${await mainPid(machine)}`)).toBe("licmond");
  });

  test("`systemctl start` with a bad config fails, says why, and gives up soon", async () => {
    await dropIn(machine, "test", "[Service]\nRestartSec=100ms");
    await configure(machine, `${SERVERS}[nonsense]\n`);
    const before = await mark(machine);
    await machine.sh("systemctl stop licmond; systemctl reset-failed licmond");
    expect((await machine.run("systemctl start licmond")).exitCode).toBe(1);
    await until(
      "systemd has given up",
      async () => (await show(machine, "ActiveState")).ActiveState === "failed" || undefined,
    );
    const said = (await journal(machine, before)).map(({ MESSAGE }) => MESSAGE).join("\n");
    expect(said).toContain("nonsense");
    await configure(machine, SERVERS);
    await dropIn(machine, "test", "");
    await restart(machine);
  });

  test("a start that the system refuses has the system's number of it", async () => {
    await dropIn(machine, "test", "[Service]\nRestart=no");
    await machine.sh("systemctl stop licmond; systemctl reset-failed licmond");
    {
      await using _taken = machine.start(`systemd-socket-activate --listen=0.0.0.0:${PORT} /bin/cat`);
      const listens = `grep --quiet ':${PORT.toString(16).toUpperCase()} ' /proc/net/tcp`;
      await until("the port is taken", async () => (await machine.run(listens)).exitCode === 0 || undefined);
      expect((await machine.run("systemctl start licmond")).exitCode).toBe(1);
      expect(await show(machine, "ActiveState", "StatusErrno")).toEqual({
        ActiveState: "failed",
        StatusErrno: "98",
      });
      const { stdout } = await machine.run("systemctl status licmond");
      expect(stdout).toMatch(/Status: "Could not start: Another program listens on \S+:8080\./);
      expect(stdout).toContain("Error: 98 (Address already in use)");
    }
    await dropIn(machine, "test", "");
    await restart(machine);
  });

  test("it is there again after the host was started anew, with what it knew", async () => {
    await allRead(machine, admin, ["eda", "cae"]);
    await machine.reboot();
    await until("it answers", async () => (await get(machine, "/api/ping")).status === 200 || undefined);
    expect((await get(machine, "/api/status", admin)).status).toBe(200);
    expect((await sessionIds(machine, admin)).length).toBeGreaterThanOrEqual(40);
    await allRead(machine, admin, ["eda", "cae"]);
    expect((await show(machine, "NRestarts")).NRestarts).toBe("0");
  });
});
