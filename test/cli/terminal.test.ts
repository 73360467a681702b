import { expect, test } from "bun:test";
import { createProgress } from "../../src/cli/terminal.ts";

function painted(terminal: boolean) {
  let text = "";
  const err = (more: string) => {
    text += more;
  };
  return { progress: createProgress("Copying", { err, terminal: { err: terminal } }), text: () => text };
}

test("on a terminal the first step is painted, however young the process is, and the next ones not at once", () => {
  const bar = painted(true);
  bar.progress.at(0.5);
  bar.progress.at(0.6);
  bar.progress.end("done");
  expect(bar.text()).toBe(`\rCopying  ${"█".repeat(15)}${"░".repeat(15)} 50 %\r\u001b[Kdone\n`);
});

test("elsewhere there is a line at the begin and one at the end", () => {
  const bar = painted(false);
  bar.progress.at(0.5);
  bar.progress.end("done");
  expect(bar.text()).toBe("Copying …\ndone\n");
});
