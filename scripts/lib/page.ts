import { join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** A file of the page with its compressed forms. */
interface BuiltFile {
  /** Path below the page's address: `index.html`, `assets/index-1a2b3c.js`. */
  readonly name: string;
  readonly type: string;
  readonly etag: string;
  readonly forms: Readonly<Record<Encoding, Uint8Array<ArrayBuffer>>>;
}

/** Name of the document that a hub serves as index.html. */
const HUB_INDEX = "index-hub.html";

/**
 * Stored forms of each file. Clients that accept neither get the decompressed gzip form, because storing
 * plain files too would add half of the size.
 */
const ENCODINGS = ["gzip", "br"] as const;
export type Encoding = (typeof ENCODINGS)[number];

interface BuiltPage {
  readonly files: readonly BuiltFile[];
  /** Absolute paths of all inputs. */
  readonly inputs: readonly string[];
}

/**
 * Bundles the page (`src/page`). Names in `assets/` contain a hash of the content. Links are relative, so that the page
 * works below any prefix; therefore `publicPath` is not set. Hashes depend on the working directory, so equal bytes need the
 * same `root`.
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
  // The worker and the first script are built separately, because sharing a few lines with the page would
  // cost one more request.
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
  if (index === undefined) throw new Error("the build made no index.html");
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
 * Inlines the script that runs before the first paint; Bun would merge it into the deferred module. The page's policy
 * contains its hash.
 */
function withFirst(html: string, first: string): string {
  const place = '<link rel="stylesheet"';
  if (!html.includes(place))
    throw new Error("index.html has no style sheet, which the first script must precede");
  return html.replace(place, () => `<script>${first}</script>${place}`);
}

/** Makes the page for unknown addresses: the head and styles of the web page, a link back, and no script. */
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
 * Replaces `src/http/page/files.ts`, which builds the page on demand from sources that the executable does not have.
 * `compile.ts` explains why the option `files` is not used.
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
