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

const BUILT_IN: readonly Manager[] = [flexnet, rlm, dsls, lmx, rms];

const byName = new Map(BUILT_IN.map((manager) => [manager.name, manager]));

/** Managers of profiles, cached so that the expressions of a profile are compiled once, on first use. */
const ofProfiles = new WeakMap<Profile, Manager>();

export const MANAGERS: readonly ManagerName[] = [...byName.keys(), ...SHIPPED];

/** Returns the names of all managers. `own` are the config's profiles. */
export function managerNames(own: readonly Profile[]): readonly ManagerName[] {
  return [...MANAGERS, ...own.map(({ name }) => name)];
}

/** Returns the manager with a name. Throws if the name is unknown. */
export function managerOf(name: ManagerName, own: readonly Profile[] = []): Manager {
  const builtIn = byName.get(name);
  if (builtIn !== undefined) return builtIn;
  const profile = shippedProfile(name) ?? own.find((each) => each.name === name);
  if (profile === undefined) throw new Error(`unknown manager "${name}"`);
  return ofProfiles.getOrInsertComputed(profile, profileManager);
}

/**
 * Returns the manager with a name; null for profiles, which have no commands, no debug log and no
 * explanations.
 */
export function builtInManager(name: ManagerName): Manager | null {
  return byName.get(name) ?? null;
}

/** Reports whether licmond ships this manager without having seen real output for all its rules. */
export function isExperimental(name: ManagerName): boolean {
  return MANAGERS.includes(name) && managerOf(name).experimental === true;
}
