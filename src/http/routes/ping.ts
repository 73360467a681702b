import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type Clock, iso } from "../../domain/clock.ts";
import { Timestamp, words } from "../../domain/records.ts";
import { documented } from "../documented.ts";

const Pong = Type.Object({ message: words(["pong"]), timestamp: Timestamp });

/** Is anybody there? Touches nothing else. */
export function pingRoutes({ clock }: { readonly clock: Clock }) {
  return new Elysia({ name: "routes/ping" }).get(
    "/api/ping",
    () => Response.json({ message: "pong", timestamp: iso(clock.now()) }),
    documented({
      access: "open",
      tag: "Service",
      summary: "Is the daemon there",
      answers: { 200: { description: "It is", schema: Pong } },
    }),
  );
}
