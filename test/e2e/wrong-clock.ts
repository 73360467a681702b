import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";

/** C library that shifts the wall clock by the seconds in a file, which may change at any time. */
const SHIM = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *shift;

__attribute__((constructor)) static void begin(void) {
  int file = open(getenv("CLOCK_SHIFT"), O_RDONLY);
  void *found = file < 0 ? MAP_FAILED : mmap(0, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
  if (found != MAP_FAILED) shift = found;
}
int clock_gettime(clockid_t clock, struct timespec *at) {
  int result = syscall(SYS_clock_gettime, clock, at);
  if (shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += *shift;
  return result;
}
int gettimeofday(struct timeval *at, void *zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`;

/** A wall clock for programs that run with its environment. */
export interface WrongClock {
  readonly env: Readonly<Record<string, string>>;
  /** Sets the offset in seconds; negative = behind. */
  set(seconds: number): Promise<void>;
}

export const HAS_COMPILER = Bun.which("cc") !== null;

export async function createWrongClock(folder: string): Promise<WrongClock> {
  const library = join(folder, "wrong-clock.so");
  const compiler = Bun.spawn(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-o", library, "-"], {
    stdin: new Blob([SHIM]),
    stderr: "pipe",
  });
  const said = await compiler.stderr.text();
  if ((await compiler.exited) !== 0) throw new Error(`cc: ${said}`);
  const file = join(folder, "clock-shift");
  const set = async (seconds: number) => {
    await Bun.write(file, new BigInt64Array([BigInt(seconds)]));
  };
  await set(0);
  // $PATH has only the programs that fake tools need, and no timedatectl, so the host does not confirm the
  // clock.
  const path = join(folder, "bin");
  await mkdir(path);
  await symlink("/bin/cat", join(path, "cat"));
  return { env: { LD_PRELOAD: library, CLOCK_SHIFT: file, PATH: path }, set };
}
