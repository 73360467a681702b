import type { AppDeps } from "../http/routes/deps.ts";
import { versionLine } from "../system/build-info.ts";
import { command, flag } from "./command.ts";

export const version = command({
  options: { licenses: flag("print the licenses of all bundled software") },
  async run({ options }, io) {
    if (!options.licenses) return io.out(`${versionLine(io.build)}\n`);
    // The text is in a separate file, so that other commands do not load it.
    const { default: file } = await import("./third-party-licenses.txt", { with: { type: "file" } });
    io.out(await Bun.file(file).text());
  },
});

export const openapi = command({
  async run(_, { build, out }) {
    // Loading the app takes a quarter of a second; `--help` must not wait for it.
    const { apiDocument } = await import("../http/app.ts");
    const document = await apiDocument(nothingBehind({ build, execute: { enabled: false } }));
    out(`${JSON.stringify(document, null, 2)}\n`);
  },
});

/** Placeholder for a missing dependency: a function whose properties and result are the placeholder again. */
const NOTHING: unknown = new Proxy(() => {}, { get: () => NOTHING, apply: () => NOTHING });

function nothingBehind(given: object): AppDeps {
  const get = (own: object, name: string | symbol) => Reflect.get(own, name) ?? NOTHING;
  // Missing dependencies are placeholders, which no type describes.
  return new Proxy(given, { get }) as unknown as AppDeps;
}
