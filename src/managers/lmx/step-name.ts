import type { MemberReading } from "../../domain/reading.ts";

/** Where lmx-serv listens when nothing else is said. */
export const DEFAULT_PORT = 6200;

type Place = Pick<MemberReading, "host" | "port">;

/** As the heading names a member. */
export function nameOf({ host, port }: Place): string {
  return `${port ?? DEFAULT_PORT}@${host}`;
}

const OF_SEVERAL = " of several";

/** Of the step that asks a member: one of a high-availability set may serve nothing, and a server alone may not. */
export function stepName(member: Place, members: number): string {
  return `${nameOf(member)}${members > 1 ? OF_SEVERAL : ""}`;
}

/** Port and host of the member that a step asks, and whether it is one of several; null for other names. */
export function memberOfStep(name: string) {
  const several = name.endsWith(OF_SEVERAL);
  const [, port, host = ""] = /^(\d+)@(\S+)$/.exec(several ? name.slice(0, -OF_SEVERAL.length) : name) ?? [];
  return port === undefined ? null : { port: Number(port), host, several };
}
