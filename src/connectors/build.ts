import {
  catalogOf,
  ConnectorFileError,
  hostingOf,
  type Catalog,
  type Connector,
  type ConnectorText,
} from './catalog.ts';
import { compileConnector } from './compile.ts';
import { parseConnector } from './parse.ts';
import type { FileFault } from './file-fault.ts';

/**
 * Builds a catalogue of connector files.
 * @throws ConnectorFileError with all faults of all files.
 */
export function buildCatalog(files: ConnectorText[]): Catalog {
  const { connectors, faults } = compileFiles(files);
  if (faults.length > 0) throw new ConnectorFileError(faults);
  return catalogOf(connectors);
}

/** Compiles the valid files, and returns the faults of all others. */
function compileFiles(files: ConnectorText[]): { connectors: Connector[]; faults: FileFault[] } {
  const faults: FileFault[] = [];
  const connectors: Connector[] = [];
  for (const { path, id, text, test = false } of files) {
    const parsed = parseConnector(text, path, id);
    if (!parsed.definition) faults.push(...parsed.faults);
    else connectors.push(compileConnector(parsed.definition, hostingOf(parsed.definition, test, path)));
  }
  return { connectors, faults };
}
