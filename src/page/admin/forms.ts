import type { Command } from "../../domain/service/commands.ts";

/** What the forms of an administrator come to; fields that are empty are not sent. */

export type Fields = Readonly<Record<string, string>>;

/** The fields of a form as texts, without blanks at their ends and without those that are empty. */
export function filled(fields: Iterable<readonly [string, unknown]>): Fields {
  const texts = [...fields].map(([name, value]) => [name, String(value).trim()] as const);
  return Object.fromEntries(texts.filter(([, text]) => text !== ""));
}

export const LIMITS = ["requestsPerMinute", "dailyQuota", "monthlyQuota"] as const;

/** The body that makes a key. `expires` is a day, whose end in the reader's zone counts; viewers alone see pseudonyms. */
export function keyOf({ name = "", role = "viewer", expires, pseudonyms, ...limits }: Fields) {
  return {
    name,
    role,
    ...(expires !== undefined && { expiresAt: new Date(`${expires}T23:59:59`).toISOString() }),
    ...(pseudonyms !== undefined && role === "viewer" && { anonymize: true }),
    ...Object.fromEntries(
      LIMITS.flatMap((limit) => (limits[limit] === undefined ? [] : [[limit, Number(limits[limit])]])),
    ),
  };
}

/** What is read of a command's JSON Schema. */
interface Schema {
  readonly properties?: Readonly<Record<string, { readonly maxLength?: number }>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly { readonly required: readonly string[] }[];
}

/** The arguments that a command takes, and the sets of them of which one must be filled in. */
export function argumentsOf({ args }: Pick<Command, "args">) {
  const { properties = {}, required = [], anyOf }: Schema = args;
  return {
    names: Object.keys(properties),
    maxLength: (name: string) => properties[name]?.maxLength ?? null,
    ways: anyOf === undefined ? [required] : anyOf.map((way) => way.required),
  };
}

/** The body that runs a command; null while something is missing. */
export function runOf(command: Pick<Command, "command" | "needsServer" | "args">, fields: Fields) {
  const { names, ways } = argumentsOf(command);
  const { server } = fields;
  if (command.needsServer && server === undefined) return null;
  if (!ways.some((way) => way.every((name) => fields[name] !== undefined))) return null;
  const args = Object.fromEntries(
    names.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
  );
  return {
    command: command.command,
    ...(command.needsServer && { server }),
    ...(Object.keys(args).length > 0 && { args }),
  };
}
