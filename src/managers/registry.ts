import type { ManagerName } from "../domain/words.ts";
import { dsls } from "./dsls/index.ts";
import { flexnet } from "./flexnet/index.ts";
import { lmx } from "./lmx/index.ts";
import type { Manager } from "./manager.ts";
import type { Profile } from "./profile.ts";
import { profileManager } from "./profiles/profile-manager.ts";
import { SHIPPED, shippedProfile } from "./profiles/shipped.ts";
import { rlm } from "./rlm/index.ts";
import { rms } from "./rms/index.ts";

/** Every manager that is built in: to add one is to add a folder and a line here. */
const BUILT_IN: readonly Manager[] = [flexnet, rlm, dsls, lmx, rms];

const byName = new Map(BUILT_IN.map((manager) => [manager.name, manager]));

/** By their profiles: expressions are compiled once, and none before it is asked for. */
const ofProfiles = new WeakMap<Profile, Manager>();

/** Names of the managers that licmond brings along: in code, and as profiles. */
export const MANAGERS: readonly ManagerName[] = [...byName.keys(), ...SHIPPED];

/** The names of all: `own` are the config's. */
export function managerNames(own: readonly Profile[]): readonly ManagerName[] {
  return [...MANAGERS, ...own.map(({ name }) => name)];
}

/** The manager of this name; `own` are the config's. Throws for a name that the config would not take. */
export function managerOf(name: ManagerName, own: readonly Profile[] = []): Manager {
  const builtIn = byName.get(name);
  if (builtIn !== undefined) return builtIn;
  const profile = shippedProfile(name) ?? own.find((each) => each.name === name);
  if (profile === undefined) throw new Error(`there is no manager "${name}"`);
  return ofProfiles.getOrInsertComputed(profile, profileManager);
}

/**
 * The manager in code of this name; null where a profile is its manager, which has no commands, no log and no
 * explanations.
 */
export function builtInManager(name: ManagerName): Manager | null {
  return byName.get(name) ?? null;
}

/** Whether licmond brings this manager along without having seen real outputs of all that it reads. */
export function isExperimental(name: ManagerName): boolean {
  return MANAGERS.includes(name) && managerOf(name).experimental === true;
}
