import {
  catalogOf,
  ConnectorFileError,
  hostingOf,
  type Catalog,
  type Connector,
} from '../../src/connectors/catalog.ts';
import { compileConnector } from '../../src/connectors/compile.ts';
import type { FileFault } from '../../src/connectors/file-fault.ts';
import { parseConnector } from '../../src/connectors/parse.ts';

/**
 * Builds a catalogue from the texts of connector files. `id` is the name of the folder.
 * @throws ConnectorFileError with all faults of all files.
 */
export function buildCatalog(files: { path: string; id?: string; text: string }[]): Catalog {
  const faults: FileFault[] = [];
  const connectors: Connector[] = [];
  for (const { path, id, text } of files) {
    const parsed = parseConnector(text, path, id);
    if (!parsed.definition) faults.push(...parsed.faults);
    else connectors.push(compileConnector(parsed.definition, hostingOf(parsed.definition, false, path)));
  }
  if (faults.length > 0) throw new ConnectorFileError(faults);
  return catalogOf(connectors);
}
