import { GatehouseError } from '../lib/errors.ts';
import { openDocuments, splitRef, type Documents, type ReadFile } from '../openapi/documents.ts';
import { BUNDLED_FILES, escaped, isRecord, type Node } from '../openapi/node.ts';

/**
 * Returns a document with the files that it refers to inside, as a service takes it. References to files that cannot be
 * read stay as they are: most of them are in examples, which an import does not follow.
 * @throws GatehouseError as openDocuments()
 */
export function bundleDocument(text: string, maxBytes: number, readFile: ReadFile): Record<string, unknown> {
  const documents = openDocuments(text, maxBytes, readFile);
  const files = new Map<string, unknown>();
  const waiting = new Set<Node>();
  const root = rewritten(documents, waiting, documents.root);
  for (const file of waiting) files.set(file.file, rewritten(documents, waiting, file));
  return {
    ...(isRecord(root) ? root : {}),
    ...(files.size > 0 ? { [BUNDLED_FILES]: Object.fromEntries(files) } : {}),
  };
}

/** Returns the value of a file whose references lead into the bundled document. Adds the files of these references. */
function rewritten(documents: Documents, waiting: Set<Node>, file: Node): unknown {
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        name === '$ref' && typeof member === 'string' ? rewrittenRef(member) : rewrite(member),
      ]),
    );
  };
  const rewrittenRef = (ref: string): string => {
    const [path, pointer] = splitRef(ref);
    if (path === '' && file.file === '') return ref;
    const target = fileAt(documents, file, path);
    if (!target) return ref;
    if (target.file !== '') waiting.add(target);
    const start = target.file === '' ? '' : `/${BUNDLED_FILES}/${encodeURIComponent(escaped(target.file))}`;
    return `#${start}${pointer}`;
  };
  return rewrite(file.value);
}

function fileAt(documents: Documents, from: Node, path: string): Node | undefined {
  try {
    return documents.fileOf(from, path);
  } catch (error) {
    if (error instanceof GatehouseError) return undefined;
    throw error;
  }
}
