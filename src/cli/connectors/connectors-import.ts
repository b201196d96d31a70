import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ConnectorFileError, faultLine } from '../../connectors/catalog.ts';
import type { ConnectorFile } from '../../connectors/format/format.ts';
import { overlayOf, overlayPath } from '../../connectors/overlay.ts';
import { parseConnector, parseWithOverlay } from '../../connectors/parse.ts';
import { changesBetween } from '../../openapi/changes.ts';
import { connectorText, readNote, type ImportNote } from '../../author/connector-text.ts';
import { fileReader, MAX_FILE_BYTES, readDocument } from '../../openapi/document-files.ts';
import { importOpenApi, type Imported } from '../../openapi/import.ts';
import { printNextSteps, requireOwnId, writeWhole } from './connector-folder.ts';
import { CommandError } from '../faults.ts';
import { printImport } from './import-report.ts';

/** The exit code of an import that would break callers. */
export const BREAKING = 3;

export type Include = ImportNote['include'];

export interface ImportCommand {
  document: string;
  into: string;
  id: string | undefined;
  /** Chooses operations; where it is empty, a second import takes the choice of the first. */
  include: Include;
  acceptBreaking?: boolean;
  overwrite?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

/** A connector file that exists already. */
interface Existing {
  note: ImportNote;
  isUnchanged: boolean;
  imported: ConnectorFile;
  /** The file with its overlay, as callers see it. */
  effective: ConnectorFile;
}

/**
 * Runs `gatehouse connectors import`: makes `<into>/<id>/connector.yaml` of an OpenAPI document, or updates it. Returns
 * 3 and writes nothing where the update would break callers.
 * @throws CommandError, GatehouseError with the places of the faults.
 */
export async function importConnector(command: ImportCommand): Promise<number> {
  const { document, into, acceptBreaking = false, dryRun = false, json = false } = command;
  const fileOf = (id: string) => join(into, id, 'connector.yaml');
  let existing: Existing | undefined;
  const imported = importOpenApi(readDocument(document), {
    id: command.id,
    include: Object.values(command.include).some((list) => list !== undefined) ? command.include : undefined,
    maxBytes: MAX_FILE_BYTES,
    readFile: fileReader(document),
    previous(id) {
      requireOwnId(id);
      existing = readExisting(fileOf(id), command);
      return existing && { actions: existing.imported.actions, include: existing.note.include };
    },
    today: new Date().toISOString().slice(0, 10),
  });
  const connectorId = imported.definition.id;
  const file = fileOf(connectorId);
  const effective = withOverlay(file, imported);
  const changes = existing && changesBetween(existing.effective, effective);
  const isBreaking = changes !== undefined && changes.breaking.length > 0 && !acceptBreaking;
  const isWritten = !dryRun && !isBreaking && !(existing && isSame(existing, imported));
  if (isWritten)
    await writeWhole(
      file,
      connectorText(imported.written, { document: basename(document), include: imported.include }),
    );
  const result = { connectorId, place: file, file, written: isWritten, report: imported.report, changes };
  printImport(result, { json, isBreaking, dryRun });
  if (isWritten && !existing && !json)
    printNextSteps(file, `Put your changes into ${overlayPath(file)}, which a second import keeps.`);
  return isBreaking ? BREAKING : 0;
}

/**
 * Reads the connector file of an earlier import.
 * @throws CommandError for a file that a person wrote or changed, so that nothing of it is lost.
 */
function readExisting(file: string, { overwrite }: ImportCommand): Existing | undefined {
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, 'utf8');
  const noted = readNote(text);
  if (!noted) throw new CommandError(`${file} was not written by an import. Choose another --id or --into.`);
  if (!noted.isUnchanged && !overwrite)
    throw new CommandError(
      `${file} was changed since its import. Move the changes to ${overlayPath(file)}, which imports keep, or give them up with --overwrite.`,
    );
  const parsed = parseConnector(text, file);
  if (!parsed.definition) throw new ConnectorFileError(parsed.faults);
  const { definition } = parsed;
  const overlay = overlayOf(file);
  const whole = overlay && parseWithOverlay({ text, file, id: undefined, overlay }).definition;
  return {
    note: noted.note,
    isUnchanged: noted.isUnchanged,
    imported: definition,
    effective: whole ?? definition,
  };
}

/**
 * Returns the new definition with the overlay of the old one.
 * @throws CommandError where the overlay does not fit any more; nothing is written then.
 */
function withOverlay(file: string, { written, definition }: Imported): ConnectorFile {
  const overlay = overlayOf(file);
  if (!overlay) return definition;
  const parsed = parseWithOverlay({ text: JSON.stringify(written), file, id: definition.id, overlay });
  if (parsed.definition) return parsed.definition;
  const last = 'The overlay does not fit the imported document; nothing was written.';
  throw new CommandError([...parsed.faults.map(faultLine), last].join('\n'));
}

/** Returns whether an import changes nothing but the day on which the document was read. */
function isSame({ imported, note, isUnchanged }: Existing, { definition, include }: Imported): boolean {
  const same = (one: ConnectorFile) => JSON.stringify({ ...one, sources: [] });
  return (
    isUnchanged &&
    JSON.stringify(note.include) === JSON.stringify(include) &&
    same(imported) === same(definition)
  );
}
