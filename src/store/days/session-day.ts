import { emptyColumns, type SessionColumns } from "../../domain/stats/session-columns.ts";
import { type ByteReader, createByteReader, createByteWriter } from "../history/bytes.ts";
import { DAY_MS } from "../history/spans.ts";

/**
 * The sessions that ended on one UTC day as bytes: first how many of which kind, then those whose holding is certain as
 * two lists, by their ends and by their begins, the latest first, each as the time since the one before; then the others.
 * Names are small ids.
 */

/** When it held its seats is told by its own times: it ended by a checkin, after it was first seen. */
export interface CertainSession extends SessionIds {
  readonly firstSeenAt: number;
  readonly endedAt: number;
}

/** When it held its seats depends on how often its server is polled. */
export interface UncertainSession extends CertainSession {
  readonly lastSeenAt: number;
  readonly checkin: boolean;
}

export interface SessionIds {
  readonly feature: number;
  readonly user: number;
  /** 0 = no host was told. */
  readonly host: number;
  readonly count: number;
}

/** `certain` stands by its end, the latest first. All ended on the day. */
export function packSessionDay(
  dayAt: number,
  certain: readonly CertainSession[],
  uncertain: readonly UncertainSession[],
): Uint8Array {
  const writer = createByteWriter();
  const ids = ({ feature, user, host, count }: SessionIds) => {
    for (const id of [feature, user, host, count]) writer.number(id);
  };
  writer.number(certain.length);
  writer.number(uncertain.length);
  let at = dayAt + DAY_MS;
  for (const session of certain) {
    writer.number(at - session.endedAt);
    at = session.endedAt;
    ids(session);
  }
  const begins = new Float64Array(certain.length);
  certain.forEach(({ firstSeenAt }, place) => {
    begins[place] = firstSeenAt;
  });
  const order = Uint32Array.from(certain.keys()).sort((a, b) => (begins[b] ?? 0) - (begins[a] ?? 0) || a - b);
  at = dayAt + DAY_MS;
  for (const place of order) {
    const firstSeen = begins[place] ?? 0;
    writer.number(at - firstSeen);
    writer.number(place);
    at = firstSeen;
  }
  for (const { firstSeenAt, endedAt, lastSeenAt, checkin, ...session } of uncertain) {
    writer.number(dayAt + DAY_MS - endedAt);
    writer.signed(endedAt - firstSeenAt);
    writer.signed(endedAt - lastSeenAt);
    writer.byte(checkin ? 1 : 0);
    ids(session);
  }
  return writer.take();
}

export interface SessionDay {
  /** Valid until the next day is read by the same reader. */
  readonly certain: SessionColumns;
  readonly uncertain: readonly UncertainSession[];
}

/** Reads one day after the other into the same memory. Throws RangeError where the bytes end too early. */
export function createSessionDayReader(): (dayAt: number, data: Uint8Array) => SessionDay {
  let room = 0;
  let columns = emptyColumns(room);
  return (dayAt, data) => {
    const head = createByteReader(data);
    const length = head.number();
    const others = head.number();
    if (length > room) {
      room = length * 2;
      columns = emptyColumns(room);
    }
    const read = createByteReader(data, readColumns(columns, length, dayAt + DAY_MS, data, head.at));
    return {
      certain: { ...columns, length },
      uncertain: Array.from({ length: others }, () => uncertainOf(read, dayAt)),
    };
  };
}

/** Answers where the columns end. What answers over years spend their time on, so the numbers are read in place. */
function readColumns(
  columns: SessionColumns,
  length: number,
  until: number,
  data: Uint8Array,
  from: number,
): number {
  const { to, feature, user, host, count, from: begins, whose } = columns;
  let place = from;

  /** Behind the end it reads zeros: that is looked at once, at the end. */
  function number(): number {
    const first = data[place++] ?? 0;
    if (first < 128) return first;
    const second = data[place++] ?? 0;
    return second < 128 ? first - 128 + second * 128 : larger(first + (second - 129) * 128);
  }
  function larger(low: number): number {
    let value = low;
    for (let scale = 128 * 128; ; scale *= 128) {
      const next = data[place++] ?? 0;
      if (next < 128) return value + next * scale;
      value += (next - 128) * scale;
    }
  }

  let at = until;
  for (let index = 0; index < length; index++) {
    at -= number();
    to[index] = at;
    feature[index] = number();
    user[index] = number();
    host[index] = number();
    count[index] = number();
  }
  at = until;
  for (let index = 0; index < length; index++) {
    at -= number();
    begins[index] = at;
    whose[index] = number();
  }
  if (place > data.length) throw new RangeError("packed sessions end too early");
  return place;
}

function uncertainOf(read: ByteReader, dayAt: number): UncertainSession {
  const endedAt = dayAt + DAY_MS - read.number();
  const firstSeenAt = endedAt - read.signed();
  const lastSeenAt = endedAt - read.signed();
  const checkin = read.byte() === 1;
  const [feature, user, host, count] = [read.number(), read.number(), read.number(), read.number()];
  return { firstSeenAt, endedAt, lastSeenAt, checkin, feature, user, host, count };
}
