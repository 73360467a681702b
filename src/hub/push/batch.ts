import { promisify } from "node:util";
import { gunzip, zstdDecompress } from "node:zlib";
import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { codeOf } from "../../domain/error-code.ts";
import { ApiError } from "../../domain/errors.ts";
import {
  DAY_SCHEMAS,
  type Day,
  FACT_SCHEMAS,
  type Fact,
  MAX_PACKED_BYTES,
  MAX_UNPACKED_BYTES,
  Push,
  STATE_SCHEMAS,
  type State,
} from "../../fleet/protocol.ts";
import { invalidBody, tooLarge } from "../../http/body.ts";

/**
 * A fact or a day that cannot be stored, as JSON, or the name of a state that cannot be stored. `seq` is
 * null except for facts.
 */
export interface Refused {
  readonly seq: number | null;
  readonly reason: string;
  readonly fact: object;
}

/** A push whose envelope is valid. Each fact is either good or refused. */
export interface Batch extends Omit<Push, "facts" | "states" | "days"> {
  readonly facts: readonly Fact[];
  readonly refused: readonly Refused[];
  readonly states: readonly State[];
  readonly days: readonly Day[];
}

const MAX_SERVER = 200;

/** Reason for facts and days that wait for a newer hub. */
export const UNKNOWN_KIND = "unknown to this version of the hub";

/** Compiled at the first push of each kind. */
const compiled = new Map<TSchema, TypeCheck<TSchema>>();
const checkOf = (schema: TSchema) => compiled.getOrInsertComputed(schema, () => TypeCompiler.Compile(schema));

/**
 * Reads a push and sets bad facts, states and days aside. Throws MISSING_FIELD or INVALID_FIELD for a bad
 * envelope.
 */
export function readBatch(body: unknown): Batch {
  const around = checkOf(Push);
  if (!around.Check(body)) throw invalidBody(around.Errors(body), body);
  const { facts: sent, states, days, ...rest } = body as Push;
  const facts: Fact[] = [];
  const refused: Refused[] = [];
  let last = rest.from - 1;
  for (const fact of sent) {
    if (fact.seq <= last || fact.seq > rest.to)
      throw invalid('"seq" of facts must increase and lie between "from" and "to".');
    last = fact.seq;
    const reason = problemOf(FACT_SCHEMAS, fact.kind, fact);
    if (reason === null) facts.push(fact);
    else refused.push({ seq: fact.seq, reason, fact });
  }
  const goodDays = days.filter((day) => {
    const reason = problemOf(DAY_SCHEMAS, day.table, day);
    if (reason !== null) refused.push({ seq: null, reason, fact: day });
    return reason === null;
  });
  const goodStates = states.filter((state) => {
    const reason = problemOf(STATE_SCHEMAS, state.kind, state);
    // Ignore unknown kinds of states from a newer site, because later states replace them anyway.
    if (reason !== null && reason !== UNKNOWN_KIND) refused.push(refusedState(state, reason));
    return reason === null;
  });
  return { ...rest, facts, refused, states: goodStates, days: goodDays };
}

/** Records a refused state by name only: states recur and may be large. */
export function refusedState(
  state: Pick<State, "kind"> & { readonly server?: unknown },
  reason: string,
): Refused {
  const server = typeof state.server === "string" ? state.server.slice(0, MAX_SERVER) : undefined;
  return { seq: null, reason, fact: { state: state.kind, server } };
}

export function problemOf(
  schemas: Readonly<Record<string, TSchema>>,
  kind: string,
  value: unknown,
): string | null {
  const schema = Object.hasOwn(schemas, kind) ? schemas[kind] : undefined;
  if (schema === undefined) return UNKNOWN_KIND;
  const check = checkOf(schema);
  if (!check.Check(value)) {
    const first = check.Errors(value).First();
    return `${first?.path ?? ""}: ${first?.message ?? "does not fit"}`;
  }
  return null;
}

const invalid = (message: string) => new ApiError("INVALID_FIELD", message);

/** 200 MB of zeros compress to 6 KB of zstd, so limit the output while decompressing. */
const BOUNDED = { maxOutputLength: MAX_UNPACKED_BYTES };
const UNPACK = {
  zstd: (bytes: Uint8Array) => promisify(zstdDecompress)(bytes, BOUNDED),
  gzip: (bytes: Uint8Array) => promisify(gunzip)(bytes, BOUNDED),
};

/**
 * Reads the JSON of a push, with limits before and after decompression. Throws BODY_TOO_LARGE or
 * INVALID_JSON.
 */
export async function readPacked(request: Request): Promise<unknown> {
  const encoding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  const unpack = Object.hasOwn(UNPACK, encoding) ? UNPACK[encoding as keyof typeof UNPACK] : null;
  if (unpack === null) throw new ApiError("INVALID_JSON", "A push needs Content-Encoding: zstd or gzip.");
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > MAX_PACKED_BYTES) throw tooLarge(MAX_PACKED_BYTES);
    chunks.push(chunk);
  }
  let bytes: Uint8Array;
  try {
    bytes = await unpack(Buffer.concat(chunks));
  } catch (error) {
    if (codeOf(error) === "ERR_BUFFER_TOO_LARGE") throw tooLarge(MAX_UNPACKED_BYTES);
    throw new ApiError("INVALID_JSON", `The body is truncated or not valid ${encoding}.`);
  }
  try {
    return parseStorable(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError("INVALID_JSON", "The body is not valid JSON in UTF-8.");
  }
}

/** Matches NUL and surrogates, which valid JSON contains only as escapes. */
const SUSPECT = /\\u(?:0000|d[89a-f])/i;

/** Replaces NUL and lone surrogates, which PostgreSQL's texts cannot contain. */
function parseStorable(json: string): unknown {
  if (!SUSPECT.test(json)) return JSON.parse(json);
  const storable = (text: string) => text.replaceAll("\0", "\uFFFD").toWellFormed();
  return JSON.parse(json, (_, value: unknown) => {
    if (typeof value === "string") return storable(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storable(name), inner]));
  });
}
