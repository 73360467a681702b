import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import type { Exchanges } from "../exchange.ts";
import { shown } from "../shown.ts";

/**
 * Step 3: an unknown path is 404, a wrong method 405 with `Allow`, OPTIONS 204. Paths are public, so this
 * comes before the key; Elysia itself would answer 404 to all three.
 */
export function knownPath(exchanges: Exchanges) {
  return new Elysia({ name: "known-path" })
    .onBeforeHandle({ as: "global" }, ({ request, route }) => {
      // The key was checked for the route found here; should the router ever read a path otherwise, nothing runs.
      if (exchanges.of(request).route?.path === route) return;
      throw new ApiError("NOT_FOUND", "There is no such path; /swagger lists what there is.");
    })
    .onRequest(({ request }) => {
      const { path, route } = exchanges.of(request);
      if (route === null) {
        throw new ApiError("NOT_FOUND", `There is no ${shown(path)} here; /swagger lists what there is.`);
      }
      const allow = route.allow.join(", ");
      if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
      if (!route.access.has(request.method)) {
        throw new ApiError(
          "METHOD_NOT_ALLOWED",
          `${route.path} takes ${allow}, not ${shown(request.method)}.`,
          {
            headers: { allow },
          },
        );
      }
    });
}
