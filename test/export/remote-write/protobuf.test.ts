import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encodeLabel, encodeRequest, STALE, sortedLabels } from "../../../src/export/remote-write/series.ts";
import { readRequest } from "./read-request.ts";

const encodeLabels = (list: readonly (readonly [string, string])[]) =>
  sortedLabels(list)
    .map(([label, value]) => encodeLabel(label, value))
    .join("");

const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,20}$/);
const labels = fc.uniqueArray(fc.tuple(name, fc.string({ unit: "binary", maxLength: 300 })), {
  selector: ([label]) => label,
  maxLength: 10,
});
const series = fc.record({ labels, value: fc.double() });

describe("a write request", () => {
  test("is what the library reads, whatever stands in it", () => {
    fc.assert(
      fc.property(
        fc.array(series, { maxLength: 20 }),
        fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
        (list, at) => {
          const encoded = encodeRequest(
            list.map(({ labels: own, value }) => ({ labels: encodeLabels(own), value })),
            at,
          );
          expect(readRequest(encoded)).toEqual(
            list.map(({ labels: own, value }) => ({
              labels: own.filter(([, text]) => text !== "").toSorted(([a], [b]) => (a < b ? -1 : 1)),
              value,
              timestamp: at,
            })),
          );
        },
      ),
    );
  });

  test("of nothing is empty", () => {
    expect(encodeRequest([], 1).byteLength).toBe(0);
  });

  test("marks an ended series by the bits that Prometheus looks for", () => {
    const encoded = encodeRequest([{ labels: encodeLabels([["__name__", "a"]]), value: STALE }], 1);
    const hex = Buffer.from(encoded).toString("hex");
    // value.StaleNaN = 0x7ff0000000000002, little-endian, behind the key of field 1.
    expect(hex).toContain("090200000000" + "00f07f");
    expect(readRequest(encoded)[0]?.value).toBeNaN();
  });
});
