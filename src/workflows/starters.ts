import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { isJsonObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { listPackageFolder, packagePath } from '../package.ts';

const FOLDER = packagePath('data/workflows');

const object = z.record(z.string(), z.json());

/** The app of a starter's role, with its action and input. */
export const roleSchema = z.strictObject({
  connectorId: z.string(),
  actionId: z.string().optional(),
  input: object.optional(),
});
export type Role = z.infer<typeof roleSchema>;

const file = z.strictObject({
  name: z.string(),
  description: z.string(),
  roles: z.record(z.string(), roleSchema.extend({ description: z.string() })),
  definition: object,
});

/**
 * A workflow that comes with Gatehouse. Its apps are roles, so that configuration moves it to other apps.
 * Its steps and triggers have `role` in place of `connectorId`.
 */
export interface Starter extends z.infer<typeof file> {
  starterId: string;
}

let read: Promise<Starter[]> | undefined;

/** Returns all starters, by id. */
export function starters(): Promise<Starter[]> {
  return (read ??= readStarters());
}

async function readStarters(): Promise<Starter[]> {
  const { parse } = await import('yaml');
  return listPackageFolder(FOLDER)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => ({
      starterId: name.slice(0, -'.yaml'.length),
      ...file.parse(parse(readFileSync(join(FOLDER, name), 'utf8'))),
    }));
}

/** @throws GatehouseError `starter_not_found` */
export async function requireStarter(starterId: string): Promise<Starter> {
  const found = (await starters()).find((one) => one.starterId === starterId);
  if (found) return found;
  throw new GatehouseError('starter_not_found', `There is no starter "${starterId.slice(0, 64)}".`);
}

/**
 * Returns the definition of a starter with the chosen apps as roles, else with the sandbox.
 * A given role keeps the members that the caller omits.
 * @throws GatehouseError `invalid_request` for an unknown role.
 */
export function definitionOfStarter(
  starter: Starter,
  chosen: Record<string, Partial<Role>> = {},
): JsonObject {
  const faults = Object.keys(chosen)
    .filter((name) => !Object.hasOwn(starter.roles, name))
    .map((name) => ({
      field: `roles.${name.slice(0, 64)}`,
      rule: `is no role of this starter; it has: ${Object.keys(starter.roles).join(', ')}`,
    }));
  if (faults.length > 0) throw invalidRequest(faults, 'The body');
  const { trigger, steps, ...rest } = starter.definition;
  return {
    ...rest,
    trigger: cast(starter, chosen, trigger ?? null),
    steps: Array.isArray(steps) ? steps.map((step) => cast(starter, chosen, step)) : [],
  };
}

function cast(starter: Starter, chosen: Record<string, Partial<Role>>, part: Json): Json {
  if (!isJsonObject(part) || typeof part['role'] !== 'string') return part;
  const { role: name, ...rest } = part;
  const { description: _, ...role } = { ...starter.roles[name], ...chosen[name] };
  return parseJson(JSON.stringify({ ...rest, ...role }));
}
