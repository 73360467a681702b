import { nameOf, type ReleaseTarget } from "./targets.ts";

/** Describes the system requirements. `glibc` is the version that the executable requires. */
function needs(target: ReleaseTarget, glibc: string | null): string {
  if (target.libc === "glibc")
    return `Requires Linux 5.1 or newer and glibc ${glibc ?? "?"} or newer, nothing else.`;
  if (target.libc === "musl")
    return "Requires Linux 5.1 or newer, musl 1.2.4 or newer and libstdc++ (Alpine 3.18 or newer: apk add libstdc++).";
  const preview = `PREVIEW: built and checked together with the Linux versions, but not run by the project's tests. Please report problems.`;
  if (target.system === "windows")
    return `${preview}\nRun it in a terminal: licmond.exe serve. It cannot be installed as a service.`;
  return `${preview}
It is not notarized. To allow it on macOS, run:
  xattr -d com.apple.quarantine licmond
  codesign --force --sign - licmond`;
}

export function archiveReadme(target: ReleaseTarget, version: string, glibc: string | null): string {
  const start =
    target.system === "linux"
      ? `  ./licmond demo                 run everything on simulated license servers
  sudo ./licmond install         install the service: binary, unit, user, a config to fill in
  sudo licmond check             check the config
  licmond keys create --help     create keys for clients

systemd/ contains the unit that \`licmond install\` installs, for other ways of installation.`
      : `  licmond demo                   run everything on simulated license servers
  licmond init --output FILE     write a config to fill in
  licmond serve --config FILE    run the daemon`;
  return `licmond ${version} for ${target.name}: watches software license servers

${needs(target, glibc)}

${start}

License: MIT (LICENSE). Licenses of the included software: THIRD-PARTY-LICENSES, or \`licmond version --licenses\`.
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

For each system there is the executable, which needs no other file, and an archive with the executable, the licenses, a
README and, for Linux, the systemd files. The .deb packages are for Debian 12, Ubuntu 22.04 and newer.

${parts.join("\n\n")}

Verify the download:  sha256sum --ignore-missing -c SHA256SUMS
Make it executable:   chmod +x licmond-${version}-…
`;
}
