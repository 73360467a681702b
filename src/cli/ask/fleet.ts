import { printBytes } from "../../domain/bytes.ts";
import { countOf } from "../../domain/plain-text.ts";
import type { FleetStatus, Status } from "../../domain/service/status.ts";
import { span } from "../../domain/time/clock.ts";
import { command, type Group } from "../command.ts";
import { type CommandIo, EXIT_FAILURE, Failure } from "../io.ts";
import { ASK, ask, minuteOf, printLine, show } from "./output.ts";

const status = command({
  options: ASK,
  async run({ options }, io) {
    const client = await ask(options, io);
    const { fleet: found } = await client.get<Status>("/api/status");
    if (found === undefined)
      throw new Failure("this licmond is not part of a fleet: the config has no [fleet]");
    const schema = async () => (await import("../../domain/service/status.ts")).FleetStatus;
    await show(options, io, found, [found], schema, () => print(found, io));
    if (found.state !== "connected") io.exitCode(EXIT_FAILURE);
  },
});

const STATES = {
  waiting: "has not answered since startup",
  connected: "answers",
  unreachable: "is unreachable",
  refused: "rejects this site",
  conflict: "receives pushes of another licmond for this site",
} as const;

function print(found: FleetStatus, io: CommandIo): void {
  const { site, hub, state, problem, lastContactAt, waitingFacts, waitingSince, daysLeft } = found;
  printLine(io, `${site}: the hub ${hub} ${STATES[state]}${problem === null ? "" : ` (${problem})`}`);
  const heard = lastContactAt === null ? "not yet" : agoOf(lastContactAt, io);
  const since = waitingSince === null ? "" : `, queue last empty at ${minuteOf(waitingSince, io.now())}`;
  printLine(io, `  last answer   ${heard}`);
  printLine(io, `  waiting       ${countOf(waitingFacts, "fact")}${since}`);
  if (daysLeft > 0) printLine(io, `  past          ${countOf(daysLeft, "day")} to send`);
  const sent = `${countOf(found.sentFacts, "fact")}, ${printBytes(found.sentBytes)}`;
  printLine(io, `  sent          ${sent} since the start`);
  printLine(io, `  people        ${found.people}`);
  printLine(io, `  notifies      the ${found.notify}`);
}

function agoOf(time: string, io: CommandIo): string {
  return `${span(Math.max(0, io.now() - Date.parse(time)))} ago`;
}

export const fleet: Group = { commands: { status: async () => status } };
