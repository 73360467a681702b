import { join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** A file of the page, in the forms in which it is kept. */
export interface BuiltFile {
  /** Path below the page's address: `index.html`, `assets/index-1a2b3c.js`. */
  readonly name: string;
  readonly type: string;
  readonly etag: string;
  readonly forms: Readonly<Record<Encoding, Uint8Array<ArrayBuffer>>>;
}

/** Name of the document that a hub serves as index.html. */
const HUB_INDEX = "index-hub.html";

/** What takes neither gets the first one unpacked: all files as they are would be half of what they need in the binary. */
export const ENCODINGS = ["gzip", "br"] as const;
export type Encoding = (typeof ENCODINGS)[number];

export interface BuiltPage {
  readonly files: readonly BuiltFile[];
  /** What went in, as absolute paths. */
  readonly inputs: readonly string[];
}

/**
 * Bundles the page (`src/page`): names in `assets/` carry a hash of their content, the others stay the same. Every link
 * is relative, so that the page works below any prefix: that is why `publicPath` is not set. Equal sources make equal bytes
 * where the working directory is `root`: the hashes depend on it.
 */
export async function buildPage(root: string): Promise<BuiltPage> {
  const source = join(root, "src/page");
  const options = {
    root: source,
    target: "browser",
    minify: true,
    metafile: true,
    define: { "process.env.NODE_ENV": '"production"' },
    naming: {
      entry: "[name].[ext]",
      chunk: "assets/[name]-[hash].[ext]",
      asset: "assets/[name]-[hash].[ext]",
    },
    throw: false,
  } as const;
  // The worker and the first script are built apart: shared with the page, their few lines would be a request more.
  const [page, ...others] = await Promise.all(
    ["index.html", "stream-worker.ts", "first.ts"].map(async (name) => {
      const entrypoints = [join(source, name)];
      const result = await Bun.build({ ...options, entrypoints, splitting: name === "index.html" });
      if (result.success) return result;
      throw new Error(`the page does not build:\n${result.logs.map(String).join("\n")}`);
    }),
  );
  const outputs = [page, ...others].flatMap((result) => result?.outputs ?? []);
  const texts = new Map(
    await Promise.all(
      outputs.map(async (output) => {
        const name = relative(".", output.path).replaceAll(sep, "/");
        return [name, { type: output.type, text: await output.text() }] as const;
      }),
    ),
  );
  const first = texts.get("first.js")?.text.trim() ?? "";
  const index = texts.get("index.html");
  if (index === undefined) throw new Error("index.html is not among what was built");
  const { type } = index;
  texts.delete("first.js");
  const html = withFirst(index.text, first);
  texts.set("index.html", { type, text: html });
  texts.set(HUB_INDEX, { type, text: html.replace("<html", '<html data-hub="1"') });
  texts.set("404.html", { type, text: notFound(index.text) });
  const files = await Promise.all([...texts].map(([name, { type, text }]) => builtFile(name, type, text)));
  const inputs = [page, ...others].flatMap((result) =>
    Object.keys(result?.metafile?.inputs ?? {}).map((path) => join(process.cwd(), path)),
  );
  return { files: files.sort((a, b) => (a.name < b.name ? -1 : 1)), inputs };
}

/**
 * Puts the script that runs before the first paint into the page: Bun merges every script of a page into its one deferred
 * module. The policy of the page has its hash.
 */
function withFirst(html: string, first: string): string {
  const place = '<link rel="stylesheet"';
  if (!html.includes(place)) throw new Error("index.html has no style sheet to put the first script before");
  return html.replace(place, () => `<script>${first}</script>${place}`);
}

/** Makes the answer to unknown addresses: the page's head and look, a way back, and no script. */
function notFound(html: string): string {
  const links = [
    ["./", "Overview"],
    ["./features", "Features"],
    ["./swagger", "API documentation"],
  ].map(([href, word]) => `<a class="btn" href="${href}">${word}</a>`);
  const main = `<main id="main" class="empty"><h1>Page not found</h1><p>There is no page at this address.</p><p class="facts">${links.join("")}</p></main>`;
  return html
    .replace(/<main.*<\/main>/s, main)
    .replaceAll(/<(script|noscript)\b.*?<\/\1>/gs, "")
    .replace("<title>", "<title>Page not found · ")
    .replace('<span class="brand">', '<a class="brand" href="./">')
    .replace("licmond</span>", "licmond</a>");
}

async function builtFile(name: string, type: string, text: string): Promise<BuiltFile> {
  const identity = new TextEncoder().encode(text);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  const br = new Uint8Array(await promisify(brotliCompress)(identity, quality));
  const zipped = new Uint8Array(await promisify(gzip)(identity, { level: 9 }));
  const hash = new Bun.CryptoHasher("sha256").update(identity).digest("base64url").slice(0, 16);
  return { name, type, etag: hash, forms: { gzip: zipped, br } };
}

/**
 * Puts the built files in the place of `src/http/page/files.ts`, which builds them when it is asked: inside the executable
 * there are no sources. Not by the build's option `files`, for the reason that `compile.ts` gives.
 */
export function withPage({ files }: Pick<BuiltPage, "files">): Bun.BunPlugin {
  const forms = files.flatMap((file, at) =>
    ENCODINGS.map((encoding) => ({ id: `${at}-${encoding}`, bytes: file.forms[encoding] })),
  );
  const imports = forms.map(
    ({ id }, at) => `import f${at} from ${JSON.stringify(`page:${id}`)} with { type: "file" };`,
  );
  const entries = files.map(({ name, type, etag }, at) => {
    const paths = ENCODINGS.map(
      (encoding, form) => `${encoding}: Bun.file(f${ENCODINGS.length * at + form})`,
    );
    return `{ ...${JSON.stringify({ name, type, etag })}, forms: { ${paths.join(", ")} } }`;
  });
  const contents = `${imports.join("\n")}\nexport const pageFiles = async () => [${entries.join(",\n")}];`;
  return {
    name: "page",
    setup(build) {
      build.onLoad({ filter: /\/src\/http\/page\/files\.ts$/ }, () => ({ contents, loader: "js" }));
      build.onResolve({ filter: /^page:/ }, ({ path }) => ({ path: path.slice(5), namespace: "page" }));
      build.onLoad({ filter: /./, namespace: "page" }, ({ path }) => ({
        contents: forms.find(({ id }) => id === path)?.bytes ?? "",
        loader: "file",
      }));
    },
  };
}
