import { expect, test } from "bun:test";
import { mountOf } from "../../src/collector/mounts.ts";

/** In the form of proc_pid_mountinfo(5). */
const TABLE = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 8:2 / /opt rw,nosuid,noexec shared:2 - ext4 /dev/sda2 rw
31 30 8:3 / /opt/tools rw,relatime - nfs srv:/tools rw
32 22 8:4 / /mnt/my\\040disk ro,noexec - ext4 /dev/sda4 ro
33 22 8:5 / /srv rw,noexec - ext4 /dev/sda5 rw
34 22 8:6 / /srv rw,relatime - ext4 /dev/sda6 rw
`;

test.each([
  ["/opt/lmutil", "/opt", true],
  ["/opt/tools/lmutil", "/opt/tools", false],
  ["/optional/lmutil", "/", false],
  ["/mnt/my disk/lmutil", "/mnt/my disk", true],
  ["/srv/lmutil", "/srv", false],
  ["/", "/", false],
])("%s lies on %s", (path, point, noexec) => {
  const mount = mountOf(path, TABLE);
  expect([mount?.point, mount?.options.includes("noexec")]).toEqual([point, noexec]);
});

test("where the kernel tells nothing, nothing is claimed", () => {
  expect(mountOf("/opt/lmutil", "")).toBeNull();
});
