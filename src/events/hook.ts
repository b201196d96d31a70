import { z } from 'zod';
import type { Context } from '../context.ts';
import type { Source } from './source.ts';

/** What registering at an app left: the token of our address there, the secret, and the ids of the registrations. */
export interface Hook {
  token: string;
  secret: string;
  /** Registration id at the app by topic; `*` when one serves all. */
  ids: Record<string, string>;
}

const hook = z.object({ token: z.string(), secret: z.string(), ids: z.record(z.string(), z.string()) });

export function sealHook({ keys }: Pick<Context, 'keys'>, sourceId: string, value: Hook): string {
  return keys.seal(JSON.stringify(value), binding(sourceId));
}

export function openHook(
  { keys }: Pick<Context, 'keys'>,
  { sourceId, hookSealed }: Pick<Source, 'sourceId' | 'hookSealed'>,
): Hook | undefined {
  return hookSealed === null ? undefined : hook.parse(JSON.parse(keys.open(hookSealed, binding(sourceId))));
}

/** Where an app sends its webhooks: unguessable, and one for each source. */
export function hookAddress(
  { publicUrl }: Pick<Context, 'publicUrl'>,
  connectorId: string,
  token: string,
): string {
  return `${publicUrl}/hooks/${connectorId}/${token}`;
}

function binding(sourceId: string): string {
  return `source|${sourceId}`;
}
