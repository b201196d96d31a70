import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkFile, CONNECTOR_FILE, type Checked } from '../../author/check-file.ts';
import { compareFile, type Compared } from '../../author/compare-file.ts';
import { faultLine } from '../../connectors/catalog.ts';
import { fileOf } from './connector-folder.ts';
import { CommandError } from '../faults.ts';

/**
 * Runs `gatehouse connectors check`. Checks a connector file and the examples next to it. `path` may be the file, its
 * folder, or a folder of such folders. `openapi` is the vendor's document to compare the file with. Returns exit code 1
 * when there is a fault or a difference.
 */
export async function checkConnector(
  path: string,
  { json, openapi }: { json: boolean; openapi?: string | undefined },
): Promise<number> {
  const files = await filesAt(path);
  if (openapi !== undefined && files.length > 1)
    throw new CommandError('--openapi compares one connector; name its folder.');
  const all: (Checked & { ok: boolean; openapi?: Compared })[] = [];
  for (const file of files) {
    const checked = await checkFile(file);
    const isGood = checked.faults.length === 0;
    if (!json) print(file, checked);
    // A file that cannot be read cannot be compared. A file with faulty examples can.
    const isRead = checked.connectorId !== undefined;
    const compared = openapi !== undefined && isRead ? await compareFile(file, openapi) : undefined;
    if (compared && !json) printComparison(file, compared);
    const ok = isGood && (compared?.differences.length ?? 0) === 0;
    all.push({ ok, ...checked, ...(compared ? { openapi: compared } : {}) });
  }
  const ok = all.every((one) => one.ok);
  const [only, ...others] = all;
  if (json)
    process.stdout.write(`${JSON.stringify(only && others.length === 0 ? only : { ok, connectors: all })}\n`);
  else if (others.length > 0) {
    const good = all.filter((one) => one.ok).length;
    process.stdout.write(`${good} of ${all.length} connectors are good\n`);
  }
  return ok ? 0 : 1;
}

/**
 * Returns the files to check. `path` is a file, the folder of a file, a folder of such folders, or the id of a connector.
 * @throws CommandError where there is none.
 */
async function filesAt(path: string): Promise<string[]> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder)
    return [existsSync(path) || !/^[a-z0-9-]{1,32}$/.test(path) ? path : fileOf(path, undefined)];
  const own = join(path, CONNECTOR_FILE);
  if (existsSync(own)) return [own];
  const files = (await readdir(path, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(path, name, CONNECTOR_FILE))
    .filter((file) => existsSync(file));
  if (files.length === 0)
    throw new CommandError(`There is no ${CONNECTOR_FILE} in ${path}, nor in a folder of it.`);
  return files.sort();
}

function print(file: string, checked: Checked): void {
  const { connectorId, actions, examples, records, webhooks, faults, unverified, untried } = checked;
  for (const fault of faults) process.stderr.write(`${faultLine(fault)}\n`);
  if (faults.length > 0) return;
  process.stdout.write(
    `${file}: ${connectorId} is good (${checked.score} of 100): ${actions} actions, ${examples} examples replayed` +
      `${records > 0 ? `, ${records} records mapped` : ''}${webhooks > 0 ? `, ${webhooks} webhooks judged` : ''}\n`,
  );
  for (const path of unverified) process.stdout.write(`${file}: ${path}: is not verified by a source\n`);
  for (const path of untried) process.stdout.write(`${file}: ${path}: is tried by no example\n`);
  const { untriedActions: left } = checked;
  if (left.length > 0)
    process.stdout.write(`${file}: ${left.length} actions are tried by no example: ${left.join(', ')}\n`);
  for (const line of checked.missing) process.stdout.write(`${file}: ${line}\n`);
}

function printComparison(file: string, compared: Compared): void {
  const { document, differences, accepted, notCompared } = compared;
  for (const one of differences) process.stderr.write(`${faultLine(one)}\n`);
  for (const one of notCompared) process.stdout.write(`${faultLine(one)}; not compared\n`);
  const known = accepted.length > 0 ? `, accepted: ${accepted.length}` : '';
  process.stdout.write(
    `${file}: ${compared.compared} actions compared with ${document}; differences: ${differences.length}${known}\n`,
  );
}
