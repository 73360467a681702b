import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeLabel, encodeRequest, STALE, sortedLabels } from "../../../src/export/remote-write/request.ts";
import { readRequest } from "./read-request.ts";

const encodeLabels = (list: readonly (readonly [string, string])[]) =>
  sortedLabels(list)
    .map(([label, value]) => encodeLabel(label, value))
    .join("");

test("a protobuf library decodes any request", () => {
  const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,20}$/);
  const label = fc.tuple(name, fc.string({ unit: "binary", maxLength: 300 }));
  const labels = fc.uniqueArray(label, { selector: ([name]) => name, maxLength: 10 });
  const series = fc.array(fc.record({ labels, value: fc.double() }), { maxLength: 20 });
  fc.assert(
    fc.property(series, fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (list, timestamp) => {
      const encoded = list.map(({ labels, value }) => ({ labels: encodeLabels(labels), value }));
      const decoded = list.map(({ labels, value }) => ({ labels: sortedLabels(labels), value, timestamp }));
      expect<unknown>(readRequest(encodeRequest(encoded, timestamp))).toEqual(decoded);
    }),
  );
});

test("an ended series has the bits that Prometheus expects", () => {
  const encoded = encodeRequest([{ labels: encodeLabels([["__name__", "a"]]), value: STALE }], 1);
  // value.StaleNaN = 0x7ff0000000000002, little-endian, after the key of field 1.
  expect(Buffer.from(encoded).toString("hex")).toContain("090200000000" + "00f07f");
  expect(readRequest(encoded)[0]?.value).toBeNaN();
});
