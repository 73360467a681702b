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
const THREE_SERVERS = SERVERS + serverToml("plm");

describe.skipIf(BASE === undefined)("the service", () => {
  const machine = bootedMachine((fresh) => installed(fresh, SERVERS));
  let admin = "";

  const saidSince = async (cursor: string) =>
    (await journal(machine, cursor)).map(({ MESSAGE }) => MESSAGE).join("\n");
  const serverIds = async () => {
    const { json } = await get<{ servers: { id: string }[] }>(machine, "/api/licenses/servers", admin);
    return (json?.servers ?? []).map(({ id }) => id).sort();
  };
  /** Waits until systemd has started a new process. */
  const untilAnother = (pid: number) =>
    until("another process is ready", async () => {
      const { MainPID, ActiveState } = await show(machine, "MainPID", "ActiveState");
      return (!["0", String(pid)].includes(MainPID) && ActiveState === "active") || undefined;
    });
  const openStream = async (query = "") => {
    const url = `http://127.0.0.1:${PORT}/stream/combined?interval=3600000${query}`;
    const stream = machine.start(`curl -sN -H 'X-API-Key: ${admin}' '${url}'`);
    await until("the stream is open", () => stream.output().includes("retry:") || undefined);
    return stream;
  };

  test("after `install` and an edit, `check` finds no problem", async () => {
    // One host of the simulated triad is down, which a poll would report.
    expect(await machine.sh("sudo licmond check --no-poll")).toEndWith("No problems found.");
    expect(await machine.sh("systemd-analyze verify licmond.service 2>&1")).toBe("");
  });

  test("`systemctl enable --now` returns when the daemon answers", async () => {
    const ping = "curl -fsS --max-time 30 http://127.0.0.1:8080/api/ping";
    expect(await machine.sh(`systemctl enable --now licmond && ${ping}`)).toContain("pong");
    admin = await createKey(machine, "admin");
    await allRead(machine, admin, ["eda", "cae"]);
    // Repeat, because one success may be luck.
    for (let i = 0; i < 5; i++) {
      await machine.sh("systemctl stop licmond; systemctl reset-failed licmond");
      expect(await machine.sh(`systemctl start licmond && ${ping}`)).toContain("pong");
    }
  });

  test("`systemctl status` shows the state, and the journal has the priority of each line", async () => {
    const status = /^http:\/\/127\.0\.0\.1:8080, 2 servers: 1 up, 1 degraded, last poll .* UTC$/;
    await until(
      "the status line has the servers",
      async () => status.test((await show(machine, "StatusText")).StatusText) || undefined,
    );
    const shown = await machine.sh("systemctl status licmond");
    expect(shown).toContain('Status: "http://127.0.0.1:8080, 2 servers:');
    const entries = (await journal(machine)).filter(({ _COMM }) => _COMM === "licmond");
    const priorityOf = (text: string) => entries.find(({ MESSAGE }) => MESSAGE.includes(text))?.PRIORITY;
    expect(priorityOf("licmond started")).toBe("6");
    expect(priorityOf("Only this host can connect")).toBe("4");
    // journald removes the priority prefix.
    expect(entries.filter(({ MESSAGE }) => /^<\d>/.test(MESSAGE))).toEqual([]);
    expect(entries.filter(({ PRIORITY }) => Number(PRIORITY) <= 3)).toEqual([]);
  });

  test("is confined: an exposure of at most 2.0, no privileges, its own user", async () => {
    const verdict = await machine.sh("systemd-analyze security --no-pager licmond | tail -n 1");
    const exposure = Number(/exposure level for licmond\.service: (\d+\.\d+)/.exec(verdict)?.[1]);
    expect(exposure).toBeLessThanOrEqual(2);
    const pid = await mainPid(machine);
    const status = await machine.read(`/proc/${pid}/status`);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(await machine.sh(`stat --format=%U /proc/${pid}`)).toBe("licmond");
  });

  test("its sockets accept root as admin and the group as viewer, and no one else", async () => {
    const modes = "stat --format='%a %U:%G' /run/licmond /run/licmond/admin.sock /run/licmond/viewer.sock";
    expect(await machine.sh(modes)).toBe("750 licmond:licmond\n600 licmond:licmond\n660 licmond:licmond");
    const curl = "curl -so /dev/null -w '%{http_code}' --unix-socket /run/licmond";
    const ask = (who: string, socket: string) =>
      machine.sh(`${who} ${curl}/${socket} http://localhost/api/keys || true`);
    const group = "setpriv --reuid=nobody --regid=nogroup --groups=licmond";
    const other = "setpriv --reuid=nobody --regid=nogroup --clear-groups";
    expect(await ask("", "admin.sock")).toBe("200");
    expect(await ask(group, "viewer.sock")).toBe("403");
    expect(await ask(group, "admin.sock")).toBe("000");
    expect(await ask(other, "viewer.sock")).toBe("000");
  });

  test("`systemctl start` with an invalid config fails, says why, and gives up soon", async () => {
    await dropIn(machine, "test", "[Service]\nRestartSec=100ms");
    await configure(machine, `${SERVERS}[nonsense]\n`);
    const before = await mark(machine);
    await machine.sh("systemctl stop licmond; systemctl reset-failed licmond");
    expect((await machine.run("systemctl start licmond")).exitCode).toBe(1);
    await until(
      "systemd has given up",
      async () => (await show(machine, "ActiveState")).ActiveState === "failed" || undefined,
    );
    expect(await saidSince(before)).toContain("nonsense");
    await configure(machine, SERVERS);
    await dropIn(machine, "test", "");
    await restart(machine);
  });

  test("runs again after a reboot, with its data", async () => {
    await allRead(machine, admin, ["eda", "cae"]);
    await machine.reboot();
    await until("it answers", async () => (await get(machine, "/api/ping")).status === 200 || undefined);
    expect((await sessionIds(machine, admin)).length).toBeGreaterThanOrEqual(40);
    await allRead(machine, admin, ["eda", "cae"]);
    expect((await show(machine, "NRestarts")).NRestarts).toBe("0");
  });

  test("`systemctl reload` applies a valid config; process and streams stay", async () => {
    const pid = await mainPid(machine);
    await using stream = await openStream("&events=server_status");
    await configure(machine, THREE_SERVERS);
    await machine.sh("systemctl reload licmond");
    await until("the new server is there", async () => (await serverIds()).includes("plm") || undefined);
    await allRead(machine, admin, ["eda", "cae", "plm"]);
    const isTold = /^data: (?=.*"server":"plm").*"to":"up"/m;
    await until("the open stream tells of it", () => isTold.test(stream.output()) || undefined);
    const state = { MainPID: String(pid), ActiveState: "active", NRestarts: "0" };
    expect(await show(machine, "MainPID", "ActiveState", "NRestarts")).toEqual(state);
  });

  test("`systemctl reload` with an invalid config fails and says why; the old config stays", async () => {
    const pid = await mainPid(machine);
    const before = await mark(machine);
    await configure(machine, THREE_SERVERS.replace('interval = "5s"', 'interval = "5 parsecs"'));
    expect((await machine.run("systemctl reload licmond")).exitCode).not.toBe(0);
    expect(await saidSince(before)).toMatch(/collector\.interval.*5 parsecs/);
    expect(await serverIds()).toEqual(["cae", "eda", "plm"]);
    const state = { MainPID: String(pid), ActiveState: "active" };
    expect(await show(machine, "MainPID", "ActiveState")).toEqual(state);
    await configure(machine, THREE_SERVERS);
    await machine.sh("systemctl reload licmond");
  });

  test("the watchdog kills and restarts a process that stalls", async () => {
    expect((await show(machine, "WatchdogUSec")).WatchdogUSec).toBe("30s");
    await dropIn(machine, "test", "[Service]\nWatchdogSec=10s\nRestartSec=100ms");
    await restart(machine);
    const before = await mark(machine);
    const pid = await mainPid(machine);
    const fedAt = async () =>
      Number((await show(machine, "WatchdogTimestampMonotonic")).WatchdogTimestampMonotonic);
    const from = await fedAt();
    // Watch a healthy daemon for longer than the watchdog's timeout: it is not restarted.
    await until("it is fed for as long", async () => (await fedAt()) - from > 10e6 || undefined);
    expect(await mainPid(machine)).toBe(pid);
    await machine.sh(`kill -STOP ${pid}`);
    await untilAnother(pid);
    const said = await saidSince(before);
    expect(said).toContain("Watchdog timeout");
    expect(said).toContain("Failed with result 'watchdog'");
    expect((await get(machine, "/api/ping")).status).toBe(200);
    await dropIn(machine, "test", "");
    await restart(machine);
  });

  test("systemd restarts it after `kill -9`, and no stored data is lost", async () => {
    await allRead(machine, admin, ["eda", "cae", "plm"]);
    const sessions = await sessionIds(machine, admin);
    expect(sessions.length).toBeGreaterThanOrEqual(40);
    const pid = await mainPid(machine);
    await machine.sh(`kill -KILL ${pid}`);
    await untilAnother(pid);
    expect(await sessionIds(machine, admin)).toEqual(expect.arrayContaining(sessions));
    expect(await show(machine, "Result", "NRestarts")).toEqual({ Result: "success", NRestarts: "1" });
  });

  test("`systemctl stop` ends streams and hanging tools in time", async () => {
    const tool = "/usr/local/bin/hanging-tool";
    await machine.write(tool, "#!/bin/sh\nsleep 1000 & wait\n", 0o755);
    const toolHangs = () => machine.run("grep --no-messages --line-regexp sleep /proc/[0-9]*/comm");
    await configure(machine, THREE_SERVERS + serverToml("slow", [tool]).replace("lic-slow", "localhost"));
    await machine.sh("systemctl reload licmond");
    await using stream = await openStream();
    await until("the tool hangs", async () => (await toolHangs()).exitCode === 0 || undefined);
    await machine.sh("systemctl stop licmond");
    const ended = { Result: "success", ExecMainStatus: "0", ActiveState: "inactive" };
    expect(await show(machine, "Result", "ExecMainStatus", "ActiveState")).toEqual(ended);
    await stream.ended;
    expect((await toolHangs()).stdout).toBe("");
  });
});
