import { SITE } from "../../http/lists/lists.ts";
import { queryOf } from "../../http/query.ts";
import { LOG_FORM, type LogForm } from "../../http/routes/logs.ts";
import type { Directory } from "../lists/directory.ts";
import { serversIn } from "../lists/scope.ts";

const recent = queryOf({ ...LOG_FORM.recent.parameters, ...SITE });
const search = queryOf({ ...LOG_FORM.search.parameters, ...SITE });

/** Returns the log queries of the daemon with `site` added. */
export function logsOfSites(directory: Directory): LogForm {
  return {
    recent,
    search,
    sitesOf({ site }: { readonly site?: readonly string[] }) {
      // Throws NOT_FOUND for an unknown site.
      if (site !== undefined) serversIn(directory, { site });
      return site ?? null;
    },
  };
}
