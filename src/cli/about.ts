import type { AppDeps } from "../http/routes/deps.ts";
import { versionLine } from "../system/build-info.ts";
import { command, flag } from "./command.ts";

/** `licmond version`: what `--version` prints, too. */
export const version = command({
  options: { licenses: flag("print the licenses of everything inside instead") },
  async run({ options }, io) {
    if (!options.licenses) return io.out(`${versionLine(io.build)}\n`);
    // A file beside the code and not a string in it, so that nothing else has to load it.
    const { default: file } = await import("./third-party-licenses.txt", { with: { type: "file" } });
    io.out(await Bun.file(file).text());
  },
});

/** `licmond openapi`: the API's document as the daemon serves it, without a daemon. */
export const openapi = command({
  async run(_, { build, out }) {
    // It takes a quarter of a second to load; the help must not wait for that.
    const { apiDocument } = await import("../http/app.ts");
    const document = await apiDocument(nothingBehind({ build, execute: { enabled: false } }));
    out(`${JSON.stringify(document, null, 2)}\n`);
  },
});

/** Stands in for what the routes need: they are declared and never called. Each part can be read and called, and is this again. */
const NOTHING: unknown = new Proxy(() => {}, { get: () => NOTHING, apply: () => NOTHING });

function nothingBehind(given: object): AppDeps {
  const get = (own: object, name: string | symbol) => Reflect.get(own, name) ?? NOTHING;
  // A proxy has every name that the type asks for.
  return new Proxy(given, { get }) as unknown as AppDeps;
}
