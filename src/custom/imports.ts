import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Environment } from '../store/environments.ts';
import type { Built, Imported } from './build.ts';
import type { Context } from './context.ts';
import { changeConnector, createConnector } from './custom-records.ts';
import type { ConnectorKey, Version } from './custom-rows.ts';

/** A request with an OpenAPI document. */
export interface ImportBody {
  /** The body as it arrived; parsed in the process of the import. */
  body: Uint8Array | string;
  caller: string;
  /** Ends the import when the client disconnects. */
  signal: AbortSignal;
}

/** The connector after an import. */
export interface ImportResult extends Pick<Imported, 'report' | 'changes'> {
  connectorId: string;
  /** The newest version; unchanged after a dry run, 0 where there is none. */
  version: number;
}

/**
 * Adds a connector made of an OpenAPI document.
 * @throws GatehouseError as createConnector(), `unavailable` while too many imports wait
 */
export async function createImported(
  context: Context,
  environment: Environment,
  request: ImportBody,
): Promise<ImportResult> {
  const built = await importBody(context, environment, { request });
  const made = { ...built, include: built.imported.include };
  const stored = await createConnector(context, environment, {
    caller: request.caller,
    dryRun: built.imported.dryRun,
    make: () => Promise.resolve(made),
  });
  return { ...stored, ...resultOf(built) };
}

/**
 * Imports a document into a connector that exists. Its overlay stays, and ids of its actions too.
 * @throws GatehouseError as changeConnector(), `breaking_changes` with the list unless the request accepts them
 */
export async function changeImported(
  context: Context,
  key: ConnectorKey,
  request: ImportBody,
): Promise<ImportResult> {
  let built: WithImport | undefined;
  const { connectorId, version } = await changeConnector(context, key, {
    caller: request.caller,
    async make(before) {
      built = await importBody(context, key.environment, { request, before, id: key.connectorId });
      const { imported } = built;
      if (imported.dryRun) return undefined;
      assertAccepted(key, imported);
      return { ...built, include: imported.include };
    },
  });
  if (!built) throw new Error('An import has a result.');
  return { connectorId, version, ...resultOf(built) };
}

type WithImport = Built & { imported: Imported };

async function importBody(
  { builds, clock }: Pick<Context, 'builds' | 'clock'>,
  environment: Environment,
  {
    request: { body, signal },
    before,
    id,
  }: { request: ImportBody; before?: Version | undefined; id?: string },
): Promise<WithImport> {
  const { imported, ...built } = await builds.run(
    environment,
    { type: 'import', body, id, basis: before, today: isoTime(clock.now()).slice(0, 10) },
    signal,
  );
  if (!imported) throw new Error('An import has a report.');
  return { ...built, imported };
}

function resultOf({ imported: { report, changes } }: WithImport): Pick<Imported, 'report' | 'changes'> {
  return { report, changes };
}

function assertAccepted({ connectorId }: ConnectorKey, { changes, acceptBreaking, report }: Imported): void {
  if (!changes || changes.breaking.length === 0 || acceptBreaking) return;
  const [first] = changes.breaking;
  throw new GatehouseError(
    'breaking_changes',
    `The import would break callers of "${connectorId}": ${first}${changes.breaking.length > 1 ? `, and ${changes.breaking.length - 1} more` : ''}. Send acceptBreaking: true to store it.`,
    { details: { breaking: changes.breaking, changes, report } },
  );
}
