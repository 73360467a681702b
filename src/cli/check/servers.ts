import recheck from "recheck/lib/browser.js" with { type: "file" };
import { createMaintenance } from "../../alerts/settings.ts";
import { createReachability } from "../../collector/reachability.ts";
import { inspectTool } from "../../collector/tool.ts";
import type { Environment } from "../../config/environment.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { countOf } from "../../domain/plain-text.ts";
import type { PollOutcome } from "../../domain/poll.ts";
import { applyPoll } from "../../domain/polls/apply-poll.ts";
import { printPath } from "../../domain/schema-problems.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { span } from "../../domain/time/clock.ts";
import { type ClockSkew, clockSkew, zoneSkewByAges } from "../../domain/time/zone.ts";
import { sessionAges } from "../../history/sessions/sessions.ts";
import { expressionsOf, type Profile } from "../../managers/profile.ts";
import { builtInManager, managerOf } from "../../managers/registry.ts";
import { isSecret, needsSecret } from "../../managers/secrets.ts";
import { createProber } from "../probe.ts";
import { isLoopback } from "../serve.ts";
import type { Report } from "../terminal.ts";
import { fromDatabase, type Look, whyUnreadable } from "./files.ts";

type OwnManagers = Look["config"]["managers"];

export function checkTools({ config, env, report }: Look): void {
  for (const server of config.servers) {
    const { id, enabled, manager } = server;
    const { title, experimental } = managerOf(manager, config.managers);
    if (experimental) {
      const ask = `please send us the output of \`licmond probe ${id} --raw\``;
      report.warning(`${id}: manager`, `${title} is experimental, not fully tested on real output; ${ask}`);
    }
    checkSecret(server, config.managers, report);
    const finding = toolOf(server, config.managers, env);
    const what = `${id}: tool`;
    if (finding === null) continue;
    if (finding.ok) report.fine(what, finding.path);
    else if (enabled) report.problem(what, finding.failure.message, finding.failure.fix);
    else report.warning(what, `${finding.failure.message} (the server is disabled)`);
  }
}

/** Returns null if the manager needs no tool. */
function toolOf({ manager, tool }: MonitoredServer, own: OwnManagers, { PATH = "" }: Environment) {
  const { tools } = managerOf(manager, own);
  return tools.length === 0 ? null : inspectTool(tool?.slice(0, 1) ?? tools, PATH);
}

function checkSecret(server: MonitoredServer, own: OwnManagers, report: Report): void {
  const { id, manager, address, secretFile } = server;
  const { title, parseAddress, steps } = managerOf(manager, own);
  if (secretFile === null || "problem" in parseAddress(address)) return;
  const asked = steps([""], address, true).filter(needsSecret);
  const what = `${id}: secret_file`;
  if (asked.length === 0) report.warning(what, `has no effect: ${title} does not use a secret`);
  const urls = asked.flatMap((step) =>
    "request" in step ? [step.request, ...(step.login ? [step.login] : [])] : [],
  );
  for (const { protocol, host, hostname } of urls.filter(isSecret).map(({ url }) => new URL(url)))
    if (protocol === "http:" && !isLoopback(hostname))
      report.warning(what, `plain HTTP to ${host}: the secret is sent unencrypted`);
}

/** Checks that host names resolve. A server that does not answer is a warning. */
export async function checkHosts({ config, report }: Look): Promise<void> {
  const measure = createReachability();
  await Promise.all(
    config.servers.map(async ({ id, manager, address, enabled }) => {
      const parsed = managerOf(manager, config.managers).parseAddress(address);
      if ("problem" in parsed) return;
      if (parsed.members.length === 0) return checkLicenseFile(id, address, report);
      const what = `${id}: host`;
      const measured = enabled ? await measure(parsed.members) : [];
      for (const { host, port, addresses, error, reachable } of measured) {
        const name = port === null ? host : `${port}@${host}`;
        const unresolved = `${name} cannot be resolved (${error ?? "no address"})`;
        if (addresses.length === 0)
          report.problem(what, unresolved, "correct the address, or the name service");
        else if (reachable === false)
          report.warning(what, `${name} resolves, but does not answer (${error ?? "no answer"})`);
        else report.fine(what, `${name} is ${addresses.join(", ")}`);
      }
    }),
  );
}

function checkLicenseFile(id: string, file: string, report: Report): void {
  const cannot = `the license file ${file} cannot be read by this user`;
  if (whyUnreadable(file) === null) report.fine(`${id}: address`, `${file} is readable`);
  else report.problem(`${id}: address`, cannot, "correct the address, or its permissions");
}

/**
 * Maximum number of simultaneous polls, and the time within which polls may begin. They limit the total
 * wait for servers that do not answer. A poll that has begun keeps its own timeout.
 */
const LIMITS = { atOnce: 32, beginWithinMs: 60_000 };

/** Polls every server once, like the daemon, and checks its answer and clock. */
export async function checkPolls(look: Look, { atOnce, beginWithinMs } = LIMITS): Promise<void> {
  const { config, env, now, report } = look;
  const prober = createProber(env, config.managers);
  // Skip servers with a broken tool or address, which have already been reported.
  const isAddress = ({ manager, address }: MonitoredServer) =>
    !("problem" in managerOf(manager, config.managers).parseAddress(address));
  const waiting = config.servers.filter(
    (each) => each.enabled && isAddress(each) && toolOf(each, config.managers, env)?.ok !== false,
  );
  const inMaintenance = createMaintenance(config.maintenance);
  const began = performance.now();
  const ask = async () => {
    while (performance.now() - began < beginWithinMs) {
      const server = waiting.shift();
      if (server === undefined) return;
      tell(server, await prober.poll(server), inMaintenance(server.id, now), report);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, ask)).finally(prober.end);
  if (waiting.length === 0) return;
  const names = waiting.map(({ id }) => id).join(", ");
  const late = `not polled, because others took longer than ${beginWithinMs / 1000} s`;
  report.warning("poll", `${late}: ${names} (poll one with \`licmond probe ID\`)`);
}

function tell(server: MonitoredServer, outcome: PollOutcome, inMaintenance: boolean, report: Report): void {
  const { error, reading, startedAt: askedAt, finishedAt: answeredAt } = outcome;
  const what = `${server.id}: poll`;
  const picture = applyPoll(null, server, outcome, null);
  const trouble = error === null ? troubleOf(picture) : `${error.code}: ${error.message}`;
  if (trouble !== null && inMaintenance) report.warning(what, `${trouble} (in a maintenance window)`);
  else if (trouble !== null)
    report.problem(what, trouble, `check the tool's output: \`licmond probe ${server.id} --raw\``);
  if (reading === null) return;
  const checkouts = reading.features.flatMap((feature) => feature.checkouts);
  const counts = `${countOf(reading.features.length, "feature")}, ${countOf(checkouts.length, "checkout")}`;
  const gaps = error === null ? gapsOf(picture) : [];
  if (gaps.length > 0) report.warning(what, [`answers: ${counts}`, ...gaps].join("; "));
  else if (trouble === null) report.fine(what, `answers: ${counts}`);
  const reportTime = builtInManager(server.manager)?.printsServerClock ? reading.reportTime : null;
  const starts = checkouts.flatMap(({ startedAt }) => startedAt ?? []);
  const latestStart = starts.length === 0 ? null : starts.reduce((latest, at) => Math.max(latest, at));
  const skew = clockSkew({ reportTime, latestStart, askedAt, answeredAt, zone: server.timezone });
  if (skew !== null) report.problem(`${server.id}: clock`, ...clockWords(skew, server.timezone));
  else if (reportTime !== null) report.fine(`${server.id}: clock`, "in sync with this host");
}

function troubleOf({ status, members, daemons }: ServerPicture): string | null {
  if (status === "up") return null;
  const parts = [...members.map(({ host, status }) => ({ name: host, status })), ...daemons];
  const lost = parts.filter((part) => part.status !== "up").map(({ name, status }) => `${name} is ${status}`);
  return `answers, but is ${status}: ${lost.join(", ")}`;
}

const MAX_NAMES = 5;

function gapsOf({ state, features, cut, unparsedLines }: ServerPicture): string[] {
  if (state !== "partial") return [];
  const names = features.flatMap((feature) => (feature.state === "partial" ? [feature.name] : []));
  const gaps: string[] = [];
  if (cut) gaps.push("its output is truncated");
  if (unparsedLines > 0) {
    const were = unparsedLines === 1 ? "was" : "were";
    gaps.push(`${countOf(unparsedLines, "line")} ${were} not recognized`);
  }
  if (names.length > 0) {
    const shown = names.slice(0, MAX_NAMES).join(", ");
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
    const are = names.length === 1 ? "is partial, its" : "are partial, their";
    gaps.push(`${names.length} ${are} counts may be incomplete: ${shown}${more}`);
  }
  return gaps;
}

export function clockWords(skew: ClockSkew, zone: string): [string, string] {
  const off = span(Math.abs(skew.ahead));
  const differs = `its clock is ${off} ${skew.ahead > 0 ? "ahead of" : "behind"} this host's`;
  const keepTime = "(chrony, systemd-timesyncd)";
  if (skew.kind === "zone")
    return [
      `read in ${zone}, ${differs}: \`timezone\` does not match the server`,
      `set timezone to the zone of the server, which is ${skew.utcOffset} now`,
    ];
  if (skew.kind === "clock")
    return [
      `${differs}: start times are off by that much`,
      `synchronize the time of both hosts ${keepTime}; check with \`timedatectl\``,
    ];
  return [
    `in ${zone}, its latest checkout starts ${off} in the future`,
    `set timezone to the zone of the server; if it is right, synchronize the time of the server's host ${keepTime}`,
  ];
}

/**
 * Compares the starts of stored checkouts with the times of their first polls. Detects a wrong time zone, including for
 * tools such as lmstat that print the clock of their own host.
 */
export async function checkAges({ config, now, report }: Look): Promise<void> {
  await fromDatabase(config.storage.directory, async (sqlite) => {
    for (const { id, timezone, intervalMs, enabled } of config.servers) {
      const ages = enabled ? sessionAges(sqlite, id) : null;
      const skew = ages === null ? null : zoneSkewByAges(ages, { intervalMs, zone: timezone, now });
      if (skew !== null) report.problem(`${id}: checkouts`, ...clockWords(skew, timezone));
    }
  });
}

/**
 * Time limit for the analysis of one expression. Slow analyses rarely find problems, and the daemon limits
 * the time of matches anyway.
 */
const JUDGE_MS = 2_000;

/** Checks the config's own managers for problems that compiling their expressions does not reveal. */
export async function checkManagers({ config, report }: Look): Promise<void> {
  if (config.managers.length === 0) return;
  const checkSync = await loadRecheck();
  for (const profile of config.managers) {
    const what = `managers: ${profile.name}`;
    if (!hasEnd(profile))
      report.warning(what, "no end mark (end): truncated output would look like missing licenses");
    const slow = expressionsOf(profile).filter(({ source }) => {
      const judged = checkSync(source, "u", { timeout: JUDGE_MS });
      return judged.complexity?.type === "exponential";
    });
    for (const { path } of slow)
      report.warning(what, `${printPath(path)} takes exponential time on crafted lines: polls may time out`);
    if (slow.length === 0 && hasEnd(profile)) report.fine(what, profile.title ?? profile.format);
  }
}

type CheckSync = (
  source: string,
  flags: string,
  limits: { readonly timeout: number },
) => { readonly status: "safe" | "vulnerable" | "unknown"; readonly complexity?: { readonly type: string } };

/**
 * Loads the pure JavaScript build of recheck, because recheck's main entry first looks for a Java or native
 * program. If the build were bundled as a module, its bytecode would cost 8 MB of disk, and 1 MB of memory
 * in every daemon.
 */
async function loadRecheck(): Promise<CheckSync> {
  const module = { exports: {} as { checkSync: CheckSync } };
  new Function("module", "exports", await Bun.file(recheck).text())(module, module.exports);
  return module.exports.checkSync;
}

function hasEnd({ format, end, wrap }: Profile): boolean {
  return end !== undefined || (format !== "lines" && wrap === undefined);
}
