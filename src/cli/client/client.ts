import { codeOf, messageOf } from "../../domain/error-code.ts";
import type { ErrorBody } from "../../domain/records.ts";
import { EXIT_UNREACHABLE, Failure } from "../io.ts";
import { notHere, type Target } from "./target.ts";

/** Maximum time without data on a connection. Streams send something every 15 s, and answers take less. */
const SILENT_MS = 45_000;

export class Refusal extends Failure {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export type Client = ReturnType<typeof createClient>;

/** Creates a client of one daemon. All errors are Failures with a message for people. */
export function createClient({ where, url, unix, key }: Target) {
  async function ask(path: string, signal: AbortSignal, body?: object): Promise<Response> {
    const headers = new Headers({ "user-agent": "licmond-cli" });
    if (key !== null) headers.set("x-api-key", key);
    // On the same host compression costs more than it saves.
    if (unix !== null) headers.set("accept-encoding", "identity");
    const options: BunFetchRequestInit = { headers, redirect: "manual", signal };
    if (body !== undefined) {
      headers.set("content-type", "application/json");
      Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    }
    const asked = fetch(url + path, unix === null ? options : { ...options, unix });
    const response = await asked.catch((error) => {
      throw unreachable(error);
    });
    if (response.ok) return response;
    throw refusal(response, await response.text());
  }

  function unreachable(error: unknown): Failure {
    if (error instanceof DOMException)
      return new Failure(`no answer from ${where} within ${SILENT_MS / 1000} s`, EXIT_UNREACHABLE);
    if (unix !== null) return notHere(`connection to ${unix} refused`);
    const why = WORDS[codeOf(error)] ?? messageOf(error);
    return new Failure(`cannot connect to ${where}: ${why}`, EXIT_UNREACHABLE);
  }

  function refusal({ status }: Response, body: string): Refusal {
    const { message, details } = jsonOf<Partial<ErrorBody>>(body) ?? {};
    const words = message ?? `${where} answered ${status} and does not look like licmond; check the address`;
    const hint = status === 401 ? " Set --key-file or $LICMOND_API_KEY." : "";
    return new Refusal(`${words}${details === undefined ? "" : ` (${details})`}${hint}`, status);
  }

  async function answerOf<T>(path: string, signals: readonly AbortSignal[], sent?: object): Promise<T> {
    const response = await ask(path, AbortSignal.any([AbortSignal.timeout(SILENT_MS), ...signals]), sent);
    const body = await response.text().catch((error) => {
      throw unreachable(error);
    });
    const value = jsonOf<T>(body);
    if (value === null) throw new Failure(`${where} did not answer with JSON; check the address`);
    return value;
  }

  return {
    where,
    get: <T>(path: string, ended?: AbortSignal): Promise<T> =>
      answerOf(path, ended === undefined ? [] : [ended]),
    post: <T>(path: string, body: object): Promise<T> => answerOf(path, [], body),
    /**
     * Yields the data of a stream's events, and null once the stream is open. Throws Failure when the
     * connection breaks.
     */
    async *events<T>(path: string, ended: AbortSignal): AsyncGenerator<T | null> {
      const silence = new AbortController();
      const arm = () => setTimeout(() => silence.abort(), SILENT_MS);
      let timer = arm();
      try {
        const { body } = await ask(path, AbortSignal.any([ended, silence.signal]));
        yield null;
        let begun = "";
        for await (const piece of piecesOf(body)) {
          clearTimeout(timer);
          timer = arm();
          const blocks = (begun + piece).split("\n\n");
          begun = blocks.pop() ?? "";
          // Each event has one line of data; comments have none.
          for (const block of blocks) {
            const [, data] = /^event: .*\n(?:.*\n)*?data: (.*)$/m.exec(block) ?? [];
            if (data !== undefined) yield JSON.parse(data) as T;
          }
        }
        throw new Failure(`${where} closed the stream`, EXIT_UNREACHABLE);
      } finally {
        clearTimeout(timer);
        silence.abort();
      }
    },
  };
}

const WORDS: Readonly<Record<string, string>> = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  FailedToOpenSocket: "unknown or unreachable host",
  ENOTFOUND: "unknown host",
};

function jsonOf<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T;
  } catch {
    return null;
  }
}

async function* piecesOf(body: Response["body"]): AsyncGenerator<string> {
  try {
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) yield piece;
  } catch (error) {
    throw new Failure(`connection lost: ${WORDS[codeOf(error)] ?? messageOf(error)}`, EXIT_UNREACHABLE);
  }
}
