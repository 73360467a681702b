import type { ManagerName } from "../domain/words.ts";
import { dsls } from "./dsls/index.ts";
import { flexnet } from "./flexnet/index.ts";
import { lmx } from "./lmx/index.ts";
import type { Manager } from "./manager.ts";
import { rlm } from "./rlm/index.ts";
import { rms } from "./rms/index.ts";

/** Every manager that is built in: to add one is to add a folder and a line here. */
const BUILT_IN: readonly Manager[] = [flexnet, rlm, dsls, lmx, rms];

const byName = new Map(BUILT_IN.map((manager) => [manager.name, manager]));

/** Names of the managers that are built in. */
export const MANAGERS: readonly ManagerName[] = [...byName.keys()];

/** The manager of this name. Throws for a name that the config would not take. */
export function managerOf(name: ManagerName): Manager {
  const manager = byName.get(name);
  if (manager === undefined) throw new Error(`no manager "${name}" is built in`);
  return manager;
}
