import { migrate } from "../../src/hub/database/migrate.ts";
import { createPartitions } from "../../src/hub/database/partitions.ts";
import { publish, streamState } from "../../src/hub/streams/publish.ts";
import { freePort } from "../free-port.ts";
import { startPostgres } from "./postgres.ts";
import { open } from "./rig.ts";

await using postgres = await startPostgres(await freePort(), []);
const pool = open(await postgres.database());
await migrate(pool);
const partitions = createPartitions(pool, () => Math.floor(Date.now() / 86400000));
const body = `{"timestamp":"2026-03-01T12:00:00.000Z","site":"muc","session":123,"server":"muc:eda","daemon":"d","feature":"Schema_Editor","user":"user1","host":"ws1","display":null,"version":"v2.0","count":1,"handle":"12","startedAt":"2026-03-01T12:00:00.000Z","firstSeenAt":"2026-03-01T12:00:00.000Z","lastSeenAt":"2026-03-01T12:00:00.000Z","endedAt":null,"endReason":null,"durationSeconds":0}`;
for (const n of [1, 20, 500, 2000, 100_000]) {
  await pool`INSERT INTO new_events (received_at, at, site, type, server, body) SELECT 0, 0, 'muc', 'checkout', 'eda', ${body} FROM generate_series(1, ${n}::int)`;
  const begun = performance.now();
  const state = await streamState(pool);
  const t1 = performance.now();
  const done = await publish(pool, partitions, state);
  const t2 = performance.now();
  console.log(
    n,
    done,
    "state",
    (t1 - begun).toFixed(1),
    "publish",
    (t2 - t1).toFixed(1),
    "ms",
    Math.round((n / (t2 - t1)) * 1000),
    "/s",
  );
}
if (process.argv[2]) {
  await pool`INSERT INTO new_events (received_at, at, site, type, server, body) SELECT 0, 0, 'muc', 'checkout', 'eda', ${body} FROM generate_series(1, 2000)`;
  console.log(
    (
      await pool.unsafe(`EXPLAIN ANALYZE WITH taken AS (
    DELETE FROM new_events
    WHERE place <= (SELECT max(place) FROM (SELECT place FROM new_events ORDER BY place LIMIT 2000) AS first)
    RETURNING *
  ), given AS (
    SELECT greatest(last, 5) + row_number() OVER (ORDER BY place) AS id, taken.* FROM taken, stream
  ), kept AS (
    INSERT INTO events (id, received_at, at, site, type, level, source, server, body)
    SELECT id, received_at, at, site, type, level, source, server,
      '{"type":"' || type || '","id":"' || type || '-' || id || '",' || substr(body, 2) FROM given
    RETURNING id
  ) UPDATE stream SET last = highest FROM (SELECT max(id) AS highest, count(*)::int AS number FROM kept) AS done
    WHERE number > 0 RETURNING number`)
    )
      .map((r: any) => r["QUERY PLAN"])
      .join("\n"),
  );
}
await pool.close();
