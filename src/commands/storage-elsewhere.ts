import { loadConfig } from "../config/find.ts";
import { LAYOUT } from "../install/layout.ts";

/**
 * The storage directory that the installed config names, when it is not the default one; null also when the config
 * cannot be read: then nobody knows.
 */
export function storageElsewhere(at: (path: string) => string): string | null {
  const loaded = loadConfig(at(LAYOUT.config), {});
  if (!loaded.ok || loaded.config.storage.directory === LAYOUT.data) return null;
  return loaded.config.storage.directory;
}
