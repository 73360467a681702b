import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import { Me, PERMISSIONS, pathId, permits, SignInLink, SignInRecord } from "../../domain/keys.ts";
import { words } from "../../domain/records.ts";
import { pageLink } from "../../domain/service/page-link.ts";
import { iso } from "../../domain/time/clock.ts";
import { ROLES } from "../../domain/words.ts";
import { whenFree } from "../../store/database/busy.ts";
import type { Grant, SignIn } from "../../store/sign-in-book.ts";
import { formOf, responseOf } from "../answers/answer.ts";
import { type ListKind, listAnswer, listDoc, sortable } from "../answers/list.ts";
import { fields } from "../body.ts";
import { createRefusalCount } from "../confirm.ts";
import { documented } from "../docs/documented.ts";
import { callerOf, type Exchange, gated, requirePermission, validKey } from "../exchange.ts";
import { queryOf, STORED_LIST, shown, sortBy, storedPage } from "../query.ts";
import { pick } from "../records.ts";
import { browserOf, cookieName, cookieOf, endedCookie, NOBODY, requirePage, setCookie } from "../sign-in.ts";
import { kindOf } from "../without-key.ts";
import type { RouteDeps } from "./deps.ts";

/** Maximum time that a request waits for another program's database lock. */
const PATIENCE = { patienceMs: () => 5_000 };

const Credentials = fields({
  key: Type.Optional(Type.String()),
  code: Type.Optional(Type.String({ description: "Code from a link of `licmond open`, instead of a key" })),
  stay: Type.Optional(Type.Boolean({ description: "Stay signed in for 30 days, even without requests" })),
});

const LinkWanted = fields({
  role: Type.Optional(words(["viewer", "operator", "admin"], "At most the caller's own role")),
  forSeconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 31_536_000 })),
});

const SIGN_INS: ListKind<SignInRecord> = { plural: "signins", record: SignInRecord, identity: ["id"] };
const QUERY = queryOf({ sort: sortBy(sortable<SignInRecord>(SignInRecord)), ...STORED_LIST });
const ID = Type.Object({ id: pathId("Id of a sign-in") });
const COOKIE = { "Set-Cookie": "The sign-in's cookie" };

const keyIdOf = (id: string) => (kindOf(id) === "key" ? id : null);

function signInRecord(signIn: SignIn, current: SignIn | null): SignInRecord {
  const { keyId, caller, createdAt, lastUsedAt, expiresAt } = signIn;
  return {
    ...pick(signIn, "id", "stay", "browser"),
    keyId: keyIdOf(keyId),
    keyName: caller.name,
    role: caller.role,
    createdAt: iso(createdAt),
    lastUsedAt: iso(lastUsedAt),
    expiresAt: iso(expiresAt),
    current: signIn.id === current?.id,
  };
}

/** Signed-in browsers, and who a caller is. */
export function signInRoutes(deps: RouteDeps) {
  const { signIns, keys, clock, audit, limits, settings, execute, denials, host } = deps;
  const { installationId } = deps;
  const countRefusal = createRefusalCount(deps);

  /**
   * Returns the rights of a key or code. Wrong keys and codes use the address's bucket, which slows down
   * guessing.
   */
  async function grantOf(exchange: Exchange, { key, code }: Static<typeof Credentials>) {
    if ((key === undefined) === (code === undefined))
      throw new ApiError("MISSING_FIELD", 'The body must have either "key" or "code".');
    const found = code === undefined ? null : await signIns.takeCode(code);
    const check = key === undefined ? null : keys.verify(key);
    if (found === null && check?.outcome !== "valid") {
      countRefusal(exchange, check?.outcome ?? "code");
      const over = "This link was already used, is older than 10 minutes, or is unknown. Ask for a new one.";
      if (check === null) throw new ApiError("AUTH_INVALID", over);
    }
    if (found !== null) return found;
    const caller = validKey(check);
    return { caller, grant: { keyId: caller.id, role: null, expiresAt: null } satisfies Grant };
  }

  function visibleTo({ caller, signIn }: Exchange): readonly SignIn[] {
    const all = signIns.list();
    if (caller !== null && permits(caller, "keys")) return all;
    // A sign-in with a lower role than its key may see only itself.
    const isSmaller = signIn !== null && signIn.role !== null;
    return all.filter((each) => (isSmaller ? each.id === signIn.id : each.keyId === caller?.id));
  }

  return new Elysia({ name: "routes/sign-ins" })
    .use(gated)
    .post(
      "/api/signin",
      async ({ request, exchange, body }) => {
        requirePage(exchange, settings().corsOrigins);
        const { caller, grant } = await grantOf(exchange, body);
        exchange.caller = caller;
        requirePermission(exchange, "read", "Signing in");
        // Use the key's bucket, because each sign-in is written to disk.
        limits.drawOfKey(exchange, caller, caller.id);
        if (kindOf(caller.id) === "key") keys.touch(caller.id, clock.now());
        const before = signIns.verify(cookieOf(request, cookieName(installationId, exchange)) ?? "");
        const replaced = before.outcome === "valid" ? before.signIn.id : null;
        const make = () => signIns.create(grant, body.stay === true, browserOf(request), replaced);
        const { signIn, token, maxAge } = await whenFree(make, PATIENCE);
        exchange.signIn = signIn;
        audit.done(exchange, "Signed in", { role: signIn.caller.role, browser: signIn.browser });
        const cookie = setCookie(installationId, exchange, token, maxAge);
        return new Response(null, { status: 204, headers: { "set-cookie": cookie } });
      },
      documented("open", "Keys", "Sign a browser in", {
        description:
          "Exchanges a key, or the code of a link, for a cookie that scripts cannot read. Needs the header `X-Licmond: page`, like all changes by cookie.",
        requestHeaders: { "X-Licmond": { description: "`page`; forms cannot send it", example: "page" } },
        body: Credentials,
        example: { key: "lmk_k3v9x2m7q1ab_…", stay: true },
        answers: { 204: { description: "Signed in", headers: COOKIE } },
        errors: [
          ...(["AUTH_INVALID", "AUTH_EXPIRED", "AUTH_REVOKED", "AUTH_INSUFFICIENT"] as const),
          ...(["RATE_LIMIT_EXCEEDED", "DATABASE_ERROR"] as const),
        ],
      }),
    )
    .post(
      "/api/signin/code",
      async ({ exchange, body, server, status }) => {
        const caller = callerOf(exchange);
        if (exchange.signIn !== null || kindOf(caller.id) === "proxy") {
          const takes = "Only a key, or a user of the daemon's own host, can create a link.";
          throw new ApiError("AUTH_INSUFFICIENT", takes);
        }
        const { role = caller.role, forSeconds } = body;
        if (ROLES.indexOf(role) > ROLES.indexOf(caller.role)) {
          const message = `A link cannot grant more than the caller's own role, ${caller.role}.`;
          throw new ApiError("AUTH_INSUFFICIENT", message);
        }
        const expiresAt = forSeconds === undefined ? null : clock.now() + 1000 * forSeconds;
        const { code, until } = await signIns.makeCode({
          keyId: caller.id,
          role: role === caller.role ? null : role,
          expiresAt,
        });
        audit.done(exchange, "Sign-in link made", { role });
        const page = pageLink(settings().publicUrl ?? ownUrl(server?.port), "signin");
        const url = `${page}#code=${code}`;
        return status(201, { code, codeExpiresAt: iso(until), url });
      },
      documented("read", "Keys", "Create a link that signs a browser in", {
        description: "The link works once, for 10 minutes. The sign-in has the caller's role or a lower one.",
        body: LinkWanted,
        example: { role: "viewer", forSeconds: 28_800 },
        answers: { 201: { description: "Created", schema: SignInLink } },
      }),
    )
    .post(
      "/api/signout",
      async ({ exchange }) => {
        const { signIn } = exchange;
        if (signIn === null) throw new ApiError("CONFLICT", "This request uses a key, not a sign-in.");
        await whenFree(() => signIns.end(signIn.id), PATIENCE);
        audit.done(exchange, "Signed out");
        return new Response(null, {
          status: 204,
          headers: { "set-cookie": endedCookie(installationId, exchange) },
        });
      },
      documented("read", "Keys", "Sign this browser out", {
        answers: { 204: { description: "Signed out", headers: COOKIE } },
        errors: ["CONFLICT"],
      }),
    )
    .get(
      "/api/signins",
      ({ exchange, query }) => {
        const rows = visibleTo(exchange).map((each) => signInRecord(each, exchange.signIn));
        const page = { ...query, ...storedPage(query) };
        return responseOf(listAnswer(SIGN_INS, rows, page, formOf(query, exchange)));
      },
      documented("read", "Keys", "Signed-in browsers", {
        description: "Sign-ins of the caller's key, oldest first. An admin sees all sign-ins.",
        query: QUERY,
        answers: { 200: listDoc("signins", SignInRecord, "Valid sign-ins") },
      }),
    )
    .delete(
      "/api/signins/:id",
      async ({ exchange, params: { id } }) => {
        const found = visibleTo(exchange).find((each) => each.id === id);
        if (found === undefined) {
          const message = `Unknown sign-in ${shown(id)}; /api/signins lists them.`;
          throw new ApiError("NOT_FOUND", message);
        }
        await whenFree(() => signIns.end(id), PATIENCE);
        audit.done(exchange, "Sign-in ended", { ended: id, keyId: found.keyId });
        return new Response(null, { status: 204 });
      },
      documented("read", "Keys", "End a sign-in", {
        params: ID,
        answers: { 204: { description: "Ended; its streams close within 5 s" } },
      }),
    )
    .get(
      "/api/me",
      ({ exchange }) => {
        const caller = callerOf(exchange);
        const { signIn } = exchange;
        return {
          keyId: keyIdOf(caller.id),
          ...pick(caller, "name", "role", "anonymize"),
          permissions: PERMISSIONS.filter((each) => permits(caller, each)),
          via: signIn === null ? kindOf(caller.id) : "sign_in",
          public: settings().page.public,
          signIn: signIn && signInRecord(signIn, signIn),
          execute: execute.enabled,
          denials: denials.logging().map((each) => pick(each, "server", "state")),
        };
      },
      documented("read", "Keys", "The caller and its permissions", {
        answers: { 200: { description: "The caller", schema: Me }, 204: NOBODY },
      }),
    );

  /** Returns the daemon's URL for other hosts. */
  function ownUrl(port: number | undefined): string {
    const { host: listens, port: configured, tls } = settings();
    const isAnywhere = listens === "0.0.0.0" || listens === "::" || listens === "";
    const name = isAnywhere ? host.info().hostname : listens;
    const shownName = name.includes(":") ? `[${name}]` : name;
    return `${tls === null ? "http" : "https"}://${shownName}:${port ?? configured}`;
  }
}
