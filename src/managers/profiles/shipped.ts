import { parse } from "smol-toml";
import type { Profile } from "../profile.ts";
import betaLm from "./beta-lm.toml" with { type: "text" };
import flexnetEmbedded from "./flexnet-embedded.toml" with { type: "text" };
import hasp from "./hasp.toml" with { type: "text" };
import jetbrainsFls from "./jetbrains-fls.toml" with { type: "text" };
import lsdyna from "./lsdyna.toml" with { type: "text" };
import mathlm from "./mathlm.toml" with { type: "text" };
import olicense from "./olicense.toml" with { type: "text" };
import sidefx from "./sidefx.toml" with { type: "text" };

/** The profiles that licmond ships, as TOML. A test checks each against the config's schema. */
const TEXTS: ReadonlyMap<string, string> = new Map([
  ["lsdyna", lsdyna],
  ["olicense", olicense],
  ["beta-lm", betaLm],
  ["mathlm", mathlm],
  ["hasp", hasp],
  ["flexnet-embedded", flexnetEmbedded],
  ["sidefx", sidefx],
  ["jetbrains-fls", jetbrainsFls],
]);

export const SHIPPED: readonly string[] = [...TEXTS.keys()];

const read = new Map<string, Profile>();

export function shippedText(name: string): string | undefined {
  return TEXTS.get(name);
}

export function shippedProfile(name: string): Profile | undefined {
  const text = TEXTS.get(name);
  return text === undefined ? undefined : read.getOrInsertComputed(name, () => profileOf(text));
}

function profileOf(text: string): Profile {
  const tables: unknown = parse(text);
  return (tables as { readonly managers: readonly [Profile] }).managers[0];
}
