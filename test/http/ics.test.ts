import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { escapeText, fold, printCalendar } from "../../src/http/routes/calendar.ts";

/** Unescapes TEXT as RFC 5545 3.3.11 says. */
function unescaped(text: string): string {
  return text.replace(/\\([\\;,nN])/g, (_, sign: string) => (sign.toLowerCase() === "n" ? "\n" : sign));
}

describe("lines", () => {
  test("are folded at 75 octets, between characters, and unfold to the original", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "ä", "€", "🔑", " ", "\t"), maxLength: 400 });
    fc.assert(
      fc.property(text, (line) => {
        const folded = fold(line);
        for (const part of folded.split("\r\n")) {
          expect(new TextEncoder().encode(part).length).toBeLessThanOrEqual(75);
          expect(part.isWellFormed()).toBe(true);
        }
        expect(folded.replaceAll("\r\n ", "")).toBe(line);
      }),
    );
  });

  test("texts survive, and cannot start a new line", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const escaped = escapeText(text);
        expect(escaped).not.toMatch(/[\r\n]|(?<!\\)(?:\\\\)*[;,]/);
        // Characters that are not allowed in TEXT are removed, and all line ends become one kind.
        const plain = [...text.replace(/\r\n|\r/g, "\n")].filter(
          (sign) => !/[\x00-\x08\x0b-\x1f\x7f]/.test(sign),
        );
        expect(unescaped(escaped)).toBe(plain.join("").toWellFormed());
      }),
    );
  });
});

test("a calendar", () => {
  const text = printCalendar({
    name: "Expirations",
    productId: "-//licmond//expirations//EN",
    stamp: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    events: [
      {
        uid: "a1@licmond",
        day: "2026-12-31",
        summary: "solver, 5 seats",
        description: "eda; acmed\nBEGIN:VALARM",
        categories: ["a,b", "c"],
        url: "https://lic.example/feature?name=solver",
      },
    ],
  });
  expect(text.split("\r\n")).toEqual([
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//licmond//expirations//EN",
    "CALSCALE:GREGORIAN",
    "METHOD:PUBLISH",
    "X-WR-CALNAME:Expirations",
    "BEGIN:VEVENT",
    "UID:a1@licmond",
    "DTSTAMP:20260102T030405Z",
    "DTSTART;VALUE=DATE:20261231",
    "DTEND;VALUE=DATE:20270101",
    "SUMMARY:solver\\, 5 seats",
    "DESCRIPTION:eda\\; acmed\\nBEGIN:VALARM",
    "CATEGORIES:a\\,b,c",
    "URL:https://lic.example/feature?name=solver",
    "TRANSP:TRANSPARENT",
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ]);
});
