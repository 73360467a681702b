import { expect, test } from "bun:test";
import { isRunning } from "../../src/install/process-running.ts";
import { linesOf } from "../store/place.ts";

test("this process runs, and one that is over does not", () => {
  expect(isRunning(process.pid)).toBe(true);
  const { pid } = Bun.spawnSync(["true"]);
  expect(isRunning(pid)).toBe(false);
});

test.skipIf(process.platform !== "linux")(
  "one that nobody has asked for since it ended is over",
  async () => {
    // `sleep` takes the place of the shell, and does not know of its child.
    const child = Bun.spawn(["sh", "-c", "sleep 0.1 & echo $!; exec sleep 30 >&-"], { stdout: "pipe" });
    try {
      for await (const line of linesOf(child.stdout)) {
        const pid = Number(line);
        const until = Date.now() + 40_000;
        while (isRunning(pid) && Date.now() < until) await Bun.sleep(10);
        expect(isRunning(pid)).toBe(false);
        // Its id is still taken.
        expect(() => process.kill(pid, 0)).not.toThrow();
        return;
      }
      throw new Error("the shell said nothing");
    } finally {
      child.kill();
    }
  },
);
