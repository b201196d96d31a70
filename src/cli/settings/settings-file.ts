import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { faultLine } from '../../connectors/catalog.ts';
import type { FileFault } from '../../connectors/file-fault.ts';
import type { LineOf } from '../../connectors/lines.ts';
import { parseYaml } from '../../connectors/parse.ts';
import { readDefinition as readConnector } from '../../custom/custom-definition.ts';
import { faultsOf, GatehouseError, thrownMessage, type Fault } from '../../lib/errors.ts';
import { forFaults } from '../../lib/for-faults.ts';
import { asJson, type JsonObject } from '../../lib/json.ts';
import { assertCoherent } from '../../servers/restrictions.ts';
import { readDefinition as readWorkflow } from '../../workflows/workflow-definition.ts';
import { CommandError } from '../faults.ts';
import { subscriptionKey } from './settings-keys.ts';
import { settingsFormat, type Settings } from './settings-format.ts';

/** A checked settings file. */
export interface SettingsFile {
  settings: Settings;
  /** Returns the error that names these faults with their lines. */
  faulty(faults: readonly Fault[]): CommandError;
}

/**
 * Reads a settings file and checks it as a whole. `-` is standard input.
 * @throws CommandError with a line for each fault: file, line, path, rule.
 */
export function readSettingsFile(path: string): SettingsFile {
  const name = path === '-' ? 'standard input' : path;
  const read = parseYaml(textOfFile(path), name);
  if ('faults' in read) throw new CommandError(read.faults.map(faultLine).join('\n'));
  const { value, lineOf } = read;
  const faulty = (faults: readonly Fault[]) => errorOf(faults, { name, lineOf });
  const parsed = settingsFormat.safeParse(value, forFaults());
  if (!parsed.success) throw faulty(faultsOf(parsed.error.issues));
  const faults = meaningFaults(parsed.data);
  if (faults.length > 0) throw faulty(faults);
  return { settings: parsed.data, faulty };
}

function textOfFile(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new CommandError(`Cannot read ${path}: ${thrownMessage(error)}`);
  }
}

function errorOf(faults: readonly Fault[], { name, lineOf }: { name: string; lineOf: LineOf }): CommandError {
  const lines = faults.map(({ field, rule }): FileFault => ({
    file: name,
    line: lineOf(field),
    path: field === '(whole)' ? '' : field,
    rule,
  }));
  return new CommandError(lines.map(faultLine).join('\n'));
}

/** Returns the faults of a file whose form is right. */
function meaningFaults({
  settings = {},
  oauthApps = [],
  connectors = [],
  servers = [],
  workflows = [],
  fieldMappings = [],
  subscriptions = [],
}: Settings): Fault[] {
  return [
    ...repeated(
      'oauthApps',
      oauthApps.map((one) => one.connectorId),
    ),
    ...repeated(
      'connectors',
      connectors.map((one) => one.connectorId),
    ),
    ...repeated(
      'servers',
      servers.map((one) => one.name.toLowerCase()),
    ),
    ...repeated(
      'workflows',
      workflows.map((one) => one.name.toLowerCase()),
    ),
    ...repeated(
      'fieldMappings',
      fieldMappings.map((one) => `${one.scope} ${one.connectorId ?? ''}`),
    ),
    ...repeated('subscriptions', subscriptions.map(subscriptionKey)),
    ...within('settings', () => {
      assertCoherent(settings.userServerRestrictions ?? {}, 'userServerRestrictions');
    }),
    ...servers.flatMap(({ restrictions = {} }, index) =>
      within(`servers.${index}`, () => {
        assertCoherent(restrictions);
      }),
    ),
    ...workflows.flatMap(({ definition }, index) =>
      within(`workflows.${index}`, () => {
        readWorkflow(definition);
      }),
    ),
    ...connectors.flatMap(connectorFaults),
  ];
}

function repeated(part: string, keys: readonly string[]): Fault[] {
  return keys.flatMap((key, index) =>
    keys.indexOf(key) < index
      ? [{ field: `${part}.${index}`, rule: `is the same as ${part}.${keys.indexOf(key)}` }]
      : [],
  );
}

/** Returns the faults that a check throws, below a path. */
function within(path: string, check: () => void): Fault[] {
  try {
    check();
    return [];
  } catch (error) {
    const faults = error instanceof GatehouseError ? error.details?.['faults'] : undefined;
    if (!Array.isArray(faults)) throw error;
    return faults.map(({ field, rule }: Fault) => ({ field: `${path}.${field}`, rule }));
  }
}

type OwnConnector = NonNullable<Settings['connectors']>[number];

/** Returns the faults of a connector file. The tools of a remote server are known only to the service. */
function connectorFaults({ connectorId, definition, overlay }: OwnConnector, index: number): Fault[] {
  if (!definition) return [];
  const parts = { source: definition, kind: 'openapi' as const, overlay: overlay ?? undefined };
  const { faults } = readConnector(parts, '', connectorId);
  return faults.map(({ path, rule, isOfOverlay }) => ({
    field: [`connectors.${index}`, isOfOverlay ? 'overlay' : 'definition', path].filter(Boolean).join('.'),
    rule,
  }));
}

const HEAD = `# Settings of an environment of Gatehouse, without secrets: docs/settings-as-code.md.
# Written by \`gatehouse config export\`. A part that is left out stays as it is.
`;

/** Returns the text of a settings file. */
export function settingsText(settings: JsonObject): string {
  return HEAD + stringify(asJson(settings), { aliasDuplicateObjects: false, lineWidth: 110 });
}
