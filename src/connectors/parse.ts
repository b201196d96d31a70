import { isMap, LineCounter, parseDocument, visit, type Document, type YAMLError } from 'yaml';
import { checkSemantics } from './semantics/semantics.ts';
import { connectorFile, type ConnectorFile } from './format/format.ts';
import { lineFinder, type LineOf } from './lines.ts';
import { withFragments } from './fragments.ts';
import { merged, setsMember, type Overlay } from './overlay.ts';
import { hiddenIn } from '../lib/hidden-characters.ts';
import type { FileFault } from './file-fault.ts';
import { aliasRule, markRepeatedMembers } from './yaml-bounds.ts';
import { faultsOf, thrownMessage } from '../lib/errors.ts';
import { forFaults } from '../lib/for-faults.ts';

/** Enough for anchors that shorten a file; more are an alias bomb. */
const MAX_ALIASES = 100;
/** The parser compares each alias with all before it. */
const MAX_ALIASES_IN_ALL = 1000;

/** Characters from which on a JSON text is read as JSON. */
const LARGE_JSON = 100_000;

export type Parsed = { definition: ConnectorFile; faults: []; lineOf: LineOf } | Faulty;

interface Faulty {
  definition: undefined;
  faults: FileFault[];
}

/**
 * Reads a connector file from its text in steps: YAML, the format, the checks of the whole. All faults of a step are
 * returned together. `id` is the folder's name, which the file's own must equal.
 */
export function parseConnector(text: string, file: string, id?: string): Parsed {
  return parseWithOverlay({ text, file, id, overlay: undefined });
}

/** The same with the changes of an overlay. A fault names the file that sets the member, with its line. */
export function parseWithOverlay({
  text,
  file,
  id,
  overlay,
}: {
  text: string;
  file: string;
  id: string | undefined;
  overlay: Overlay | undefined;
}): Parsed {
  const written = parseYaml(text, file);
  if ('faults' in written) return written;
  const { value, faults } = withFragments(written.value, file);
  if (faults.length > 0) return faulty(faults.map((fault) => withLine({ file, ...fault }, written.lineOf)));
  const base = { ...written, value };
  const changes = overlay && parseYaml(overlay.text, overlay.file);
  if (changes && 'faults' in changes) return changes;
  if (!overlay || !changes) return parseValue(base, file, id);
  const { lineOf } = base;
  const parsed = checkDefinition(merged(base.value, changes.value), file, id);
  if (parsed.definition) return { definition: parsed.definition, faults: [], lineOf };
  return faulty(
    parsed.faults.map((fault) =>
      setsMember(changes.value, base.value, fault.path)
        ? withLine({ ...fault, file: overlay.file }, changes.lineOf)
        : withLine(fault, lineOf),
    ),
  );
}

/** Works like parseConnector(), for a file that was already read as YAML or JSON. */
export function parseValue(
  { value, lineOf }: { value: unknown; lineOf: LineOf },
  file: string,
  id?: string,
): Parsed {
  const parsed = checkDefinition(value, file, id);
  if (!parsed.definition) return faulty(parsed.faults.map((fault) => withLine(fault, lineOf)));
  return { definition: parsed.definition, faults: [], lineOf };
}

/** Returns the fault with its line in the text. */
export function withLine(fault: FileFault, lineOf: LineOf): FileFault {
  const { file, path, rule } = fault;
  return { file, line: lineOf(path), path, rule };
}

/** Checks a connector file that is an object already, in the steps of parseConnector(). */
export function checkDefinition(
  value: unknown,
  file: string,
  id?: string,
): { definition: ConnectorFile; faults: [] } | Faulty {
  const hidden = hiddenFaults(value, file, '');
  if (hidden.length > 0) return faulty(hidden);
  const parsed = connectorFile.safeParse(value, forFaults());
  if (!parsed.success)
    return faulty(faultsOf(parsed.error.issues).map(({ field, rule }) => ({ file, path: field, rule })));
  const faults = checkSemantics(parsed.data).map((fault) => ({ file, ...fault }));
  if (id !== undefined && parsed.data.id !== id) {
    faults.push({ file, path: 'id', rule: `must equal the name of its folder, "${id}"` });
  }
  return faults.length > 0 ? faulty(faults) : { definition: parsed.data, faults: [] };
}

/** The name by which a remote MCP server knows a tool. No model reads it, and the server would not know another one. */
const NAME_OF_TOOL = /^actions\.\w+\.mcp\.name$/;

/**
 * Returns the texts and member names of a file that a model reads and a person does not see: hidden characters, and
 * comments of HTML.
 */
function hiddenFaults(value: unknown, file: string, path: string): FileFault[] {
  if (typeof value === 'string') {
    if (NAME_OF_TOOL.test(path)) return [];
    const found = hiddenIn(value) ?? (value.includes('<!--') ? '<!--' : undefined);
    const rule = `must not hold hidden characters or HTML comments (${found})`;
    return found === undefined ? [] : [{ file, path, rule }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    ...hiddenFaults(key, file, path),
    ...hiddenFaults(member, file, path === '' ? key : `${path}.${key}`),
  ]);
}

/** Returns the value of a YAML text without duplicate keys or tags, or its faults with line and column. */
export function parseYaml(text: string, file: string): { value: unknown; lineOf: LineOf } | Faulty {
  const json = largeJson(text);
  // The lines are only needed where there is a fault.
  if (json) return { value: json, lineOf: (path) => lineIn(text, path) };
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: false,
    merge: true,
    version: '1.2',
    prettyErrors: false,
  });
  markRepeatedMembers(document);
  if (document.errors.length > 0) return faulty(yamlFaults(document.errors, lines, file));
  if (!isMap(document.contents)) return faulty([{ file, path: '', rule: 'must be a YAML mapping' }]);
  const rule = aliasRule(document, MAX_ALIASES_IN_ALL);
  if (rule !== undefined) return faulty([{ file, path: '', rule }]);
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { value, lineOf: lineFinder(document.contents, lines) };
  } catch (error) {
    const rule = `cannot be read: ${thrownMessage(error)}`;
    const offset = unknownAlias(document);
    const line = offset === undefined ? undefined : lines.linePos(offset).line;
    return faulty([{ file, line, path: '', rule }]);
  }
}

/** Returns where the first alias without an anchor before it begins. */
function unknownAlias(document: Document): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document)) return undefined;
      offset = alias.range?.[0];
      return visit.BREAK;
    },
  });
  return offset;
}

/**
 * Returns the object of a long JSON text after lines of comments, such as an imported file. As YAML, a megabyte takes
 * two seconds.
 */
function largeJson(text: string): object | undefined {
  if (text.length < LARGE_JSON) return undefined;
  const start = /^(?:#[^\n]*\n|\s*\n)*/.exec(text)?.[0].length ?? 0;
  if (text[start] !== '{') return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(start));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function lineIn(text: string, path: string): number | undefined {
  const lines = new LineCounter();
  return lineFinder(parseDocument(text, { lineCounter: lines }).contents, lines)(path);
}

function faulty(faults: FileFault[]): Faulty {
  return { definition: undefined, faults };
}

/**
 * Returns the faults of a text that is not valid YAML. After a first fault the parser reports its consequences too, so only
 * the first fault is returned, and each repeated member.
 */
function yamlFaults(errors: readonly YAMLError[], lines: LineCounter, file: string): FileFault[] {
  const repeated = errors.filter(({ code }) => code === 'DUPLICATE_KEY');
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  return [...(first ? [first] : []), ...repeated].map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    return { file, line, path: '', rule: `column ${col}: ${ruleOf(error)}` };
  });
}

function ruleOf({ code, message }: YAMLError): string {
  switch (code) {
    case 'TAB_AS_INDENT':
      return 'is indented with a tab. Indent with spaces';
    case 'DUPLICATE_KEY':
      return 'repeats a member of the same mapping. Remove one of the two';
    case 'BAD_INDENT':
      return 'is indented otherwise than the members of its mapping. Begin all of them at the same column';
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return 'has ": " where no member can begin. Quote the text that holds it, or indent the line as its neighbours';
    case 'BLOCK_IN_FLOW':
      return 'has ": " in a text inside of { … } or [ … ]. Quote the text';
    case 'MISSING_CHAR':
      return `is not closed: ${message}. Close each quote and bracket`;
    default:
      // The parser recurses, and reports the end of its stack as a fault of the text.
      if (message.includes('call stack')) return 'nests too many levels deep';
      return `is not valid YAML: ${message}`;
  }
}
