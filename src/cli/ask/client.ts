// provisional
import { text } from "../command.ts";
import { type CommandIo, Failure } from "../io.ts";

export const CONNECTION = {
  url: text("<url>", "the daemon's address"),
  "key-file": text("<file>", "file with the API key"),
};

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export class RefusedError extends Failure {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export interface Client {
  json<T>(path: string, query?: Query): Promise<T>;
  text(path: string, query?: Query): Promise<string>;
}

export async function connect(
  options: { readonly url: string | undefined; readonly "key-file": string | undefined },
  io: CommandIo,
): Promise<Client> {
  const base = options.url ?? io.env.LICMOND_URL ?? "http://127.0.0.1:8080";
  const key = io.env.LICMOND_API_KEY ?? "";
  const get = async (path: string, query: Query = {}) => {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      for (const one of [value].flat()) if (one !== undefined) params.append(name, String(one));
    const answer = await fetch(`${base}${path}?${params}`, { headers: { "X-API-Key": key } });
    if (!answer.ok)
      throw new RefusedError(((await answer.json()) as { message: string }).message, answer.status);
    return answer;
  };
  return {
    json: async <T>(path: string, query?: Query) => (await (await get(path, query)).json()) as T,
    text: async (path, query) => (await get(path, query)).text(),
  };
}
