import { expect, test } from "bun:test";
import type { Answer, Command } from "../../src/fleet/protocol.ts";
import { until } from "../until.ts";
import { describeHub } from "./describe-hub.ts";
import { pictureStates, simulatedPictures } from "./pictures.ts";
import { startHub, type TestHub } from "./rig.ts";

const NOW = Date.now();

interface Failure {
  readonly code: string;
  readonly message: string;
}

/** Data that a site sends with an outcome. */
interface Told {
  readonly facts?: readonly object[];
  readonly states?: readonly object[];
  readonly at?: TestHub;
}

describeHub("commands to sites", { each: true, config: '[collector]\nrescan_timeout = "3s"\n' }, (at) => {
  const { hub, keys } = at;
  const post = (path: string, body: object = {}, key = keys.operator) => hub.post(path, body, key);
  const failureOf = async (response: Response) => {
    const { code, message } = (await response.json()) as Failure;
    return { status: response.status, code, message };
  };

  const ALERT = {
    ...{ id: 7, rule: "seats", severity: "warning", state: "firing", server: "eda", daemon: "siliqd" },
    ...{ feature: "LogicSim_Pro", message: "Short", value: 95, threshold: 90, peakValue: 95 },
    ...{ startedAt: new Date(NOW - 60_000).toISOString(), firedAt: new Date(NOW).toISOString() },
    ...{ resolvedAt: null, acknowledged: false, acknowledgedAt: null, acknowledgedBy: null, comment: null },
    silencedUntil: null,
  };

  /** Creates a site that has pushed its servers, an alert and the commands that it allows. */
  async function joined(name: string, allow: readonly string[] = ["rescan", "acknowledge", "execute"]) {
    const site = await at.site(name);
    const pictures = simulatedPictures(1, NOW);
    const states = pictureStates(pictures).map((state) =>
      state.kind === "site" ? { ...state, allow } : state,
    );
    let seq = 0;
    const push = (more: object = {}, facts: readonly object[] = [], at = hub) => {
      const from = seq + 1;
      seq += facts.length;
      const numbered = facts.map((fact, index) => ({ ...fact, seq: from + index }));
      const around = { from, to: seq, head: seq, sentAt: Date.now(), begins: from === 1, facts: numbered };
      return site.sends(at.url, site.push({ ...around, ...more } as object));
    };
    await push({ states: [...states, { kind: "alerts", firing: [ALERT] }] });
    await until("the hub knows the site", async () => {
      const { status } = await hub.get(`/api/licenses/servers/${name}:eda`);
      return status === 200 || undefined;
    });
    return {
      push,
      /** Pushes until the answer has commands. */
      fetched: (at = hub): Promise<Command[]> =>
        until("a command comes", async () => {
          const { commands }: Answer = await push({}, [], at);
          return commands.length > 0 ? [...commands] : undefined;
        }),
      /** Pushes the outcome of a command. */
      report: (command: string, outcome: object, more: Told = {}) => {
        const { facts = [], states = [], at = hub } = more;
        const nothing = { outcome: "done", code: null, message: null, results: null, run: null };
        return push({ states }, [...facts, { kind: "outcome", command, ...nothing, ...outcome }], at);
      },
    };
  }
  type Joined = Awaited<ReturnType<typeof joined>>;

  const alertId = async () => Number((await at.pool`SELECT id FROM alerts WHERE site_id = 7`)[0].id);
  const RESCAN = "/api/licenses/rescan";

  test("a rescan reaches its site with the caller's name, and its outcome is the answer, through either hub", async () => {
    const site = await joined("muc");
    await using second = await startHub(at.database);
    const asked = post(RESCAN, { servers: ["muc:eda"] });
    const [command] = await site.fetched(second);
    expect(command).toMatchObject({
      command: "rescan",
      servers: ["eda"],
      by: { name: "operator", role: "operator", key: expect.stringMatching(/^[a-z0-9]{12}$/) },
    });
    expect(command?.expiresInMs).toBeWithin(240_000, 300_001);
    const row = { server: "eda", status: "ok", durationMs: 12, error: null };
    await site.report(command?.id ?? "", { results: [row] }, { at: second });
    const response = await asked;
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ results: [{ site: "muc", ...row, server: "muc:eda" }] });
    expect((await site.push()).commands).toEqual([]);
  });

  const error = (code: string) => ({ code, message: "The server does not answer." });
  const failedPoll = (code: string) => ({
    results: [{ server: "eda", status: "failed", durationMs: 3, error: error(code) }],
  });
  const cannot = { outcome: "failed", code: "TIMEOUT", message: "It took too long." };
  const refuses = { outcome: "refused", code: "AUTH_INSUFFICIENT", message: "No." };
  const UNREACHABLE = "LICENSE_SERVER_UNREACHABLE";
  const OUTCOMES: [what: string, outcome: object, status: number, code: string, message: RegExp][] = [
    ["the poll failed", failedPoll(UNREACHABLE), 502, UNREACHABLE, /not answer/],
    ["an error of a newer site", failedPoll("NEVER_HEARD"), 502, "UPSTREAM_ERROR", /not answer/],
    ["the site could not", cannot, 504, "TIMEOUT", /too long/],
    ["without words", { outcome: "failed" }, 502, "UPSTREAM_ERROR", /muc failed to run the command/],
    ["the site refuses", refuses, 403, "AUTH_INSUFFICIENT", /muc.+"rescan".+fleet\.allow/],
  ];
  test.each(OUTCOMES)("a rescan of one server: %s", async (_what, outcome, status, code, message) => {
    const site = await joined("muc");
    const asked = post(RESCAN, { servers: ["muc:eda"] });
    const [command] = await site.fetched();
    await site.report(command?.id ?? "", outcome);
    const failure = await failureOf(await asked);
    expect(failure).toMatchObject({ status, code });
    expect(failure.message).toMatch(message);
  });

  test("a begun command has no outcome yet; without an outcome the answer is TIMEOUT and says what happens next", async () => {
    const site = await joined("muc");
    const asked = post(RESCAN, { servers: ["muc:eda"] });
    const [command] = await site.fetched();
    await site.report(command?.id ?? "", { outcome: "begun" });
    const failure = await failureOf(await asked);
    expect(failure).toMatchObject({ status: 504, code: "TIMEOUT" });
    expect(failure.message).toMatch(
      /^The site muc has not answered within 3 s\. The command is still on its way: .+ before 2/,
    );
    // The hub sends the command again until the command expires.
    expect((await site.push()).commands).toHaveLength(1);
    await at.pool`UPDATE commands SET expires_at = ${Date.now()}`;
    expect((await site.push()).commands).toEqual([]);
  });

  test("several sites are asked at once, and each site's failure is in its rows", async () => {
    const muc = await joined("muc");
    const blr = await joined("blr");
    await joined("sjc", ["acknowledge"]);
    await joined("off");
    await at.pool`UPDATE sites SET last_push_at = last_push_at - 720000 WHERE site = 'off'`;
    await until("the hub knows that a site is silent", async () => {
      const one = await hub.json<{ state: string }>("/api/licenses/servers/off:eda");
      return one.state === "stale" || undefined;
    });
    const servers = ["off:eda", "muc:eda", "sjc:eda", "blr:eda"];
    const asked = post(RESCAN, { servers });
    const answer = async (site: Joined, error: object | null) => {
      const [command] = await site.fetched();
      const status = error === null ? "partial" : "failed";
      await site.report(command?.id ?? "", { results: [{ server: "eda", status, durationMs: 1, error }] });
    };
    await Promise.all([
      answer(muc, null),
      answer(blr, { code: "LICENSE_PARSE_ERROR", message: "Not understood." }),
    ]);
    const response = await asked;
    expect(response.status).toBe(200);
    const { results } = (await response.json()) as { results: { server: string; error: Failure | null }[] };
    expect(results.map(({ server, error }) => [server, error?.code ?? null])).toEqual([
      ["off:eda", "SERVICE_UNAVAILABLE"],
      ["muc:eda", null],
      ["sjc:eda", "AUTH_INSUFFICIENT"],
      ["blr:eda", "LICENSE_PARSE_ERROR"],
    ]);
    expect(results[0]?.error?.message).toMatch(/^The site off has been silent for 12 min/);
    // Each site got at most one command. Sites that cannot run the command got none.
    const sent = await at.pool`SELECT site, count(*)::int AS count FROM commands GROUP BY site ORDER BY site`;
    expect(sent.map(({ site, count }: { site: string; count: number }) => [site, count])).toEqual([
      ["blr", 1],
      ["muc", 1],
    ]);
  });

  test("a silent site is 503 at once, a site that forbids the command 403, and neither gets it", async () => {
    await joined("muc", ["rescan"]);
    const execute = await failureOf(
      await post("/api/execute", { command: "reread", server: "muc:eda" }, keys.admin),
    );
    expect(execute).toMatchObject({ status: 403, code: "AUTH_INSUFFICIENT" });
    expect(execute.message).toContain('must add "execute" to fleet.allow');
    const acknowledge = await post(`/api/licenses/alerts/${await alertId()}/acknowledge`);
    expect((await failureOf(acknowledge)).message).toContain('must add "acknowledge" to fleet.allow');
    await at.pool`UPDATE sites SET last_push_at = last_push_at - 31000`;
    const silent = await until("the site is silent", async () => {
      const response = await post(RESCAN, { servers: ["muc:eda"] });
      return response.status === 503 ? response : undefined;
    });
    expect(silent.headers.get("retry-after")).toBe("30");
    expect((await failureOf(silent)).message).toMatch(/^The site muc has been silent for \d+ s/);
    expect(await at.pool`SELECT 1 FROM commands WHERE body NOT LIKE '%rescan%'`).toHaveLength(0);
  });

  test("an alert is acknowledged at its site by the site's id, and the answer shows the new state", async () => {
    const site = await joined("muc");
    const id = await alertId();
    const asked = post(`/api/licenses/alerts/${id}/acknowledge`, { comment: "Ann <b>looks</b>" });
    const [command] = await site.fetched();
    expect(command).toMatchObject({ command: "acknowledge", alert: 7, comment: "Ann <b>looks</b>" });
    const after = {
      ...ALERT,
      acknowledged: true,
      acknowledgedAt: new Date(NOW + 1000).toISOString(),
      acknowledgedBy: "operator",
      comment: "Ann <b>looks</b>",
    };
    const event = {
      type: "alert",
      id: "alert-1",
      timestamp: after.acknowledgedAt,
      alert: 7,
      change: "acknowledged",
    };
    const { id: _, ...fields } = after;
    const fact = { kind: "event", id: 1, event: { ...event, ...fields, durationSeconds: 60 } };
    await site.report(
      command?.id ?? "",
      {},
      { facts: [fact], states: [{ kind: "alerts", firing: [after] }] },
    );
    const response = await asked;
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ ...after, id, site: "muc", siteId: 7, server: "muc:eda" });
  });

  test("a silence is sent with its end, and the answer shows the site's alert", async () => {
    const site = await joined("muc");
    const id = await alertId();
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const answered = async (outcome: object) => {
      const asked = post(`/api/licenses/alerts/${id}/silence`, { until });
      const [command] = await site.fetched();
      expect(command).toMatchObject({
        command: "silence",
        alert: 7,
        until: Date.parse(until),
        comment: null,
      });
      await site.report(command?.id ?? "", outcome);
      return failureOf(await asked);
    };
    const fails = (code: string) => answered({ outcome: "failed", code, message: "Full." });
    expect(await fails("CONFLICT")).toMatchObject({ status: 409, code: "CONFLICT" });
    expect(await fails("NOT_FOUND")).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect(await fails("DATABASE_ERROR")).toMatchObject({ status: 500, message: "Full." });
    expect(await failureOf(await post("/api/licenses/alerts/999999/acknowledge"))).toMatchObject({
      status: 404,
    });
    await at.pool`UPDATE alerts SET resolved_at = ${NOW} WHERE id = ${id}`;
    expect(await failureOf(await post(`/api/licenses/alerts/${id}/acknowledge`))).toMatchObject({
      status: 409,
    });
  });

  test("a command runs at its server's site, with the roles of the daemon", async () => {
    const site = await joined("muc");
    const execute = (body: object, key = keys.admin) => post("/api/execute", body, key);
    const server = "muc:eda";
    const refused: [body: object, key: string, status: number, message: RegExp][] = [
      [
        { command: "remove", server, args: { handle: "1" } },
        keys.operator,
        403,
        /remove needs a key with the role admin/,
      ],
      [{ command: "reread" }, keys.admin, 400, /"server" is missing/],
      [{ command: "reread", server, dryRun: true }, keys.admin, 400, /dryRun/],
      [{ command: "reread", server: "muc:nobody" }, keys.admin, 404, /nobody/],
    ];
    for (const [body, key, status, message] of refused) {
      const failure = await failureOf(await execute(body, key));
      expect(failure).toMatchObject({ status });
      expect(failure.message).toMatch(message);
    }
    expect(await at.pool`SELECT 1 FROM commands`).toHaveLength(0);
    const asked = execute(
      { command: "own thing", server, args: { user: "=cmd()" }, timeoutMs: 5000 },
      keys.operator,
    );
    const [command] = await site.fetched();
    expect(command).toMatchObject({
      ...{ command: "execute", name: "own thing", server: "eda", args: { user: "=cmd()" }, timeoutMs: 5000 },
      by: { role: "operator" },
    });
    await site.report(command?.id ?? "", { run: { exitCode: 0, durationMs: 40 } });
    expect(await (await asked).json()).toEqual({
      ...{ site: "muc", server, command: "own thing", exitCode: 0, durationMs: 40 },
    });
    const list = await hub.json<{ commands: { command: string; allowed: boolean }[] }>(
      "/api/execute",
      keys.operator,
    );
    expect(list.commands.map(({ command, allowed }) => [command, allowed])).toEqual([
      ["status", true],
      ["diagnose", true],
      ["reread", false],
      ["remove", false],
    ]);
  });

  test("refresh=true polls at the sites first", async () => {
    const site = await joined("muc");
    const asked = hub.get("/api/licenses?refresh=true&server=muc:eda", keys.operator);
    const [command] = await site.fetched();
    expect(command).toMatchObject({ command: "rescan", servers: ["eda"] });
    await site.report(command?.id ?? "", {
      results: [{ server: "eda", status: "ok", durationMs: 1, error: null }],
    });
    expect((await asked).status).toBe(200);
    expect((await hub.get("/api/licenses?refresh=true")).status).toBe(403);
  });
});
