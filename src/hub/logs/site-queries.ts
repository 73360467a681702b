import { SITE } from "../../http/lists/lists.ts";
import { queryOf } from "../../http/query.ts";
import { LOG_FORM, type LogForm } from "../../http/routes/logs.ts";
import type { Directory } from "../lists/directory.ts";
import { serversIn } from "../lists/scope.ts";

const recent = queryOf({ ...LOG_FORM.recent.parameters, ...SITE });
const search = queryOf({ ...LOG_FORM.search.parameters, ...SITE });

/** The searches of logs at a hub: those of the daemon, with `site=`. */
export function logsOfSites(directory: Directory): LogForm {
  return {
    recent,
    search,
    sitesOf({ site }: { readonly site?: readonly string[] }) {
      // Throws for a site that is not there.
      if (site !== undefined) serversIn(directory, { site });
      return site ?? null;
    },
  };
}
