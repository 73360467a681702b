import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const MOST_COLOURS = 256;

/**
 * Reduces a picture to 256 colours: frequent colours that differ from each other. All other colours become the nearest of
 * them. Reads PNGs of Chromium: 8 bits, RGB or RGBA, not interlaced. https://www.w3.org/TR/png-3/
 */
export function smallPng(png: Uint8Array): Uint8Array {
  const { width, height, pixels } = pixelsOf(png);
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const byCount = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  const palette = paletteOf(byCount);
  const indexes = new Map(byCount.map((colour) => [colour, nearest(palette, colour).at]));
  const lines = new Uint8Array(height * (width + 1));
  for (const [at, colour] of pixels.entries())
    lines[at + Math.floor(at / width) + 1] = indexes.get(colour) ?? 0;

  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  // 8 bits per pixel, with a palette.
  header.set([8, 3], 8);
  const colours = Uint8Array.from(palette.flatMap((colour) => channels(colour)));
  return Buffer.concat([
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(lines, { level: 9 })),
    chunk("IEND", new Uint8Array()),
  ]);
}

const channels = (colour: number) => [colour >> 16, (colour >> 8) & 255, colour & 255] as const;

/** Returns the first colours with enough distance to fit into a palette, so that rare colours are kept. */
function paletteOf(colours: readonly number[]): number[] {
  for (let least = 0; ; least += 8) {
    const palette: number[] = [];
    for (const colour of colours) {
      if (palette.length === 0 || nearest(palette, colour).distance > least) palette.push(colour);
      if (palette.length > MOST_COLOURS) break;
    }
    if (palette.length <= MOST_COLOURS) return palette;
  }
}

function nearest(palette: readonly number[], colour: number): { at: number; distance: number } {
  const [r, g, b] = channels(colour);
  const best = { at: 0, distance: Number.POSITIVE_INFINITY };
  for (const [at, each] of palette.entries()) {
    const [red, green, blue] = channels(each);
    const distance = (red - r) ** 2 + (green - g) ** 2 + (blue - b) ** 2;
    if (distance < best.distance) Object.assign(best, { at, distance });
  }
  return best;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** Returns colours as 0xRRGGBB, line by line. */
function pixelsOf(png: Uint8Array) {
  const bytes = Buffer.from(png);
  const data: Uint8Array[] = [];
  for (let at = SIGNATURE.length; at < bytes.length; at += bytes.readUInt32BE(at) + 12)
    if (bytes.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)));
  const [width, height, size] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[25] === 6 ? 4 : 3];
  const filtered = inflateSync(Buffer.concat(data));
  const length = width * size;
  const lines = new Uint8Array(height * length);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (length + 1)];
    for (let x = 0; x < length; x++) {
      const at = y * length + x;
      const left = x < size ? 0 : (lines[at - size] ?? 0);
      const above = y === 0 ? 0 : (lines[at - length] ?? 0);
      const corner = x < size || y === 0 ? 0 : (lines[at - length - size] ?? 0);
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter ?? 0] ?? 0;
      lines[at] = (filtered[at + y + 1] ?? 0) + guess;
    }
  }
  const pixels = Array.from({ length: width * height }, (_, at) => {
    const [r = 0, g = 0, b = 0] = lines.subarray(at * size, at * size + 3);
    return (r << 16) | (g << 8) | b;
  });
  return { width, height, pixels };
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [a, b, c] = [left, above, corner].map((each) => Math.abs(guess - each)) as [number, number, number];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}
