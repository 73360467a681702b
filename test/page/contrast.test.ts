import { expect, test } from "bun:test";
import { join } from "node:path";

/** WCAG 2 requires a contrast of 4.5 for text, and of 3 for marks (bars, shapes, edges of controls). */
const TEXT = ["text", "text-2", "text-3", "accent", "full", "warn", "crit", "stale", "partial", "unknown"];
const MARKS = [
  ...["ok", "full", "warn", "crit", "stale", "partial", "unknown"].map((state) => `${state}-mark`),
  ...["use", "edge"],
];

const css = await Bun.file(join(import.meta.dir, "../../src/page/tokens.css")).text();
const colours = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name, ...both]) => [name, both]),
);

/** Returns the relative luminance of an sRGB colour. */
function luminance(name: string, theme: number): number {
  const parts = (colours.get(name)?.[theme] ?? "").match(/\w\w/g) ?? [];
  const [r = 0, g = 0, b = 0] = parts.map((hex) => {
    const part = Number.parseInt(hex, 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string, theme: number): number {
  const [dark = 0, light = 0] = [luminance(one, theme), luminance(other, theme)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

test.each(["light", "dark"])("text and marks have enough contrast: %s", (word) => {
  const theme = word === "light" ? 0 : 1;
  const faint = (names: string[], grounds: string[], least: number) =>
    names.flatMap((name) =>
      grounds
        .filter((ground) => !(contrast(name, ground, theme) >= least))
        .map((ground) => `${name} on ${ground}`),
    );
  expect([
    ...faint(TEXT, ["bg", "bar", "hover", "accent-soft"], 4.5),
    ...faint(["on-accent"], ["accent"], 4.5),
    ...faint(MARKS, ["bg", "bar", "hover"], 3),
  ]).toEqual([]);
});
