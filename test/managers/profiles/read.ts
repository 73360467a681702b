import { interpretConfig } from "../../../src/config/load.ts";
import type { Reading } from "../../../src/domain/reading.ts";
import type { Profile } from "../../../src/managers/profile.ts";

/** Returns the first of `[[managers]]` in a config. Throws if it is invalid. */
export function profileOf(toml: string): Profile {
  const result = interpretConfig(toml, null, {});
  if (!result.ok)
    throw new Error(result.problems.map(({ path, message }) => `${path} ${message}`).join("\n"));
  const [profile] = result.config.managers;
  if (profile === undefined) throw new Error("there is no manager");
  return profile;
}

/** Creates a profile of the format `lines` with these rules. */
export function linesProfile(match: string, more = ""): Profile {
  return profileOf(`[[managers]]
name = "own"
argv = ["own"]
format = "lines"
${more}
[managers.match]
${match}
`);
}

/** Summarizes each feature as `name total/used (group) expiry: user@host×count …`. */
export function summary({ features }: Reading): string[] {
  const known = (count: number | null) => (count === null ? "?" : String(count));
  return features.map((feature) => {
    const { name, total, used, unlimited, seatGroup, pools, checkouts, consistency, cut } = feature;
    const expiry = pools[0]?.expiry;
    const until = expiry?.permanent === true ? "permanent" : (expiry?.expiresOn ?? "?");
    const group = seatGroup === undefined ? "" : ` (${seatGroup})`;
    const users = checkouts
      .map(({ user, host, count }) => ` ${user ?? "?"}@${host ?? "?"}×${count}`)
      .join("");
    const marks = `${consistency === "ok" ? "" : ` ${consistency}`}${cut ? " cut" : ""}`;
    return `${name} ${unlimited ? "∞" : known(total)}/${known(used)}${group} ${until}${users}${marks}`;
  });
}
