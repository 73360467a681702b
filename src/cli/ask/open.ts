import type { SignInLink } from "../../domain/keys.ts";
import { parseDuration } from "../../domain/time/clock.ts";
import { createClient } from "../client/client.ts";
import { CLIENT_OPTIONS, findTarget } from "../client/target.ts";
import { command, option, reader } from "../command.ts";

/** As the API takes it: whole seconds, a minute at least. */
const span = reader((text) => {
  const ms = parseDuration(text) ?? 0;
  return ms >= 60_000 && ms <= 365 * 86_400_000 ? ms / 1000 : null;
}, "It takes a duration from 1m to 365d, e.g. 8h.");

/** `licmond open`: a link that signs a browser in. */
export const open = command({
  options: {
    role: option("<role>", "less than one's own", ["viewer", "operator", "admin"]),
    for: option("<duration>", "end of the sign-in at the latest, e.g. 8h", span),
    ...CLIENT_OPTIONS,
  },
  async run({ options }, io) {
    const target = await findTarget(options, io.env);
    const { role, for: forSeconds } = options;
    const link = await createClient(target).post<SignInLink>("/api/signin/code", { role, forSeconds });
    // The address by which it was asked is known to work; a socket has none.
    io.out(`${target.unix === null ? `${target.url}/signin#code=${link.code}` : link.url}\n`);
  },
});
