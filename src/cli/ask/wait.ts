import { codeOf, messageOf } from "../../domain/error-code.ts";
import { amountOf, escapeControls } from "../../domain/plain-text.ts";
import type { PictureFeature } from "../../domain/polls/kept-picture.ts";
import { parseDuration, span } from "../../domain/time/clock.ts";
import { CLIENT_OPTIONS } from "../client/target.ts";
import { watchPicture } from "../client/watch-picture.ts";
import { command, integer, option, optionOr, reader } from "../command.ts";
import { type CommandIo, Failure, UsageError } from "../io.ts";
import { cutTo } from "../terminal.ts";
import { connect, featuresOf, type LiveFeature, seatsOf } from "./output.ts";
import { featuresNamed, NARROW } from "./who.ts";

const EXIT_TIMEOUT = 3;
const EXIT_INTERRUPTED = 130;
const LONGEST_MS = 2 ** 31 - 1;

const count = integer(1, 1_000_000, "Expected a whole number of 1 or more.");
const timeout = reader((given) => {
  const ms = parseDuration(given);
  return ms === null || ms > LONGEST_MS ? null : ms;
}, "Expected a duration of at most 24d, e.g. 90s, 30m, 2h.");

export const wait = command({
  args: [
    ["<feature>", "name of a feature; case-insensitive"],
    ["[command...]", "command to run then"],
  ],
  usage: "[options] <feature> [-- <command...>]",
  options: {
    count: optionOr("<seats>", "seats that must be free at the same time", count, 1),
    timeout: option("<duration>", "maximum time to wait, e.g. 2h (default: no limit)", timeout),
    ...NARROW,
    ...CLIENT_OPTIONS,
  },
  async run({ args: [name = "", ...argv], options }, io) {
    const client = await connect(options, io);
    const { server: one, daemon, timeout: longest } = options;
    const named = await featuresNamed(client, name, { server: one, daemon });
    const totals = named.map(({ total, unlimited }) => (unlimited ? Infinity : (total ?? Infinity)));
    const most = Math.max(...totals);
    const unit = named[0]?.unit;
    if (most < options.count)
      throw new UsageError(`${name} has only ${amountOf(most, unit)}; cannot wait for ${options.count}`);
    const isAsked = (feature: PictureFeature, id: string) =>
      named.some(
        (each) => each.server === id && each.daemon === feature.daemon && each.name === feature.name,
      );
    const servers = [...new Set(named.map(({ server }) => server))];
    const end = new AbortController();
    const note = createNote(io);
    const interrupt = () => end.abort(EXIT_INTERRUPTED);
    process.once("SIGINT", interrupt);
    const timer = longest === undefined ? undefined : setTimeout(() => end.abort(EXIT_TIMEOUT), longest);
    let found: LiveFeature | null = null;
    try {
      for await (const { site, lost } of watchPicture(client, servers, end.signal)) {
        const features = featuresOf(site, isAsked);
        found = lost === null ? freeOf(features, options.count) : null;
        if (found !== null) break;
        note(lost ?? waitingFor(name, amountOf(options.count, unit), features), lost !== null);
      }
    } finally {
      clearTimeout(timer);
      process.off("SIGINT", interrupt);
      note(null);
    }
    if (found === null) {
      if (end.signal.reason === EXIT_TIMEOUT)
        io.err(`${escapeControls(name)} was not free within ${span(longest ?? 0)}.\n`);
      return io.exitCode(end.signal.reason);
    }
    const seats = found.available === null ? "without a limit" : `${found.available} free`;
    io.err(`${escapeControls(`${found.name} (${found.server}/${found.daemon}): ${seats}`)}\n`);
    if (argv.length > 0) io.exitCode(await runCommand(argv));
  },
});

/** Returns the feature with the most free seats among those with current numbers and enough free seats, or null. */
export function freeOf(features: readonly LiveFeature[], count: number): LiveFeature | null {
  const seats = ({ available, unlimited }: LiveFeature) => (unlimited ? Infinity : (available ?? 0));
  const isOfNow = ({ state }: LiveFeature) => state === "ok" || state === "partial";
  const free = features.filter((feature) => isOfNow(feature) && seats(feature) >= count);
  return free.toSorted((a, b) => seats(b) - seats(a))[0] ?? null;
}

function waitingFor(name: string, amount: string, features: readonly LiveFeature[]): string {
  const each = features.map((feature) => {
    const { server, queued, state } = feature;
    const waiting = queued ? `, ${queued} waiting` : "";
    return `${seatsOf(feature)} in use on ${server}${waiting}${state === "ok" ? "" : `, ${state}`}`;
  });
  const known = each.length === 0 ? "no server offers it now" : each.join("; ");
  return `Waiting for ${amount} of ${name}: ${known}`;
}

/**
 * Shows the state of the wait. On a terminal, rewrites one line, or clears the line for null. Otherwise
 * prints a line at the start, and when the connection is lost or restored.
 */
function createNote({ err, terminal }: CommandIo) {
  let wasLost: boolean | null = null;
  return (line: string | null, isLost = false) => {
    const safe = escapeControls(line ?? "");
    if (terminal.err) err(`\r\u001b[K${cutTo(safe, (terminal.columns ?? 80) - 1)}`);
    else if (line !== null && isLost !== wasLost) err(`${safe}\n`);
    wasLost = isLost;
  };
}

const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;

/** Runs a command with this process's terminal and signals. Returns its exit code. */
async function runCommand(argv: readonly string[]): Promise<number> {
  let child: Bun.Subprocess;
  try {
    child = Bun.spawn([...argv], { stdio: ["inherit", "inherit", "inherit"] });
  } catch (error) {
    const code = codeOf(error) === "ENOENT" ? NOT_FOUND : NOT_RUNNABLE;
    throw new Failure(`cannot run ${argv[0]}: ${messageOf(error)}`, code);
  }
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  // The terminal sends these signals to both processes; let the command decide whether to exit.
  const stay = () => {};
  process.on("SIGINT", stay).on("SIGQUIT", stay).on("SIGTERM", pass).on("SIGHUP", pass);
  return await child.exited;
}
