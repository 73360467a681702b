import type { MemberReading } from "../../domain/reading.ts";

/** Default port of lmx-serv. */
export const DEFAULT_PORT = 6200;

type Place = Pick<MemberReading, "host" | "port">;

export function nameOf({ host, port }: Place): string {
  return `${port ?? DEFAULT_PORT}@${host}`;
}

const OF_SEVERAL = " of several";

/**
 * Names the step that queries a member. The name tells the parser whether there are several members,
 * because only then may a member serve no features.
 */
export function stepName(member: Place, members: number): string {
  return `${nameOf(member)}${members > 1 ? OF_SEVERAL : ""}`;
}

/** Returns null for the names of other steps. */
export function memberOfStep(name: string) {
  const several = name.endsWith(OF_SEVERAL);
  const [, port, host = ""] = /^(\d+)@(\S+)$/.exec(several ? name.slice(0, -OF_SEVERAL.length) : name) ?? [];
  return port === undefined ? null : { port: Number(port), host, several };
}
