import { afterEach, expect, test } from "bun:test";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { hostZone } from "../../../src/domain/time/zone.ts";
import * as a from "../../domain/make.ts";
import { createRig } from "../../history/rig.ts";
import { cleanUp } from "../../store/place.ts";
import { createPlace, run } from "../rig.ts";

afterEach(cleanUp);

const SERVER = `
[[servers]]
id = "eda"
name = "EDA <b>tools</b>"
manager = "flexnet"
address = "27000@lic1"
labels = { location = "muc" }
[[products]]
name = "Compilers"
features = ["eda/*/comp*"]`;

test("writes a file of mode 0600, or text to stdout", async () => {
  await using place = await createPlace();
  await place.write(SERVER);
  const now = Date.now();
  const rig = createRig([a.server()], place.storage);
  for (const at of [now - 120_000, now - 60_000])
    await rig.poll(a.outcome({ startedAt: at, finishedAt: at }));
  const month = Temporal.Instant.fromEpochMilliseconds(now - 120_000).toZonedDateTimeISO(hostZone());
  const period = month.toPlainDate().toPlainYearMonth().toString();
  const to = join(place.folder, "report.html");
  const report = (...args: string[]) =>
    run(["report", "--config", place.config, "--period", period, ...args]);

  expect(await report("--to", to)).toMatchObject({ exitCode: 0, out: "", err: expect.stringContaining(to) });
  expect((await stat(to)).mode & 0o777).toBe(0o600);
  const html = await Bun.file(to).text();
  expect(html).toContain("EDA &lt;b&gt;tools&lt;/b&gt;, snpslmd");
  const { out } = await report("--label", "location:muc");
  expect(out).toMatch(/^Compilers\n +10 +1 \(10 %\) /m);
  expect(out).toMatch(/^ann \(ws1\), compiler/m);
  expect((await report("--anonymize")).out).toContain("This report contains no user names.");
  expect((await report("--anonymize")).out).not.toContain("ann (ws1)");
  const plain = join(place.folder, "report.txt");
  await report("--to", plain);
  expect(await Bun.file(plain).text()).toStartWith("License report: ");
  const none = { exitCode: 1, err: "licmond: no server has these labels\n" };
  expect(await report("--label", "location:x")).toMatchObject(none);
  expect((await report("--to", "/proc/x/y")).err).toStartWith("licmond: cannot write /proc/x/y: ");
});

test.each([
  [["--period", "2999-01"], "--period 2999-01 has not begun"],
  [["--period", "2026-W99"], "'2026-W99' is invalid. Expected a month or a week, e.g. 2026-10"],
  [[], "required option '--period <month or week>' not specified"],
  [["--period", "2026-01", "--label", "location"], "--label must be name:value, e.g. location:muc"],
])("rejects %p", async (args, message) => {
  await using place = await createPlace();
  const { exitCode, err } = await run(["report", "--config", place.config, ...args]);
  expect([exitCode, err]).toEqual([2, expect.stringContaining(message)]);
});

test("suggests `licmond serve` without a database", async () => {
  await using place = await createPlace();
  await place.write(SERVER);
  const { exitCode, err } = await run(["report", "--config", place.config, "--period", "2026-01"]);
  expect([exitCode, err]).toEqual([1, expect.stringContaining("licmond serve")]);
});
