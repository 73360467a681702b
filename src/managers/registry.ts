import type { ManagerName } from "../domain/words.ts";
import { flexnet } from "./flexnet/index.ts";
import type { Manager } from "./manager.ts";
import { rlm } from "./rlm/index.ts";

/** Every manager built in: to add one is to add a folder, its name in `domain/words.ts` and a line here. */
const registry: Readonly<Record<ManagerName, Manager>> = { flexnet, rlm };

export function managerOf(name: ManagerName): Manager {
  return registry[name];
}
