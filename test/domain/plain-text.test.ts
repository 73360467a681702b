import { expect, test } from "bun:test";
import { escapeControls, maskSecrets } from "../../src/domain/plain-text.ts";

test.each<[string, string]>([
  ["plain Text 1", "plain Text 1"],
  ["Müller 北京", "Müller 北京"],
  ["a\nb\tc\r", "a\\nb\\tc\\r"],
  ["\u001b[31mred\u0007", "\\u001b[31mred\\u0007"],
  ["\u009b0m", "\\u009b0m"],
  ["a\u202eb\u2028c\u200b", "a\\u202eb\\u2028c\\u200b"],
  ["\ud800x", "\\ud800x"],
])("%j is shown as %j", (text, shown) => {
  expect(escapeControls(text)).toBe(shown);
});

test.each<[string, string]>([
  ["27000@lic1", "27000@lic1"],
  ["key lmk_abcdefghijkl_0123-_x.", "key lmk_***."],
  ["GET /stream/logs?api_key=secret&level=info", "GET /stream/logs?api_key=***&level=info"],
  ["/x?a=1&API_KEY=secret#top", "/x?a=1&API_KEY=***#top"],
  ["?api_key%3Dsecret", "?api_key%3D***"],
  ["Authorization: Bearer secret, next", "Authorization: Bearer ***, next"],
  ["Cookie: licmond_0123abcd=k3v9x2m7q1ab.secret; a=b", "Cookie: licmond_0123abcd=***; a=b"],
  ['{"Authorization":"Basic c2VjcmV0"}', '{"Authorization":"Basic ***"}'],
  ["Basic authentication is needed", "Basic authentication is needed"],
  ["https://me:secret@a.example/x", "https://***@a.example/x"],
])("masks %j as %j", (text, masked) => {
  expect(maskSecrets(text)).toBe(masked);
});
