import { describe, expect, test } from "bun:test";
import { isGood, lastLine, nothing, oneFailed, onePassed, sum, tallyOf } from "../../scripts/lib/tally.ts";

const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4" failures="1" skipped="2">
  <testsuite name="test/a.test.ts" file="test/a.test.ts" tests="4" failures="1" skipped="2">
    <testcase name="passes" classname="" time="0" file="test/a.test.ts" line="3" />
    <testcase name="fails" classname="" time="0" file="test/a.test.ts" line="4">
      <failure type="AssertionError" message="says &lt;skipped /&gt;">said</failure>
    </testcase>
    <testcase name="a &lt;b&gt; &quot;c&quot;" classname="group" time="0" file="test/a.test.ts" line="5">
      <skipped />
    </testcase>
    <testcase name="later" classname="" time="0" file="test/a.test.ts" line="6">
      <skipped message="TODO" />
    </testcase>
  </testsuite>
</testsuites>`;

describe("tallyOf", () => {
  test("counts the report and names what was skipped", () => {
    expect(tallyOf({ report, output: "", exitCode: 1 })).toEqual({
      passed: 1,
      failed: 1,
      skipped: ['test/a.test.ts > group > a <b> "c"', "test/a.test.ts > later"],
    });
  });

  test.each<[string, Parameters<typeof tallyOf>[0], number]>([
    ["a file that does not load", { report, output: " 1 pass\n 2 fail\n 1 error\n", exitCode: 1 }, 2],
    ["several of them", { report, output: " 1 pass\n 3 fail\n 2 errors\n", exitCode: 1 }, 3],
    ["a crash before the report", { report: null, output: "", exitCode: null }, 1],
    ["a bad end without a failed test", { report: "<testsuites></testsuites>", output: "", exitCode: 1 }, 1],
    ["words that look like the summary", { report: "", output: "found 7 errors", exitCode: 0 }, 0],
  ])("counts failures: %s", (_, run, failed) => {
    expect(tallyOf(run).failed).toBe(failed);
  });
});

test("the last line", () => {
  expect(lastLine(sum([onePassed, onePassed, oneFailed]))).toBe("2 passed, 1 failed");
  expect(lastLine({ passed: 2, failed: 0, skipped: ["x"] })).toBe("2 passed, 0 failed, 1 skipped");
});

test("a run in which nothing ran is not good", () => {
  expect(isGood(nothing)).toBe(false);
  expect(isGood(sum([onePassed, oneFailed]))).toBe(false);
  expect(isGood(onePassed)).toBe(true);
});
