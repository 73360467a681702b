import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { mailServer } from "../reports/mail-server.ts";
import { until } from "./harness.ts";
import { createWatchedSite } from "./watched-site.ts";

const WEEK = 7 * 86_400_000;
const NAME = "<img/src=x>";

test("a report that was due while the daemon was down is sent once after its start", async () => {
  await using mail = await mailServer();
  await using site = await createWatchedSite(
    `
[[notifications]]
name = "boss"
type = "email"
smtp = "smtp://127.0.0.1:${mail.port}"
from = "licmond@site.example"
to = "boss@site.example"
severity = "critical"
[[products]]
name = "All of them"
features = ["eda/*/*"]
[[reports]]
every = "week"
target = "boss"
labels = { location = "muc" }`,
    'labels = { location = "muc" }',
  );
  const marks = <T>(work: (sqlite: Database) => T): T => {
    using sqlite = new Database(join(site.folder, "storage/licmond.db"));
    sqlite.run("PRAGMA busy_timeout = 5000");
    return work(sqlite);
  };
  const mark = () =>
    marks((db) => db.query("SELECT value FROM event_marks WHERE name LIKE 'report:%'").get()) as {
      value: number;
    } | null;

  let sent = 0;
  {
    await using watching = await site.watch();
    await watching.poll({ features: { [NAME]: { total: 4, used: 1 } } });
    sent = (await until("the report is known", async () => mark() ?? undefined)).value;
    expect(mail.mails).toEqual([]);
  }
  marks((db) => db.run("UPDATE event_marks SET value = value - ? WHERE name LIKE 'report:%'", [WEEK]));
  {
    await using _ = await site.watch();
    await until("the report is sent", async () => mail.mails.length > 0 || undefined);
    await until("that is stored", async () => mark()?.value === sent || undefined);
  }
  expect(mail.mails).toHaveLength(1);
  const [only] = mail.mails;
  expect(only?.head).toContain("To: boss@site.example");
  expect(only?.parts.get("text/html")).toContain("default-src 'none'");

  // Report the current week, which contains the feature with the hostile name.
  const to = join(site.folder, "report.html");
  const now = Temporal.Now.plainDateISO();
  const period = `${now.yearOfWeek}-W${String(now.weekOfYear).padStart(2, "0")}`;
  const ran = await site.run(["report", "--period", period, "--to", to, "--label", "location:muc"]);
  expect(ran).toMatchObject({ exitCode: 0, stdout: "" });
  const html = await Bun.file(to).text();
  expect(html).toContain("&lt;img/src=x&gt;");
  expect(html).toContain("All of them");
});
