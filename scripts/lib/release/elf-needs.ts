/** Requirements of a dynamic executable. */
interface ElfNeeds {
  /** Number of the architecture (`e_machine`): 62 is x86-64, 183 is ARM 64. */
  readonly machine: number;
  /** Needed libraries (DT_NEEDED) in the order of the file: `libc.so.6`, … */
  readonly libraries: readonly string[];
  /** Symbol versions required of each library: `libc.so.6` → `GLIBC_2.17`, … */
  readonly versions: ReadonlyMap<string, readonly string[]>;
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT_NEEDED = 1;
const DT_STRTAB = 5;
const DT_VERNEED = 0x6ffffffe;
const DT_VERNEEDNUM = 0x6fffffff;

/**
 * Reads the dynamic section of a 64-bit little-endian ELF file (System V ABI, "Dynamic Linking") and its version tables
 * (Linux Standard Base, "Symbol Versioning"). Throws on anything else.
 */
export function elfNeeds(file: Uint8Array): ElfNeeds {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length < 64 || view.getUint32(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1)
    throw new Error("not a 64-bit little-endian ELF file");
  const number = (at: number) => Number(view.getBigUint64(at, true));

  const segments = Array.from({ length: view.getUint16(56, true) }, (_, index) => {
    const at = number(32) + index * view.getUint16(54, true);
    return {
      type: view.getUint32(at, true),
      offset: number(at + 8),
      address: number(at + 16),
      size: number(at + 32),
    };
  });
  /** Maps an address to its offset in the file. */
  const placeOf = (address: number): number => {
    const inside = segments.find(
      (part) => part.type === PT_LOAD && address >= part.address && address < part.address + part.size,
    );
    if (inside === undefined) throw new Error(`address ${address} is in no segment of the ELF file`);
    return inside.offset + address - inside.address;
  };

  const machine = view.getUint16(18, true);
  const dynamic = segments.find((part) => part.type === PT_DYNAMIC);
  if (dynamic === undefined) return { machine, libraries: [], versions: new Map() };
  const entries: { tag: number; value: number }[] = [];
  for (let at = dynamic.offset; at + 16 <= dynamic.offset + dynamic.size; at += 16)
    entries.push({ tag: number(at), value: number(at + 8) });
  const entryOf = (tag: number) => entries.find((entry) => entry.tag === tag)?.value;

  const strings = placeOf(entryOf(DT_STRTAB) ?? 0);
  const text = (offset: number): string => {
    const start = strings + offset;
    return new TextDecoder().decode(file.subarray(start, file.indexOf(0, start)));
  };

  const versions = new Map<string, string[]>();
  const table = entryOf(DT_VERNEED);
  let at = table === undefined ? 0 : placeOf(table);
  for (let left = entryOf(DT_VERNEEDNUM) ?? 0; left > 0; left -= 1) {
    const names: string[] = [];
    let entry = at + view.getUint32(at + 8, true);
    for (let count = view.getUint16(at + 2, true); count > 0; count -= 1) {
      names.push(text(view.getUint32(entry + 8, true)));
      entry += view.getUint32(entry + 12, true);
    }
    versions.set(text(view.getUint32(at + 4, true)), names);
    at += view.getUint32(at + 12, true);
  }
  return {
    machine,
    libraries: entries.filter((entry) => entry.tag === DT_NEEDED).map((entry) => text(entry.value)),
    versions,
  };
}

/** Libraries of glibc, which Debian has in the package `libc6`. */
const LIBC_LIBRARIES = /^(?:ld-linux[\w-]*|lib(?:c|m|dl|pthread|rt))\.so\.\d+$/;

/**
 * Returns the `Depends:` of a Debian package: `libc6 (>= 2.28)`. Throws if the executable needs a library that is not part
 * of glibc, because its package is not known here.
 */
export function libcDependency(needs: ElfNeeds): string {
  const foreign = needs.libraries.filter((name) => !LIBC_LIBRARIES.test(name));
  if (foreign.length > 0)
    throw new Error(`the binary needs ${foreign.join(", ")}, and no Debian package is known for it`);
  const newest = newestGlibc(needs);
  return newest === null ? "libc6" : `libc6 (>= ${newest})`;
}

/** Returns the oldest glibc that can run the executable: `2.28`; null if it requires no version. */
export function newestGlibc(needs: ElfNeeds): string | null {
  const wanted = [...needs.versions.values()].flat().flatMap((name) => {
    const [, version] = /^GLIBC_(\d+(?:\.\d+)+)$/.exec(name) ?? [];
    return version === undefined ? [] : [version];
  });
  const [newest] = wanted.sort((a, b) => Bun.semver.order(padded(b), padded(a)));
  return newest ?? null;
}

/** `2.17` → `2.17.0`, because semver needs three parts. */
function padded(version: string): string {
  return [...version.split("."), "0", "0"].slice(0, 3).join(".");
}
