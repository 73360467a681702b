import type { StatsRecord, WaitsRecord } from "../domain/history-records.ts";
import type { Me } from "../domain/keys.ts";
import type { Picture } from "../domain/live-picture.ts";
import type { ErrorBody } from "../domain/records.ts";

/** What the page reads, by path, with the type of its answer. */
interface Answers {
  readonly "/api/picture": Picture;
  /** Null: nobody is signed in. */
  readonly "/api/me": Me | null;
  readonly "/api/licenses/stats": { readonly features: readonly StatsRecord[] };
  readonly "/api/licenses/waits": { readonly waits: readonly WaitsRecord[] };
}

type Query = Readonly<Record<string, string | readonly string[]>>;

/** The daemon answered with an error; `code` is null where a proxy did. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: ErrorBody["code"] | null,
    message: string,
    readonly requestId: string | null,
  ) {
    super(message);
  }
}

/** The server's clock minus this browser's, in ms, by the last answer's `Date`, which has whole seconds. */
let offset = 0;
const LEAST_OFFSET_MS = 2_000;

/** Epoch milliseconds by the server's clock. */
export function serverNow(): number {
  return Date.now() + offset;
}

const PAGE = { "x-licmond": "page" };

/** Throws a Refusal, or a TypeError when nothing answered. */
export async function get<P extends keyof Answers>(
  path: P,
  query: Query = {},
  signal: AbortSignal | null = null,
): Promise<Answers[P]> {
  const response = await ask(`${path}${search(query)}`, { signal, headers: PAGE });
  return (response.status === 204 ? null : await response.json()) as Answers[P];
}

/** Changes something: says that it is the page, which a form of another origin cannot. Throws as `get` does. */
export async function post(path: "/api/signin" | "/api/signout", body: object | null): Promise<void> {
  const headers = { "content-type": "application/json", ...PAGE };
  await ask(path, { method: "POST", headers, body: body && JSON.stringify(body) });
}

/** A relative address, so that it holds below any prefix. */
async function ask(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(`.${path}`, { ...init, cache: "no-cache" });
  const date = Date.parse(response.headers.get("date") ?? "");
  const seen = date + 500 - Date.now();
  if (!Number.isNaN(seen)) offset = Math.abs(seen) > LEAST_OFFSET_MS ? seen : 0;
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as ErrorBody | null;
  const words = body?.message ?? `The server answers ${response.status}.`;
  throw new Refusal(response.status, body?.code ?? null, words, response.headers.get("x-request-id"));
}

/** `?a=1&b=2&b=3`, or nothing. */
export function search(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}
