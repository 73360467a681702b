import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { BASE, createMachine, type Machine, until } from "./machine.ts";
import {
  allRead,
  BUSY,
  configure,
  createKey,
  download,
  dropIn,
  get,
  journal,
  mainPid,
  mark,
  serverToml,
  show,
} from "./service.ts";
import { openStream } from "./streams.ts";

const COLLECTOR = '[collector]\ninterval = "5s"\n';
const TWO_SERVERS = COLLECTOR + serverToml("eda", BUSY) + serverToml("cae");
const THREE_SERVERS = TWO_SERVERS + serverToml("plm");
const LONG = 60_000;

describe.skipIf(BASE === undefined)("the service", () => {
  let machine: Machine;
  let admin = "";

  beforeAll(async () => {
    machine = await createMachine();
    await machine.sh("echo 127.0.0.1 lic-eda lic-cae lic-plm >>/etc/hosts");
    await download(machine);
    await machine.sh("./licmond install");
    await configure(machine, TWO_SERVERS);
  }, LONG);
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
  }, LONG);

  const serverIds = async () => {
    const { json } = await get<{ servers: { id: string }[] }>(machine, "/api/licenses/servers", admin);
    return (json?.servers ?? []).map(({ id }) => id).sort();
  };
  /** An administrator who tries things out meets the limit of starts a minute; a test does not wait for it. */
  const restart = () => machine.sh("systemctl reset-failed licmond; systemctl restart licmond");

  test("after `install` and an edit, `check` finds nothing wrong", async () => {
    expect(await machine.sh("sudo licmond check")).toEndWith("All is well.");
    expect(await machine.sh("systemd-analyze verify licmond.service 2>&1")).toBe("");
  });

  test("`systemctl enable --now` returns when it answers", async () => {
    const ping = "curl -fsS --max-time 5 http://127.0.0.1:8080/api/ping";
    expect(await machine.sh(`systemctl enable --now licmond && ${ping}`)).toContain("pong");
    admin = await createKey(machine, "admin");
    await allRead(machine, admin, ["eda", "cae"]);
    // Once could be luck.
    for (let i = 0; i < 5; i++) {
      await machine.sh("systemctl stop licmond; systemctl reset-failed licmond");
      expect(await machine.sh(`systemctl start licmond && ${ping}`)).toContain("pong");
    }
  });

  test(
    "how long a start takes",
    async () => {
      const ready: number[] = [];
      const polled: number[] = [];
      for (let i = 0; i < 5; i++) {
        await restart();
        await allRead(machine, admin, ["eda", "cae"]);
        const at = await show(
          machine,
          "InactiveExitTimestampMonotonic",
          "ActiveEnterTimestampMonotonic",
          "ExecMainStartTimestamp",
        );
        const [begun, ended] = [
          Number(at.InactiveExitTimestampMonotonic),
          Number(at.ActiveEnterTimestampMonotonic),
        ];
        ready.push((ended - begun) / 1000);
        const started = await machine.sh(
          'date -d "$(systemctl show licmond -p ExecMainStartTimestamp --value --timestamp=us)" +%s%6N',
        );
        const { json } = await get<{ servers: { collectedAt: string }[] }>(
          machine,
          "/api/licenses/servers",
          admin,
        );
        const reads = (json?.servers ?? []).map(({ collectedAt }) => Date.parse(collectedAt));
        polled.push(Math.min(...reads) - Number(started) / 1000);
      }
      console.log(
        `from \`systemctl start\` to READY: ${figures(ready)}; to the first good poll: ${figures(polled)}`,
      );
      expect(Math.min(...ready)).toBeGreaterThan(0);
      expect(Math.min(...polled)).toBeGreaterThan(Math.min(...ready) / 2);
    },
    LONG,
  );

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
    console.log(verdict);
    expect(exposure).toBeLessThanOrEqual(2);
    const status = await machine.read(`/proc/${await mainPid(machine)}/status`);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(await machine.sh(`stat --format=%U /proc/${await mainPid(machine)}`)).toBe("licmond");
  });

  test("`systemctl reload` takes a good config; process and streams stay", async () => {
    const pid = await mainPid(machine);
    await using stream = openStream(machine, admin, "&events=server_status");
    await until("the stream is open", () => stream.running.output().includes("retry:") || undefined);
    await configure(machine, THREE_SERVERS);
    await machine.sh("systemctl reload licmond");
    await until("the new server is there", async () => (await serverIds()).includes("plm") || undefined);
    await allRead(machine, admin, ["eda", "cae", "plm"]);
    await until(
      "the open stream tells of it",
      () => stream.events().some(({ data }) => data.server === "plm" && data.to === "up") || undefined,
    );
    expect(await mainPid(machine)).toBe(pid);
    const { ActiveState, NRestarts } = await show(machine, "ActiveState", "NRestarts");
    expect({ ActiveState, NRestarts }).toEqual({ ActiveState: "active", NRestarts: "0" });
  });

  test("`systemctl reload` with a bad config fails and says why; what runs stays", async () => {
    const pid = await mainPid(machine);
    const before = await mark(machine);
    await configure(machine, THREE_SERVERS.replace('interval = "5s"', 'interval = "5 parsecs"'));
    expect((await machine.run("systemctl reload licmond")).exitCode).not.toBe(0);
    const said = (await journal(machine, before)).map(({ MESSAGE }) => MESSAGE).join("\n");
    expect(said).toContain("collector.interval");
    expect(said).toContain("5 parsecs");
    expect(await serverIds()).toEqual(["cae", "eda", "plm"]);
    expect(await mainPid(machine)).toBe(pid);
    expect((await show(machine, "ActiveState")).ActiveState).toBe("active");
  });

  test("a signal with a bad config: refused by the daemon itself, and its status says so", async () => {
    const pid = await mainPid(machine);
    await machine.sh("systemctl kill --kill-whom=main --signal=HUP licmond");
    await until(
      "the status says so",
      async () =>
        (await show(machine, "StatusText")).StatusText.includes("the config was refused") || undefined,
    );
    expect(await serverIds()).toEqual(["cae", "eda", "plm"]);
    expect(await mainPid(machine)).toBe(pid);
    await configure(machine, THREE_SERVERS);
    await machine.sh("systemctl reload licmond");
    await until(
      "the status forgets it",
      async () => !(await show(machine, "StatusText")).StatusText.includes("refused") || undefined,
    );
  });

  test(
    "a process that stalls is killed by the watchdog and started again",
    async () => {
      expect((await show(machine, "WatchdogUSec")).WatchdogUSec).toBe("30s");
      await dropIn(machine, "test", "[Service]\nWatchdogSec=3s\nRestartSec=100ms");
      await restart();
      const before = await mark(machine);
      const pid = await mainPid(machine);
      // Longer than the watchdog's patience: a healthy daemon is left alone.
      await Bun.sleep(5000);
      expect(await mainPid(machine)).toBe(pid);
      await machine.sh(`kill -STOP ${pid}`);
      await until(
        "another process is ready",
        async () => {
          const { MainPID, ActiveState, NRestarts } = await show(
            machine,
            "MainPID",
            "ActiveState",
            "NRestarts",
          );
          return (MainPID !== String(pid) && ActiveState === "active" && Number(NRestarts) > 0) || undefined;
        },
        30_000,
      );
      const said = (await journal(machine, before)).map(({ MESSAGE }) => MESSAGE).join("\n");
      expect(said).toContain("Watchdog timeout");
      expect(said).toContain("Failed with result 'watchdog'");
      expect((await get(machine, "/api/ping")).status).toBe(200);
      await dropIn(machine, "test", "");
      await restart();
    },
    LONG,
  );

  test(
    "`kill -9` loses nothing that was told",
    async () => {
      await allRead(machine, admin, ["eda", "cae", "plm"]);
      const viewer = await createKey(machine, "viewer");
      const sessionIds = async () => {
        const { json } = await get<{ sessions: { id: number }[]; total: number }>(
          machine,
          "/api/licenses/sessions?limit=10000",
          viewer,
        );
        return (json?.sessions ?? []).map(({ id }) => id);
      };
      // From the first event on: everything that any stream could have told.
      const told = await (async () => {
        await using stream = openStream(machine, viewer, "&events=log,server_status,checkout,checkin", 1);
        await until("the stored events have come", () => stream.events().length > 20 || undefined);
        await mainPid(machine);
        return stream.events();
      })();
      const sessions = await sessionIds();
      expect(sessions.length).toBeGreaterThanOrEqual(40);

      const pid = await mainPid(machine);
      const killedAt = performance.now();
      await machine.sh(`kill -KILL ${pid}`);
      await until(
        "another process is ready",
        async () => {
          const { MainPID, ActiveState } = await show(machine, "MainPID", "ActiveState");
          return (MainPID !== String(pid) && MainPID !== "0" && ActiveState === "active") || undefined;
        },
        30_000,
      );
      console.log(
        `back ${((performance.now() - killedAt) / 1000).toFixed(1)} s after kill -9 (RestartSec is 5 s)`,
      );

      expect(await sessionIds()).toEqual(expect.arrayContaining(sessions));
      await using stream = openStream(machine, viewer, "&events=log,server_status,checkout,checkin", 1);
      const last = told.at(-1)?.id ?? 0;
      const later = await until("events of the new process have come", () => {
        const events = stream.events();
        return events.some(({ id, data }) => id > last && String(data.message).startsWith("licmond started"))
          ? events
          : undefined;
      });
      expect(later.slice(0, told.length)).toEqual(told);
      const ids = later.map(({ id }) => id);
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
      const { Result, NRestarts } = await show(machine, "Result", "NRestarts");
      expect({ Result, NRestarts }).toEqual({ Result: "success", NRestarts: "1" });
    },
    LONG,
  );

  test("`systemctl stop` ends streams and tools that hang, within its time", async () => {
    await machine.write("/usr/local/bin/hanging-tool", "#!/bin/sh\nsleep 1000 & wait\n", 0o755);
    const toolHangs = () => machine.run("grep --no-messages --line-regexp sleep /proc/[0-9]*/comm");
    await configure(
      machine,
      `${THREE_SERVERS}[[servers]]\nid = "slow"\nmanager = "flexnet"\naddress = "27000@localhost"\ntool = "/usr/local/bin/hanging-tool"\n`,
    );
    await machine.sh("systemctl reload licmond");
    await using stream = openStream(machine, admin);
    await until("the stream is open", () => stream.running.output().includes("retry:") || undefined);
    await until("the tool hangs", async () => (await toolHangs()).exitCode === 0 || undefined);
    const startedAt = performance.now();
    await machine.sh("systemctl stop licmond");
    console.log(
      `stopped in ${(performance.now() - startedAt).toFixed(0)} ms with a stream open and a tool that hangs`,
    );
    const { Result, ExecMainStatus, ActiveState } = await show(
      machine,
      "Result",
      "ExecMainStatus",
      "ActiveState",
    );
    expect({ Result, ExecMainStatus, ActiveState }).toEqual({
      Result: "success",
      ExecMainStatus: "0",
      ActiveState: "inactive",
    });
    await stream.running.ended;
    expect((await toolHangs()).stdout).toBe("");
    await configure(machine, THREE_SERVERS);
  });

  test(
    "`systemctl start` with a bad config fails, says why, and gives up soon",
    async () => {
      await dropIn(machine, "test", "[Service]\nRestartSec=100ms");
      await configure(machine, `${THREE_SERVERS}[nonsense]\n`);
      const before = await mark(machine);
      expect((await machine.run("systemctl reset-failed licmond; systemctl start licmond")).exitCode).toBe(1);
      await until(
        "systemd has given up",
        async () => (await show(machine, "ActiveState")).ActiveState === "failed" || undefined,
      );
      const said = (await journal(machine, before)).map(({ MESSAGE }) => MESSAGE).join("\n");
      expect(said).toContain("nonsense");
      await configure(machine, THREE_SERVERS);
      await dropIn(machine, "test", "");
      await restart();
    },
    LONG,
  );

  test(
    "it is there again after the host was started anew, with what it knew",
    async () => {
      await allRead(machine, admin, ["eda", "cae", "plm"]);
      await machine.reboot();
      await until("it answers", async () => (await get(machine, "/api/ping")).status === 200 || undefined);
      expect((await get(machine, "/api/status", admin)).status).toBe(200);
      expect(await serverIds()).toEqual(["cae", "eda", "plm"]);
      await allRead(machine, admin, ["eda", "cae", "plm"]);
      expect((await show(machine, "NRestarts")).NRestarts).toBe("0");
    },
    LONG,
  );
});

/** Milliseconds: the middle one, and the range. */
function figures(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => `${Math.round(sorted[index] ?? Number.NaN)} ms`;
  return `${at(Math.floor(sorted.length / 2))} (${at(0)} to ${at(sorted.length - 1)})`;
}
