import { nameOf, type ReleaseTarget } from "./targets.ts";

/** Describes the system requirements. `glibc` is the version that the executable requires. */
function needs(target: ReleaseTarget, glibc: string | null): string {
  if (target.libc === "glibc")
    return `Needs Linux 5.1 or newer and glibc ${glibc ?? "?"} or newer, nothing else.`;
  if (target.libc === "musl")
    return "Needs Linux 5.1 or newer, musl 1.2.4 or newer and libstdc++ (Alpine 3.18 or newer: apk add libstdc++).";
  const preview = `A PREVIEW: it is built together with the Linux ones, and the project's tests do not run it. Tell what you find.`;
  if (target.system === "windows")
    return `${preview}\nRun it in a terminal: licmond.exe serve. It does not install itself as a service.`;
  return `${preview}
It is not notarized. macOS lets it run after:
  xattr -d com.apple.quarantine licmond
  codesign --force --sign - licmond`;
}

export function archiveReadme(target: ReleaseTarget, version: string, glibc: string | null): string {
  const start =
    target.system === "linux"
      ? `  ./licmond demo                 the whole daemon on simulated license servers
  sudo ./licmond install         as a service: binary, unit, user and a config to fill in
  sudo licmond check             what is still wrong with it
  licmond keys create --help     keys for those who may ask

systemd/ has the unit that \`licmond install\` installs, for those who put it in place otherwise.`
      : `  licmond demo                   the whole daemon on simulated license servers
  licmond init --output FILE     a config to fill in
  licmond serve --config FILE`;
  return `licmond ${version} for ${target.name}: watches software license servers

${needs(target, glibc)}

${start}

License: MIT (LICENSE). What the executable holds of others: THIRD-PARTY-LICENSES, or \`licmond version --licenses\`.
`;
}

/** Describes the files of a release. */
export function releaseReadme(
  targets: readonly ReleaseTarget[],
  version: string,
  glibcOf: (target: ReleaseTarget) => string | null,
): string {
  const parts = targets.map((target) => {
    const text = needs(target, glibcOf(target)).replaceAll("\n", "\n    ");
    return `${nameOf(target, version)}\n    ${text}`;
  });
  return `licmond ${version}

For each machine there is the executable alone, which is all that is needed, and an archive that has the licenses, the
systemd files and a README beside it. The .deb packages are for Debian 12, Ubuntu 22.04 and newer.

${parts.join("\n\n")}

Check what you downloaded:  sha256sum --ignore-missing -c SHA256SUMS
A download has lost its mode:  chmod +x licmond-${version}-…
`;
}
