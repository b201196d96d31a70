import { readFileSync } from 'node:fs';
import { packagePath } from '../../package.ts';
import { VIEW_TYPE } from '../protocol/abilities.ts';
import type { Inputs } from './input.ts';

/* The HTML document that shows results to the client's user, as MCP Apps describes it (src/views). */

/** One document shows every result, because a tool names it before its result is known. */
export const VIEW_URI = 'ui://gatehouse/result';

/** The document as `npm run build` writes it, also in a checkout. */
const FILE = packagePath('dist/views/result.html');

/** Hosts turn these into the policy of the frame: no address, and the clipboard for writing alone. */
const META = {
  ui: {
    csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
    permissions: { clipboardWrite: {} },
    prefersBorder: true,
  },
};

const RESOURCE = {
  uri: VIEW_URI,
  name: 'result',
  title: 'Result of a tool',
  description: 'Shows the user a link to connect an account, a call to agree to, or the records of a result.',
  mimeType: VIEW_TYPE,
  _meta: META,
};

/** The document in memory. */
export interface ViewDocument {
  /** Returns the HTML; undefined in a checkout that was not built. */
  html(): string | undefined;
}

export function createViewDocument(): ViewDocument {
  let read: { html: string | undefined } | undefined;
  return { html: () => (read ??= { html: readBuilt() }).html };
}

function readBuilt(): string | undefined {
  try {
    return readFileSync(FILE, 'utf8');
  } catch {
    return undefined;
  }
}

/** The client of a request, and the document. */
interface ViewScope {
  inputs?: Inputs | undefined;
  viewDocument: ViewDocument;
}

/** Returns whether the client shows the document: it declared the extension, and the document was built. */
export function showsViews({ inputs, viewDocument }: ViewScope): boolean {
  return inputs?.abilities.views === true && viewDocument.html() !== undefined;
}

/** Returns the document as resources/list shows it; nothing for a client that shows none. */
export function viewResources(scope: ViewScope) {
  return showsViews(scope) ? [RESOURCE] : [];
}

/** Returns the content of an address; undefined when it is not that of the document, or the client shows none. */
export function readView(scope: ViewScope, uri: string) {
  if (uri !== VIEW_URI || !showsViews(scope)) return undefined;
  return { uri, mimeType: VIEW_TYPE, text: scope.viewDocument.html() ?? '', _meta: META };
}
