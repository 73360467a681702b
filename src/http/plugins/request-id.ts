import { Elysia } from "elysia";
import type { Exchanges } from "../exchange.ts";

const CLIENT_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Step 1: every request has an id, its client's own when it is harmless, and every answer carries it. */
export function requestId(exchanges: Exchanges) {
  return new Elysia({ name: "request-id" }).onRequest(({ request }) => {
    const sent = request.headers.get("x-request-id");
    const id = sent !== null && CLIENT_ID.test(sent) ? sent : Bun.randomUUIDv7();
    exchanges.open(request, id);
  });
}
