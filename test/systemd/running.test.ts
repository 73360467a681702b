import { beforeAll, describe, expect, test } from "bun:test";
import { bootedMachine } from "./booted.ts";
import { BASE, type Machine, until } from "./machine.ts";
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
const TWO_SERVERS = COLLECTOR + serverToml("eda", BUSY) + serverToml("cae");
const THREE_SERVERS = TWO_SERVERS + serverToml("plm");

/** The life of one machine: each test goes on from where the one before it left off. */
describe.skipIf(BASE === undefined)("the running service", () => {
  const machine = bootedMachine((fresh) => installed(fresh, TWO_SERVERS));
  let admin = "";
  beforeAll(async () => {
    await machine.sh("systemctl enable --now licmond");
    admin = await createKey(machine, "admin");
    await allRead(machine, admin, ["eda", "cae"]);
  });

  const serverIds = async () => {
    const { json } = await get<{ servers: { id: string }[] }>(machine, "/api/licenses/servers", admin);
    return (json?.servers ?? []).map(({ id }) => id).sort();
  };

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
    const state = await show(machine, "ActiveState", "NRestarts");
    expect(state).toEqual({ ActiveState: "active", NRestarts: "0" });
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
    await configure(machine, THREE_SERVERS);
    await machine.sh("systemctl reload licmond");
  });

  test("a process that stalls is killed by the watchdog and started again", async () => {
    expect((await show(machine, "WatchdogUSec")).WatchdogUSec).toBe("30s");
    await dropIn(machine, "test", "[Service]\nWatchdogSec=10s\nRestartSec=100ms");
    await restart(machine);
    const before = await mark(machine);
    const pid = await mainPid(machine);
    const fedAt = async () =>
      Number((await show(machine, "WatchdogTimestampMonotonic")).WatchdogTimestampMonotonic);
    const from = await fedAt();
    // Longer than the watchdog's patience: a healthy daemon feeds it, and is left alone.
    await until("it is fed for as long", async () => (await fedAt()) - from > 10e6 || undefined);
    expect(await mainPid(machine)).toBe(pid);
    await machine.sh(`kill -STOP ${pid}`);
    await until("another process is ready", async () => {
      const { MainPID, ActiveState, NRestarts } = await show(machine, "MainPID", "ActiveState", "NRestarts");
      return (MainPID !== String(pid) && ActiveState === "active" && Number(NRestarts) > 0) || undefined;
    });
    const said = (await journal(machine, before)).map(({ MESSAGE }) => MESSAGE).join("\n");
    expect(said).toContain("Watchdog timeout");
    expect(said).toContain("Failed with result 'watchdog'");
    expect((await get(machine, "/api/ping")).status).toBe(200);
    await dropIn(machine, "test", "");
    await restart(machine);
  });

  test("`kill -9` loses nothing that was told", async () => {
    await allRead(machine, admin, ["eda", "cae", "plm"]);
    const viewer = await createKey(machine, "viewer");
    // From the first event on: everything that any stream could have told.
    const told = await (async () => {
      await using stream = openStream(machine, admin, "&events=log,server_status,checkout,checkin", 1);
      return await until("the stored events have come, up to the newest", () => {
        const events = stream.events();
        return events.some(({ data }) => JSON.stringify(data).includes("test-viewer")) ? events : undefined;
      });
    })();
    const sessions = await sessionIds(machine, viewer);
    expect(sessions.length).toBeGreaterThanOrEqual(40);

    const pid = await mainPid(machine);
    await machine.sh(`kill -KILL ${pid}`);
    await until("another process is ready", async () => {
      const { MainPID, ActiveState } = await show(machine, "MainPID", "ActiveState");
      return (MainPID !== String(pid) && MainPID !== "0" && ActiveState === "active") || undefined;
    });
    expect(await sessionIds(machine, viewer)).toEqual(expect.arrayContaining(sessions));
    await using stream = openStream(machine, admin, "&events=log,server_status,checkout,checkin", 1);
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
    expect(await show(machine, "Result", "NRestarts")).toEqual({ Result: "success", NRestarts: "1" });
  });

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
    await machine.sh("systemctl stop licmond");
    const ended = { Result: "success", ExecMainStatus: "0", ActiveState: "inactive" };
    expect(await show(machine, "Result", "ExecMainStatus", "ActiveState")).toEqual(ended);
    await stream.running.ended;
    expect((await toolHangs()).stdout).toBe("");
    await configure(machine, THREE_SERVERS);
  });
});

interface StreamEvent {
  readonly id: number;
  readonly name: string;
  // Fields depend on the event's name.
  readonly data: Readonly<Record<string, unknown>>;
}

/** An event stream read by curl within the machine. `after` resumes after that event. */
function openStream(machine: Machine, key: string, query = "", after?: number) {
  const resume = after === undefined ? "" : `-H 'Last-Event-ID: ${after}'`;
  const url = `http://127.0.0.1:${PORT}/stream/combined?interval=3600000${query}`;
  const running = machine.start(`curl -sN -H 'X-API-Key: ${key}' ${resume} '${url}'`);
  return {
    running,
    events: () => eventsOf(running.output()),
    [Symbol.asyncDispose]: running[Symbol.asyncDispose],
  };
}

/** Whole events only: what follows the last empty line is still on its way. */
function eventsOf(text: string): StreamEvent[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .flatMap((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
      const [id, name, data] = [field("id"), field("event"), field("data")];
      if (id === undefined || name === undefined || data === undefined) return [];
      return [{ id: Number(id), name, data: JSON.parse(data) as StreamEvent["data"] }];
    });
}
