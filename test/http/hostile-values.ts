import type { Schema } from "./document.ts";

/** Source of randomness: equal seeds give equal requests. */
export interface Chance {
  /** Returns an integer, 0 ≤ n < below. */
  below(below: number): number;
  pick<T>(list: readonly T[]): T;
}

/** mulberry32 (public domain, T. Ettinger). */
export function chance(seed: number): Chance {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (n: number) => Math.floor(next() * n);
  return {
    below,
    pick(list) {
      const found = list[below(list.length)];
      if (found === undefined) throw new Error("nothing to pick from");
      return found;
    },
  };
}

const split = (texts: string) => texts.split("|");

/** Texts that have broken other programs. */
export const TEXTS: readonly string[] = [
  ...["", " ", "\t", "\0", "a\0b", "\r\n", "a\r\nX-Injected: 1\r\n\r\n"],
  ...["\u2028", "\u202ereversed", "\ufeff"],
  ...["\ud800", "\udfff x", "é", "e\u0301", "İ", "ß", "𝕏", "👩‍👩‍👧", "\u0000\u001b[31m", "\x7f"],
  ...split(
    '\' OR 1=1 --|"; DROP TABLE keys; --|\') UNION SELECT 1 --|%\' ESCAPE \'|x* OR y|"a" NEAR "b"|col:val|-x -y|(',
  ),
  ...split("../../etc/passwd|..\\..\\x|/etc/passwd|file:///etc/passwd|C:\\x|//x//|.|..|...|~root"),
  ...split("$(reboot)|`id`|; id|| id|&& id|$[7*7]|{{7*7}}|%s%n%x|--help|-v|@file|#{x}"),
  ...split("<script>alert(1)</script>|javascript:x|<!--|]]>|&lt;|=1+1|+1|@SUM(1)"),
  ...split(
    "__proto__|constructor|prototype|toString|hasOwnProperty|valueOf|__defineGetter__|null|undefined|NaN",
  ),
  ...split("true|false|TRUE|1|0|yes|on|[]|{}|[object Object]|eda|solver|ada|ok|json|csv|all|log"),
  ...split(
    "-1|-0|+1|00|0x10|1e3|1e309|1.5|.5|5.|1_000|１２|9007199254740993|99999999999999999999|Infinity|2147483648",
  ),
  ...split(
    "2026-02-30|2026-13-01|0000-00-00|9999-12-31T23:59:59.999999999Z|+275760-09-13|2026-01-01T24:00:00Z|2026-01-01 00:00:00 05:00|000000000000|99999999999999|2026-W01",
  ),
  ...split(
    "lmk_aaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|lmk_|Bearer|Bearer x|log-1|log-|1769847330123",
  ),
  ...[",", ",,,,", "a,b,c", ",".repeat(2_000), "a".repeat(300), "a".repeat(9_000), "é".repeat(1_500)],
  ...["(".repeat(500), "((a+)+)+$", "*".repeat(200), "\\".repeat(200), "%".repeat(200), '"'.repeat(200)],
];

/** Percent encodings that no correct client writes, inserted into URLs unchanged. */
export const ENCODED: readonly string[] = split(
  "%|%zz|%0|%00|%0d%0a|%2e%2e%2f|%2e%2e/|..%2f|%252e%252e%252f|%c0%af|%e0%80%af|%ff%fe|%f8%88%80%80%80|%u0041|%ED%A0%80|a%20b+c|%2B|%26x=1|%3F|%23|%25|%F0%9F%92%A9",
);

/** Returns a text inside or just outside of the schema's range. */
export function around(schema: Schema, chance: Chance): string {
  const { type, minimum, maximum, items } = schema;
  const words = schema.enum ?? items?.enum;
  if (words !== undefined && words.length > 0 && chance.below(3) > 0) {
    const word = String(chance.pick(words));
    return chance.pick([word, word.toUpperCase(), `${word},${word}`, `${word},`, ` ${word}`, `-${word}`]);
  }
  if (type === "integer" || type === "number") {
    const least = minimum ?? 0;
    const most = maximum ?? 1_000_000;
    return String(chance.pick([least, least - 1, least + 1, most, most + 1, most - 1, 0, -1, 0.5]));
  }
  return chance.pick(TEXTS);
}

/** Returns JSON text, sometimes in forms that `JSON.stringify` never produces. */
export function hostileJson(chance: Chance): string {
  return chance.pick([
    ...["null", "true", "false", "0", "-0", "-1", "1.5", "1e400", "9007199254740993"],
    ...['""', "[]", "{}", "[null]"],
    ...['{"__proto__":{"role":"admin"}}', '{"constructor":{"prototype":{"x":1}}}', '{"a":{"b":{"c":{}}}}'],
    `${"[".repeat(800)}${"]".repeat(800)}`,
    `${'{"a":'.repeat(800)}1${"}".repeat(800)}`,
    ...["[".repeat(5_000), '"\\u0000"', '"\\ud800"', '"\\uFFFF"', `[${"1,".repeat(5_000)}1]`],
    JSON.stringify("x".repeat(20_000)),
    JSON.stringify(chance.pick(TEXTS)),
    JSON.stringify([chance.pick(TEXTS), chance.pick(TEXTS)]),
    JSON.stringify({ [chance.pick(TEXTS)]: chance.pick(TEXTS) }),
  ]);
}
