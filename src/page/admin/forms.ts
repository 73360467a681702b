import type { Command } from "../../domain/service/commands.ts";

const textOf = (form: FormData, field: string) => `${form.get(field) ?? ""}`.trim();

export const confirmOf = (form: FormData) =>
  form.has("confirm") ? { confirm: textOf(form, "confirm") } : {};

/**
 * Returns the body of a new key. A key is valid until the end of the day in `expires`. Only viewers can
 * have pseudonyms.
 */
export function keyOf(form: FormData) {
  const [name, role, expires] = ["name", "role", "expires"].map((field) => textOf(form, field));
  return {
    ...confirmOf(form),
    name,
    role,
    ...(expires && { expiresAt: new Date(`${expires}T23:59:59`).toISOString() }),
    ...(form.has("pseudonyms") && role === "viewer" && { anonymize: true }),
  };
}

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly maxLength?: number }>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly { readonly required: readonly string[] }[];
}

export function argumentsOf({ args }: Pick<Command, "args">) {
  const { properties = {}, required = [], anyOf }: Schema = args;
  return {
    properties,
    names: Object.keys(properties),
    ways: anyOf?.map((way) => way.required) ?? [required],
  };
}

/** Returns the body that runs a command; null while a field is missing. */
export function runOf(
  command: Pick<Command, "command" | "needsServer" | "args">,
  fields: Readonly<Record<string, string>>,
) {
  const { names, ways } = argumentsOf(command);
  const { server } = fields;
  if (command.needsServer && server === undefined) return null;
  if (!ways.some((way) => way.every((name) => name in fields))) return null;
  const args = Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
  return {
    command: command.command,
    ...(command.needsServer && { server }),
    ...(Object.keys(args).length > 0 && { args }),
  };
}
