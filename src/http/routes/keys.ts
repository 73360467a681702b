import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import { CreatedKey, Key, keyProblem, type NewKey, pathId, Quota } from "../../domain/keys.ts";
import { nullable, Timestamp, words } from "../../domain/records.ts";
import { unicode } from "../../domain/text-types.ts";
import { ROLES } from "../../domain/words.ts";
import { whenFree } from "../../store/database/busy.ts";
import { formOf, responseOf } from "../answers/answer.ts";
import { type ListKind, listAnswer, listDoc, sortable } from "../answers/list.ts";
import { fields } from "../body.ts";
import { createConfirm } from "../confirm.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { queryOf, STORED_LIST, shown, sortBy, storedPage } from "../query.ts";
import { keyRecord } from "../records.ts";
import type { RouteDeps } from "./deps.ts";

/** Maximum time that a request waits for another program's database lock. */
const PATIENCE = { patienceMs: () => 5_000 };

const CONFIRM = Type.Optional(
  Type.String({ description: "The key that signed in; required for requests with a cookie" }),
);

const Body = fields({
  name: unicode(0, null),
  role: words(ROLES),
  expiresAt: Type.Optional(nullable(Timestamp)),
  anonymize: Type.Optional(Type.Boolean()),
  dailyQuota: Type.Optional(Quota),
  monthlyQuota: Type.Optional(Quota),
  requestsPerMinute: Type.Optional(Quota),
  site: Type.Optional(Type.String({ description: "Only with the role site, at a hub" })),
  confirm: CONFIRM,
});
const Revocation = fields({ confirm: CONFIRM });

/** Defaults of a new key. */
const UNLIMITED = { anonymize: false, dailyQuota: null, monthlyQuota: null, requestsPerMinute: null };

const KEYS: ListKind<Key> = { plural: "keys", record: Key, identity: ["id"] };
const QUERY = queryOf({ sort: sortBy(sortable<Key>(Key)), ...STORED_LIST });
const ID = Type.Object({
  id: pathId("Id of the key, the part between lmk_ and the secret"),
});

/** Creates, lists and revokes keys. */
export function keyRoutes(deps: RouteDeps) {
  const { keys, clock, audit } = deps;
  const requireConfirmation = createConfirm(deps);
  return new Elysia({ name: "routes/keys" })
    .use(gated)
    .get(
      "/api/keys",
      ({ exchange, query }) => {
        const rows = keys.list().map(keyRecord);
        return responseOf(
          listAnswer(KEYS, rows, { ...query, ...storedPage(query) }, formOf(query, exchange)),
        );
      },
      documented("keys", "Keys", "Keys", {
        description: "Oldest first, including revoked keys.",
        query: QUERY,
        answers: { 200: listDoc("keys", Key, "Keys, without their secrets") },
      }),
    )
    .post(
      "/api/keys",
      async ({ exchange, body: { confirm, ...body }, status }) => {
        requireConfirmation(exchange, confirm);
        const expiresAt = body.expiresAt ? Date.parse(body.expiresAt) : null;
        const wanted: NewKey = { ...UNLIMITED, ...body, expiresAt };
        const problem = keyProblem(wanted, clock.now(), keys.ofSites);
        if (problem !== null) {
          throw new ApiError("INVALID_FIELD", `Field "${problem.field}": ${problem.message}.`);
        }
        const result = await whenFree(() => keys.create(wanted), PATIENCE);
        if (result.outcome === "name-taken") {
          const taken = "An active key has this name; choose another name or revoke that key.";
          throw new ApiError("ALREADY_EXISTS", taken);
        }
        const { key, presented } = result;
        const { id: keyId, name, role, anonymize } = key;
        audit.done(exchange, "API key created", { keyId, name, role, anonymize });
        exchange.headers.location = `/api/keys/${keyId}`;
        return status(201, { ...keyRecord(key), key: presented });
      },
      documented("keys", "Keys", "Create a key", {
        description: "Only this answer contains the key itself.",
        body: Body,
        example: { name: "wall display", role: "viewer", expiresAt: "2099-12-31T00:00:00Z" },
        answers: {
          201: { description: "Created", schema: CreatedKey, headers: { Location: "Path of the key" } },
        },
        errors: ["ALREADY_EXISTS"],
      }),
    )
    .get(
      "/api/keys/:id",
      ({ params }) => {
        const key = keys.get(params.id);
        if (key === null) throw unknownKey(params.id);
        if (key.state === "revoked") throw gone(params.id);
        return keyRecord(key);
      },
      documented("keys", "Keys", "One key", {
        params: ID,
        answers: { 200: { description: "Key, without its secret", schema: Key } },
        errors: ["GONE"],
      }),
    )
    .delete(
      "/api/keys/:id",
      async ({ exchange, params, body }) => {
        requireConfirmation(exchange, body.confirm);
        const outcome = await whenFree(() => keys.revoke(params.id), PATIENCE);
        if (outcome === "unknown") throw unknownKey(params.id);
        if (outcome === "gone") throw gone(params.id);
        audit.done(exchange, "API key revoked", { keyId: params.id });
        return new Response(null, { status: 204 });
      },
      documented("keys", "Keys", "Revoke a key", {
        params: ID,
        body: Revocation,
        example: {},
        answers: { 204: { description: "Revoked" } },
        errors: ["GONE"],
      }),
    );
}

function unknownKey(id: string): ApiError {
  return new ApiError("NOT_FOUND", `Unknown key ${shown(id)}; /api/keys lists them.`);
}

function gone(id: string): ApiError {
  return new ApiError("GONE", `The key ${shown(id)} was revoked.`);
}
