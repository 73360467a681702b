import manifest from "../../package.json" with { type: "json" };

/** Set by the build (`--define`); undefined when licmond runs from its sources. */
declare const BUILD_VERSION: string | undefined;
declare const BUILD_COMMIT: string | undefined;

export type BuildInfo = ReturnType<typeof buildInfo>;

export function buildInfo() {
  return {
    version: typeof BUILD_VERSION === "string" ? BUILD_VERSION : manifest.version,
    /** Commit of the build; null when run from source. */
    commit: typeof BUILD_COMMIT === "string" ? BUILD_COMMIT : null,
    bun: Bun.version,
  };
}

/** Returns `licmond 0.1.0 (commit)`; the commit is `dev` when run from source. */
export function versionLine({ version, commit }: BuildInfo): string {
  return `licmond ${version} (${commit ?? "dev"})`;
}
