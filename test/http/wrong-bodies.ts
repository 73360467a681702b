import { expect } from "bun:test";
import { type ApiDocument, dereferenced } from "./document.ts";

const MANY = 1_000_000;

interface WrongBody {
  readonly path: string;
  /** Body with a million wrong elements or a hundred thousand unknown fields. */
  readonly json: string;
  /** Whether the route needs no key. Such a route accepts only a few kilobytes. */
  readonly isOpen: boolean;
}

/** Makes bodies with a million wrong elements for every operation that accepts JSON. */
export function wrongBodies(document: ApiDocument): WrongBody[] {
  const zeros = `[${"0,".repeat(MANY - 1)}0]`;
  const keys = `{${Array.from({ length: MANY / 10 }, (_, n) => `"k${n}":0`).join(",")}}`;
  return Object.entries(dereferenced(document).paths).flatMap(([path, { post }]) => {
    const schema = post?.requestBody?.content["application/json"]?.schema;
    if (post === undefined || schema === undefined) return [];
    const fields = Object.keys(schema.properties ?? {}).map((name) => `{"${name}":${zeros}}`);
    const isOpen = post["x-permission"] === "open";
    return [zeros, keys, ...fields].map((json) => ({
      path: path.replaceAll(/\{\w+\}/g, "1"),
      json,
      isOpen,
    }));
  });
}

/** Expects a refusal that names exactly one problem. */
export async function expectRefused(
  { path, json, isOpen }: WrongBody,
  post: (path: string, json: string) => Promise<Response>,
): Promise<void> {
  const what = `${path} ${json.slice(0, 20)}`;
  const { code, message } = (await (await post(path, json)).json()) as { code: string; message: string };
  const codes = isOpen ? /^BODY_TOO_LARGE$/ : /^(INVALID|MISSING)_FIELD$/;
  expect([what, code]).toEqual([what, expect.stringMatching(codes)]);
  expect(message.length).toBeLessThan(500);
}
