import type { Command } from "commander";
import type { HttpDeps } from "../http/deps.ts";
import type { CommandIo } from "./io.ts";

/** `licmond openapi`: the API's document as the daemon serves it, without a daemon. */
export function define(command: Command, { build, out }: CommandIo): void {
  command.action(async () => {
    // It takes a quarter of a second to load; the help must not wait for that.
    const { apiDocument } = await import("../http/app.ts");
    out(
      `${JSON.stringify(await apiDocument(nothingBehind({ build, execute: { enabled: false } })), null, 2)}\n`,
    );
  });
}

/** Stands behind the routes, which are declared and never called: each part can be read and called, and is this again. */
const NOTHING: unknown = new Proxy(() => {}, { get: () => NOTHING, apply: () => NOTHING });

function nothingBehind(given: object): HttpDeps {
  const get = (own: object, name: string | symbol) => Reflect.get(own, name) ?? NOTHING;
  // A proxy has every name that the type asks for.
  return new Proxy(given, { get }) as unknown as HttpDeps;
}
