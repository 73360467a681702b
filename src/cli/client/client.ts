import { codeOf, messageOf } from "../../domain/error-code.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import type { ErrorBody } from "../../domain/records.ts";
import { Failure } from "../io.ts";
import { notHere, type Target } from "./target.ts";

/** A stream says something every 15 s, and an answer takes less. */
const SILENT_MS = 45_000;
/** Between two attempts to open a stream. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;

/** What takes a stream. It is called for one thing at a time. */
export interface StreamReader {
  /** The stream is open (again): what follows comes after this. */
  open(): Promise<void>;
  event(name: string, data: unknown): Promise<void>;
  /** It is not, and will be tried again. */
  lost(why: string): void;
}

/** An answer that is an error. */
export class Refusal extends Failure {
  constructor(
    message: string,
    readonly status: number,
    /** Of the error catalogue; null when it is no answer of licmond's. */
    readonly code: ErrorCode | null,
  ) {
    super(message);
  }
}

export type Client = ReturnType<typeof createClient>;

/** Asks one daemon. What fails is a Failure with a sentence for people. */
export function createClient({ where, url, unix, key }: Target) {
  async function ask(path: string, signal: AbortSignal): Promise<Response> {
    const headers = new Headers({ "user-agent": "licmond-cli" });
    if (key !== null) headers.set("x-api-key", key);
    // Within a host packing costs more than it saves.
    if (unix !== null) headers.set("accept-encoding", "identity");
    const options: BunFetchRequestInit = { headers, redirect: "manual", signal };
    const response = await fetch(url + path, unix === null ? options : { ...options, unix }).catch(
      (error) => {
        throw unreachable(error);
      },
    );
    if (response.ok) return response;
    throw refusal(response, await response.text());
  }

  async function whole(path: string): Promise<{ readonly body: string; readonly headers: Headers }> {
    const response = await ask(path, AbortSignal.timeout(SILENT_MS));
    const body = await response.text().catch((error) => {
      throw unreachable(error);
    });
    return { body, headers: response.headers };
  }

  function unreachable(error: unknown): Failure {
    if (error instanceof DOMException) return new Failure(`${where} says nothing for ${SILENT_MS / 1000} s`);
    if (unix !== null) return notHere(`nobody answers at ${unix}`);
    return new Failure(`licmond does not answer at ${where}: ${WORDS[codeOf(error)] ?? messageOf(error)}`);
  }

  function refusal({ status }: Response, body: string): Refusal {
    const { message, code, details } = jsonOf<Partial<ErrorBody>>(body) ?? {};
    const words = message ?? `${where} answers ${status}, and not as licmond does: is it the right address?`;
    const hint = status === 401 ? " --key-file or $LICMOND_API_KEY gives one." : "";
    const text = `${words}${details === undefined ? "" : ` (${details})`}${hint}`;
    return new Refusal(text, status, code ?? null);
  }

  /** One connection of a stream: resolves with why it has ended. Rejects with what ends a reader for good. */
  async function readOnce(path: string, reader: StreamReader, ended: AbortSignal): Promise<string> {
    const silence = new AbortController();
    const arm = () => setTimeout(() => silence.abort(), SILENT_MS);
    let timer = arm();
    try {
      const { body } = await ask(path, AbortSignal.any([ended, silence.signal]));
      await reader.open();
      let text = "";
      for await (const piece of body === null ? [] : piecesOf(body)) {
        clearTimeout(timer);
        timer = arm();
        const blocks = (text + piece).split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) await handEvent(block, reader);
      }
      return `${where} ended the stream`;
    } catch (error) {
      if (error instanceof Refusal && error.status < 500 && error.status !== 429) throw error;
      if (!(error instanceof Failure)) throw error;
      return messageOf(error);
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  return {
    where,
    /** The CSV of a list; `total`: how many rows matched. */
    async csv(path: string): Promise<{ readonly text: string; readonly total: number }> {
      const { body, headers } = await whole(path);
      return { text: body, total: Number(headers.get("x-total-count")) };
    },
    /** The JSON of a GET; `path` begins with `/`. */
    async get<T>(path: string): Promise<T> {
      const { body } = await whole(path);
      const value = jsonOf<T>(body);
      if (value === null) throw new Failure(`${where} answers no JSON: is it the right address?`);
      return value;
    },
    /**
     * Reads a stream until `ended`. A connection that ends is opened again: what came between is not sent again, so the
     * reader begins anew at each `open`. Rejects with a Refusal that no waiting helps against.
     */
    async follow(path: string, reader: StreamReader, ended: AbortSignal): Promise<void> {
      let wait = RETRY_MS;
      const open = () => {
        wait = RETRY_MS;
        return reader.open();
      };
      while (!ended.aborted) {
        const why = await readOnce(path, { ...reader, open }, ended);
        if (ended.aborted) return;
        reader.lost(why);
        await pause(wait, ended);
        wait = Math.min(2 * wait, LONGEST_RETRY_MS);
      }
    },
  };
}

const WORDS: Readonly<Record<string, string>> = {
  ConnectionRefused: "nobody listens there",
  ECONNREFUSED: "nobody listens there",
  FailedToOpenSocket: "the host is not known, or cannot be reached",
  ENOTFOUND: "there is no such host",
};

function jsonOf<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T;
  } catch {
    return null;
  }
}

/** The text as it comes. A connection that breaks is a Failure. */
async function* piecesOf(body: NonNullable<Response["body"]>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw new Failure(`the connection broke: ${messageOf(error)}`);
    });
    if (done) return;
    yield value;
  }
}

/** Hands over the event of a block of lines, if it is no comment. Each of licmond's has one line of data. */
async function handEvent(block: string, reader: StreamReader): Promise<void> {
  const [, name] = /^event: (.*)$/m.exec(block) ?? [];
  const [, data] = /^data: (.*)$/m.exec(block) ?? [];
  if (name !== undefined && data !== undefined) await reader.event(name, JSON.parse(data));
}

function pause(ms: number, ended: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  ended.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
