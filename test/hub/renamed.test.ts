import { beforeEach, expect, test } from "bun:test";
import { until } from "../until.ts";
import { describeHub, type TestSite } from "./describe-hub.ts";
import { pictureStates, simulatedPictures } from "./pictures.ts";
import { madeUpFacts } from "./rig.ts";

const AT = Date.now();

describeHub("a hub's data of a site", { each: true }, (at) => {
  const { hub } = at;
  let old: TestSite;
  let site: TestSite;
  beforeEach(async () => {
    [old, site] = [await at.site("munich"), await at.site("muc")];
  });

  const fill = async () => {
    const states = pictureStates(simulatedPictures(1, AT));
    await old.pushes({ to: 90, facts: madeUpFacts(1, 90, AT), states });
  };
  /** Makes the first push of the old database under the site's new name. */
  const hello = (epoch = old.epoch) =>
    site.push({ hello: true, begins: false, from: 91, to: 90, epoch, formerly: "munich" });
  const named = async (list: string) => {
    const { total } = await hub.json<{ total?: number }>(`/api/licenses/${list}`);
    return total ?? null;
  };
  const silence = () => at.pool`UPDATE sites SET last_push_at = last_push_at - 31000`;

  test("belongs to the site under its new name, and continues", async () => {
    await fill();
    const sessions = await named("sessions");
    const servers = await until(
      "the pictures are there",
      async () => (await named("servers?site=munich")) || undefined,
    );
    await silence();
    expect(await site.sends(hub.url, hello())).toMatchObject({ cursor: 90 });
    const more = { from: 91, to: 93, epoch: old.epoch, begins: false, facts: madeUpFacts(91, 3, AT) };
    expect((await site.pushes(more)).cursor).toBe(93);
    await until(
      "lists have the new name",
      async () => (await named("servers?site=muc")) === servers || undefined,
    );
    expect(await named("servers")).toBe(servers);
    expect(await named("sessions?site=muc&limit=1000")).toBe((sessions ?? 0) + 1);
    expect(await named("sessions?site=munich")).toBeNull();
    const { sites } = await hub.json<{ sites: { site: string }[] }>("/api/fleet/sites");
    expect(sites.map((each) => each.site)).toEqual(["muc"]);
  });

  test("stays with the old name while that site still pushes: then one is a copy", async () => {
    await fill();
    const refused = await site.send(hub.url, hello());
    expect([refused.status, ((await refused.json()) as { details: string }).details]).toEqual([
      409,
      "instance",
    ]);
    await old.pushes({ from: 91, to: 90, begins: false, stops: true });
    expect(await site.sends(hub.url, hello())).toMatchObject({ cursor: 90 });
  });

  test.each([
    ["another database", () => hello("00000000000000ab")],
    ["a name that is not known", () => ({ ...hello(), formerly: "berlin" })],
  ])("stays the old one's: %s", async (_, wanted) => {
    await fill();
    await silence();
    const answer = await site.send(hub.url, wanted());
    expect([answer.status, ((await answer.json()) as { details: string }).details]).toEqual([409, "epoch"]);
    await until("it is there", async () => (await named("sessions?site=munich")) === 30 || undefined);
  });

  test("is not moved if the new name has facts already", async () => {
    await fill();
    await site.pushes({ to: 3, facts: madeUpFacts(1, 3, AT) });
    await silence();
    expect((await site.send(hub.url, hello())).status).toBe(409);
    await until("it is there", async () => (await named("sessions?site=munich")) === 30 || undefined);
  });

  test("includes facts of unknown kinds once the hub knows them, before newer facts", async () => {
    const [opened, ended] = [madeUpFacts(4, 1, AT)[0], madeUpFacts(5, 1, AT)[0]];
    const facts = [
      { ...opened, kind: "later", seq: 1 },
      { kind: "later", seq: 2, of: "another one" },
      { kind: "never", seq: 3 },
    ];
    const days = [{ table: "one day", day: 20_000, part: 0, rows: [] }];
    await old.pushes({ to: 3, facts, days: days as never });
    expect(await named("sessions")).toBe(0);
    // Act as if an older hub had refused a fact that this hub understands.
    const good = Buffer.from(JSON.stringify({ ...opened, seq: 1 }));
    await at.pool`UPDATE refused SET kind = 'session', body = ${good} WHERE seq = 1`;
    const bad = Buffer.from(JSON.stringify({ ...opened, seq: 2, user: 5 }));
    await at.pool`UPDATE refused SET kind = 'session', body = ${bad} WHERE seq = 2`;
    const day = Buffer.from(JSON.stringify({ ...days[0], table: "sessions" }));
    await at.pool`UPDATE refused SET kind = 'sessions', body = ${day} WHERE seq IS NULL`;
    const again = { ...ended, seq: 4 };
    await old.pushes({ from: 4, to: 4, begins: false, facts: [again] });
    expect(await named("sessions")).toBe(1);
    const left = await at.pool`SELECT seq::int AS seq, kind FROM refused ORDER BY seq`;
    expect([...left]).toEqual([
      { seq: 2, kind: null },
      { seq: 3, kind: "never" },
    ]);
    await old.pushes({ from: 5, to: 4, begins: false });
    expect(await named("sessions")).toBe(1);
  });
});
