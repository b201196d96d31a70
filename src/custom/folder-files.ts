import type { Dirent } from 'node:fs';
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { FileFault } from '../connectors/file-fault.ts';
import { overlayPath } from '../connectors/overlay.ts';
import { thrownMessage } from '../lib/errors.ts';

/** Bytes of a file. */
const MAX_BYTES = 16 * 1024 * 1024;

const LEADS_OUT = 'is a link that leads out of the folder';

/** A folder of the folder of custom connectors. */
export interface FolderEntry {
  id: string;
  /** Path of its connector.yaml. */
  path: string;
  /** Equal while none of its files changes. */
  stamp: string;
  /** Paths of its existing files. */
  files: string[];
  faults: FileFault[];
}

/** The folders of custom connectors. `fault`: the folder itself cannot be read. */
export interface FolderListing {
  entries: FolderEntry[];
  fault: FileFault | undefined;
}

/** Lists the connectors of a folder with the state of their files. A missing folder has none. */
export async function listFolder(folder: string): Promise<FolderListing> {
  try {
    const root = await rootOf(folder);
    if (root === undefined) return { entries: [], fault: undefined };
    const all = await readdir(root, { withFileTypes: true });
    const found = all.filter(({ name }) => !name.startsWith('.')).sort((a, b) => (a.name < b.name ? -1 : 1));
    const entries = await Promise.all(found.map((one) => entryOf(root, one, folder)));
    return { entries: entries.filter((one) => one !== undefined), fault: undefined };
  } catch (error) {
    return {
      entries: [],
      fault: { file: folder, path: '', rule: `cannot be read: ${thrownMessage(error)}` },
    };
  }
}

/** Returns the folder without links; undefined when it does not exist. */
async function rootOf(folder: string): Promise<string | undefined> {
  try {
    return await realpath(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** Reads a file whose state listFolder() has checked. */
export function readText(path: string): Promise<string> {
  return readFile(path, 'utf8');
}

/** Returns the entry of a name; undefined for a plain file, such as a README. */
async function entryOf(root: string, found: Dirent, folder: string): Promise<FolderEntry | undefined> {
  const id = found.name;
  const path = join(folder, id, 'connector.yaml');
  const entry: FolderEntry = { id, path, stamp: '', files: [], faults: [] };
  const whole = (rule: string) => ({ ...entry, stamp: rule, faults: [{ file: path, path: '', rule }] });
  if (found.isSymbolicLink()) {
    try {
      const target = await targetOf(root, join(root, id));
      if (target === undefined) return whole(LEADS_OUT);
      if (!target.isDirectory()) return undefined;
    } catch (error) {
      return whole(unreadable(error));
    }
  } else if (!found.isDirectory()) return undefined;
  const files = [path, overlayPath(path), join(folder, id, 'examples.yaml')];
  const states = await Promise.all(files.map((file) => stateOf(root, file)));
  const faults = states.flatMap(({ file, rule }) => (rule === undefined ? [] : [{ file, path: '', rule }]));
  if (states[0]?.stamp === undefined && faults.length === 0)
    faults.push({ file: path, path: '', rule: 'is missing from its folder' });
  const existing = states.filter(({ stamp }) => stamp !== undefined);
  return {
    ...entry,
    stamp: JSON.stringify([existing, faults]),
    files: existing.map(({ file }) => file),
    faults,
  };
}

/** Returns the state of a file: no stamp when it does not exist, and the rule that it breaks. */
async function stateOf(root: string, file: string): Promise<{ file: string; stamp?: string; rule?: string }> {
  try {
    const own = await lstat(file);
    const found = own.isSymbolicLink() ? await targetOf(root, file) : own;
    if (!found) return { file, rule: LEADS_OUT };
    if (!found.isFile()) return { file, rule: 'is no file' };
    if (found.size > MAX_BYTES) return { file, rule: `is larger than ${MAX_BYTES} bytes` };
    const { size, mtimeMs, ctimeMs, ino } = found;
    return { file, stamp: `${size} ${mtimeMs} ${ctimeMs} ${ino}` };
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? { file } : { file, rule: unreadable(error) };
  }
}

/**
 * Returns the target of a link; undefined when it is outside of the folder. Such a link could lead to a secret of the
 * host, whose text would stand in a fault.
 */
async function targetOf(root: string, link: string) {
  const real = await realpath(link);
  return real.startsWith(root.endsWith(sep) ? root : root + sep) ? stat(real) : undefined;
}

function unreadable(error: unknown): string {
  return `cannot be read (${codeOf(error) ?? thrownMessage(error)})`;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
