import { z } from 'zod';
import { bundleDocument } from '../../author/bundle.ts';
import { fileReader, MAX_FILE_BYTES, readDocument } from '../../openapi/document-files.ts';
import { importOpenApi } from '../../openapi/import.ts';
import { asJson, asObject } from '../../lib/json.ts';
import { BREAKING, type Include } from './connectors-import.ts';
import { requireOwnId } from './connector-folder.ts';
import { CommandError, RequestRefused } from '../faults.ts';
import { printImport } from './import-report.ts';
import type { Request, Service } from '../service.ts';

export interface StoreImport {
  document: string;
  id: string | undefined;
  include: Include;
  acceptBreaking: boolean;
  dryRun: boolean;
  json: boolean;
}

/**
 * Runs `gatehouse connectors import` without a folder: adds a connector made of an OpenAPI document to the store of a
 * Gatehouse, or updates it. Returns 3 and stores nothing where the update would break callers.
 * @throws CommandError, GatehouseError with the places of the faults.
 */
export async function importIntoStore(service: Service, command: StoreImport): Promise<number> {
  const { document, include, dryRun, acceptBreaking, json } = command;
  const text = readDocument(document);
  const readFile = fileReader(document);
  const isChosen = Object.values(include).some((list) => list !== undefined);
  // This import runs before the request. It finds faults in the files that the document refers to, and the id.
  const here = importOpenApi(text, {
    id: command.id,
    include: isChosen ? include : undefined,
    maxBytes: MAX_FILE_BYTES,
    readFile,
    previous(id) {
      requireOwnId(id);
      return undefined;
    },
    today: new Date().toISOString().slice(0, 10),
  });
  const connectorId = here.definition.id;
  const before = await storedVersion(service, connectorId);
  const place = `${connectorId} in the store of ${service.isLocal ? 'this machine' : 'the remote Gatehouse'}`;
  const show = (answer: Answer, stored: { written: boolean; isBreaking: boolean }) => {
    const { isBreaking, written } = stored;
    printImport({ connectorId, place, written, changes: undefined, ...answer }, { json, isBreaking, dryRun });
    return isBreaking ? BREAKING : 0;
  };
  const notWritten = { written: false, isBreaking: false };
  if (before === undefined && dryRun) return show({ report: here.report }, notWritten);
  const bundled = bundleDocument(text, MAX_FILE_BYTES, readFile);
  const openapi = asJson({ document: bundled, connectorId, ...(isChosen ? { include } : {}) });
  const request: Request =
    before === undefined
      ? { method: 'POST', path: '/api/connectors', body: { openapi } }
      : {
          method: 'PUT',
          path: `/api/connectors/${connectorId}`,
          body: { openapi, acceptBreaking, dryRun },
        };
  try {
    const stored = answer.parse(await service.request(request));
    const isBreaking = dryRun && !acceptBreaking && (stored.changes?.breaking ?? []).length > 0;
    return show(stored, { written: !dryRun && stored.version !== before, isBreaking });
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.code !== 'breaking_changes') throw error;
    return show({ ...answer.parse(error.details), version: before }, { written: false, isBreaking: true });
  }
}

const texts = z.array(z.string());
/** The members of an answer that are printed, and those of the refusal of a breaking change. */
const answer = z.object({
  version: z.int().optional(),
  report: z.object({
    operations: z.int(),
    imported: z.int(),
    notChosen: z.int(),
    leftOut: z.array(z.object({ operation: z.string(), reason: z.string() })),
    approximated: z.array(z.object({ place: z.string(), what: z.string() })),
    moreEntries: z.int(),
  }),
  changes: z
    .object({
      added: texts,
      removed: texts,
      changed: z.array(z.object({ actionId: z.string(), differences: texts })),
      breaking: texts,
    })
    .optional(),
});
type Answer = z.infer<typeof answer>;

/**
 * Returns the newest version of an imported connector; undefined where the store has none of that id.
 * @throws CommandError for a connector that was not made by an import, so that nothing of it is lost.
 */
async function storedVersion(service: Service, connectorId: string): Promise<number | undefined> {
  try {
    const stored = asObject(await service.request({ path: `/api/connectors/${connectorId}` }));
    if (stored['kind'] === 'openapi') return z.int().parse(stored['version']);
  } catch (error) {
    if (error instanceof RequestRefused && error.code === 'connector_not_found') return undefined;
    throw error;
  }
  throw new CommandError(
    `The connector "${connectorId}" of the store was not made by an import. Choose another --id.`,
  );
}
