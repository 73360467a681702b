import type { FeatureReading, Reading } from "../domain/reading.ts";
import type { FakeTool } from "../managers/manager.ts";

const USAGE = "usage: lstc_qrun -s port@host -R\n";
const HEAD = `LICENSE INFORMATION

PROGRAM          EXPIRATION CPUS  USED   FREE    MAX | QUEUE
---------------- ----------      ----- ------ ------ | -----
`;

/** `lstc_qrun -R` of LS-DYNA, whose manager is a profile and plays no tool itself. */
export const fakeLstcQrun: FakeTool = {
  answer(args, _stdin, server) {
    const [, port, host] = /^(?:(\d{1,5})@)?([^@\s]+)$/.exec(args[args.indexOf("-s") + 1] ?? "") ?? [];
    if (!args.includes("-s") || !args.includes("-R") || host === undefined)
      return { stdout: "", stderr: USAGE, exitCode: 1 };
    const [member] = server.members;
    const asked = { host, port: Number(port ?? member?.port) };
    const reading = server.reading([asked]);
    const begin = `Using user specified server ${asked.port}@${asked.host}\n`;
    if (reading.errors.length > 0)
      return { stdout: `${begin}*** ERROR failed to open server ${host}\n`, stderr: "", exitCode: 1 };
    return { stdout: `${begin}\n${HEAD}${table(reading)}`, stderr: "", exitCode: 0 };
  },
};

/** All programs of a group share its seats: what is free is free for each of them. */
function table({ features }: Reading): string {
  const used = features.reduce((sum, feature) => sum + (feature.used ?? 0), 0);
  const total = features[0]?.total ?? 0;
  const queued = (feature: FeatureReading) => feature.queue.reduce((sum, { count }) => sum + count, 0);
  const counts = (inUse: string, waiting: number) =>
    `${inUse.padStart(6)} ${String(total - used).padStart(6)} ${String(total).padStart(6)} | ${String(waiting).padStart(5)}`;
  const programs = features.flatMap((feature) => [
    `${feature.name.padEnd(16)} ${printDate(feature)}      ${counts(feature.checkouts.length > 0 ? "-" : "0", queued(feature))}`,
    ...feature.checkouts.map(
      ({ user, host, pid, count }) =>
        ` ${(user ?? "").padEnd(10)} ${String(pid ?? 0).padStart(7)}@${host} ${String(count).padStart(3)}`,
    ),
  ]);
  const waiting = features.reduce((sum, feature) => sum + queued(feature), 0);
  return `${[...programs, `                   LICENSE GROUP ${counts(String(used), waiting)}`].join("\n")}\n`;
}

/** `12/30/2026`. */
function printDate({ pools }: FeatureReading): string {
  const [year, month, day] = pools[0]?.expiry.expiresOn?.split("-") ?? [];
  return `${month}/${day}/${year}`;
}
