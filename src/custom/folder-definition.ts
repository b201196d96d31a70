import { compileFaults } from '../connectors/compile-check.ts';
import { customFaults } from '../connectors/semantics/custom-semantics.ts';
import { toCached, type CachedDefinition } from '../connectors/definition-cache.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import type { Overlay } from '../connectors/overlay.ts';
import { parseWithOverlay, parseYaml } from '../connectors/parse.ts';
import { mapMemberFaults } from '../unified/map-members.ts';
import { DEPTH_RULE, WHOLE_API, sizeRule } from './size.ts';

/** The texts of a connector of the folder. */
export interface FolderTexts {
  /** Name of its folder, which is its id. */
  id: string;
  file: string;
  text: string;
  overlay: Overlay | undefined;
}

/** Faults of a file that are reported; a broken text may have thousands. */
const MAX_FAULTS = 20;

/** A checked connector, or its faults. */
export interface FolderDefinition {
  definition?: CachedDefinition;
  faults: FileFault[];
}

/** Checks a connector of the folder. Returns its first faults. */
export function readFolderDefinition(texts: FolderTexts): FolderDefinition {
  try {
    const { faults, ...checked } = read(texts);
    const more = { file: texts.file, path: '', rule: `has ${faults.length - MAX_FAULTS} more faults` };
    return {
      ...checked,
      faults: faults.length > MAX_FAULTS ? [...faults.slice(0, MAX_FAULTS), more] : faults,
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { faults: [{ file: texts.file, path: '', rule: DEPTH_RULE }] };
  }
}

function read(texts: FolderTexts): FolderDefinition {
  const { file, text, overlay } = texts;
  for (const one of [{ file, text }, ...(overlay ? [overlay] : [])]) {
    const value = parseYaml(one.text, one.file);
    if ('faults' in value) return { faults: value.faults };
    const rule = sizeRule(value.value, WHOLE_API);
    if (rule !== undefined) return { faults: [{ file: one.file, path: '', rule }] };
  }
  const parsed = parseWithOverlay(texts);
  if (!parsed.definition) return { faults: parsed.faults };
  const { definition, lineOf } = parsed;
  const faults = [...customFaults(definition), ...compileFaults(definition)];
  if (faults.length === 0) faults.push(...mapMemberFaults(definition));
  if (faults.length > 0)
    return { faults: faults.map((fault) => ({ file, line: lineOf(fault.path), ...fault })) };
  return { definition: toCached(definition), faults: [] };
}
