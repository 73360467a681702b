import type { SignInLink } from "../../domain/keys.ts";
import { parseDuration } from "../../domain/time/clock.ts";
import { createClient } from "../client/client.ts";
import { CLIENT_OPTIONS, findTarget } from "../client/target.ts";
import { command, option, reader } from "../command.ts";

/** Converts a duration to whole seconds, as the API expects. The minimum is a minute. */
const span = reader((text) => {
  const ms = parseDuration(text) ?? 0;
  return ms >= 60_000 && ms <= 365 * 86_400_000 ? ms / 1000 : null;
}, "Expected a duration from 1m to 365d, e.g. 8h.");

export const open = command({
  options: {
    role: option("<role>", "role of the sign-in, at most your own", ["viewer", "operator", "admin"]),
    for: option("<duration>", "maximum lifetime of the sign-in, e.g. 8h", span),
    ...CLIENT_OPTIONS,
  },
  async run({ options }, io) {
    const target = await findTarget(options, io.env);
    const { role, for: forSeconds } = options;
    const link = await createClient(target).post<SignInLink>("/api/signin/code", { role, forSeconds });
    // Prefer the address that has just answered to the configured one. A socket has no address.
    io.out(`${target.unix === null ? `${target.url}/signin#code=${link.code}` : link.url}\n`);
  },
});
