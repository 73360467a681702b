/** This file lists which test runs which block of the documents. */
import { join } from "node:path";
import { type Block, blocksOf } from "./markdown.ts";

export const ROOT = join(import.meta.dir, "../..");

export const DOCUMENTS = [
  "README.md",
  "CONTRIBUTING.md",
  ...[...new Bun.Glob("docs/**/*.md").scanSync(ROOT)].sort(),
];

/** Tests by the names in `<!-- run: NAME -->`. */
export const RUNNERS: Readonly<Record<string, string>> = {
  /** `./scripts/demo`, and requests to it. */
  demo: "test/e2e/readme.test.ts",
  /** JavaScript of a page, against the demo. */
  page: "test/e2e/readme.test.ts",
  /** Commands on a host with systemd, in the order of the document. */
  host: "test/systemd/readme.test.ts",
  /** Commands on a host with systemd and the Debian package. */
  package: "test/systemd/readme.test.ts",
  /** A part of a config. */
  config: "test/docs/documents.test.ts",
  /** Saved outputs, profiles for them, and the shown readings. */
  managers: "test/docs/managers.test.ts",
  /** A fleet: PostgreSQL, hubs, a site, a proxy. */
  fleet: "test/e2e/fleet-document.test.ts",
  /** SQL that exports counts of other monitors, and the CSV. */
  counts: "test/cli/history/import-counts.test.ts",
  /** Commands for contributors. */
  develop: "test/docs/documents.test.ts",
};

const blocks = await Promise.all(
  DOCUMENTS.map(async (file) => blocksOf(await Bun.file(join(ROOT, file)).text(), file)),
);

export const BLOCKS: readonly Block[] = blocks.flat();

export function claimed(runner: keyof typeof RUNNERS, file?: string): readonly Block[] {
  return BLOCKS.filter((block) => block.runner === runner && (file === undefined || block.file === file));
}

export function titleOf({ file, line, text }: Block): string {
  return `${file}:${line}: ${text.split("\n", 1)[0]?.slice(0, 60)}`;
}
