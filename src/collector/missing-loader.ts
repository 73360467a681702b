/** What to do about a loader that is not there: FlexNet's Linux builds ask for the one of the Linux Standard Base. */
const FIXES: Readonly<Record<string, string>> = {
  "/lib64/ld-lsb-x86-64.so.3":
    "`ln -s /lib64/ld-linux-x86-64.so.2 /lib64/ld-lsb-x86-64.so.3`, or `apt install lsb-core` where the distribution still has it",
  "/lib64/ld-lsb-x86-64.so.2":
    "`ln -s /lib64/ld-linux-x86-64.so.2 /lib64/ld-lsb-x86-64.so.2`, or `apt install lsb-core` where the distribution still has it",
  "/lib/ld-lsb.so.3":
    "`dpkg --add-architecture i386 && apt update && apt install libc6:i386`, then `ln -s /lib/ld-linux.so.2 /lib/ld-lsb.so.3`",
  "/lib/ld-linux.so.2":
    "`dpkg --add-architecture i386 && apt update && apt install libc6:i386` (Red Hat: `dnf install glibc.i686`)",
  "/lib64/ld-linux-x86-64.so.2":
    "install the C library of x86-64: `apk add gcompat` on Alpine, `dpkg --add-architecture amd64 && apt update && apt install libc6:amd64` on a Debian of another architecture",
  "/lib/ld-linux-aarch64.so.1":
    "install the C library of ARM 64: `apk add gcompat` on Alpine, `dpkg --add-architecture arm64 && apt update && apt install libc6:arm64` on a Debian of another architecture",
  "/lib/ld-musl-x86_64.so.1": "`apt install musl`",
  "/lib/ld-musl-aarch64.so.1": "`apt install musl`",
};

/** The fix for a missing ELF loader, in one sentence without its full stop. */
export function fixForLoader(loader: string): string {
  return (
    FIXES[loader] ?? `install the package that brings ${loader}, or use a build of the tool for this system`
  );
}
