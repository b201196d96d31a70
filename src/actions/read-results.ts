import type { Action } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { canonicalJson, type Json, type JsonObject } from '../lib/json.ts';
import type { Environment } from '../store/environments.ts';
import { callUpstream, type UpstreamContext } from '../upstream/call.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import { resolveLink } from '../upstream/request.ts';
import { interpretAnswer, placeOf } from '../upstream/response.ts';
import { defaultLimit, readPage } from './offset-pages.ts';
import type { ListPage, ListSource, Window } from './list-page.ts';
import type { UpstreamPage } from './places.ts';
import { storedPositions } from './positions.ts';
import { sha256 } from '../lib/sha256.ts';

/** Maximum number of records of one page, whatever the third party allows. */
const MAX_LIMIT = 50;
const MAX_OFFSET = 1_000_000_000;

type ResultContext = UpstreamContext & Pick<Base, 'db' | 'keys'>;
type OnStatus = (status: number) => void;

/** Returns the value of an action that is no list. `onStatus` gets the HTTP status of the answer. */
export async function readValue(
  context: UpstreamContext,
  call: UpstreamCall,
  onStatus: OnStatus,
): Promise<Json> {
  const answer = await callUpstream(context, call);
  onStatus(answer.status);
  const { value } = await interpretAnswer(call, answer);
  return value;
}

/**
 * Returns one window of a list action. `account` separates the positions of different credentials with the same input.
 */
export async function readList(
  context: ResultContext,
  call: UpstreamCall,
  list: { environment: Environment; account: string; window: Window; onStatus: OnStatus },
): Promise<ListPage> {
  const { action, credential } = call;
  const source = listSource(context, call, list.onStatus);
  let hash: string | undefined;
  const positions = storedPositions(context, {
    credentialId: credential?.credentialId ?? '',
    // Only lists that are read in order need the hash, so it is computed on demand. A getter would give each of these
    // objects a shape of its own.
    listHash: () =>
      (hash ??= sha256(
        [
          list.environment,
          list.account,
          action.connectorId,
          action.actionId,
          source.paging.style,
          // A custom connector may begin to page in another way.
          ...(call.connector.custom ? [call.connector.fingerprint] : []),
          canonicalJson(call.input),
        ].join('\n'),
      )),
  });
  return readPage(source, positions, list.window);
}

/**
 * Splits a list action's input into `limit` and `offset`, and the rest.
 * @throws GatehouseError `invalid_request` when they are no whole numbers of their range.
 */
export function splitWindow(action: Action, input: JsonObject): { window: Window; input: JsonObject } {
  const { limit, offset, ...rest } = input;
  const fallback = action.paging ? defaultLimit(action.paging, MAX_LIMIT) : MAX_LIMIT;
  return {
    window: {
      limit: whole('limit', limit, { min: 1, max: MAX_LIMIT }) ?? fallback,
      offset: whole('offset', offset, { min: 0, max: MAX_OFFSET }) ?? 0,
    },
    input: rest,
  };
}

function whole(
  name: string,
  value: Json | undefined,
  { min, max }: { min: number; max: number },
): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw invalidRequest([{ field: `input.${name}`, rule: `must be a whole number from ${min} to ${max}` }]);
}

/** Returns a list action as the source of readPage(). */
export function listSource(context: UpstreamContext, call: UpstreamCall, onStatus: OnStatus): ListSource {
  const { connector, action } = call;
  if (!action.paging) throw new Error(`${action.connectorId}.${action.actionId} is a list without paging.`);
  return {
    name: connector.name,
    paging: action.paging,
    async fetch(page): Promise<UpstreamPage> {
      const paged = page ? { ...call, page } : call;
      const answer = await callUpstream(context, paged);
      onStatus(answer.status);
      const { value } = await interpretAnswer(paged, answer);
      const raw = placeOf(paged, answer);
      return {
        records: asRecords(connector.name, value),
        lastRaw: Array.isArray(raw) ? raw.at(-1) : undefined,
        headers: answer.headers,
        body: answer.body,
      };
    },
    resolveLink: (link) => resolveLink(call, link),
  };
}

function asRecords(name: string, value: Json): Json[] {
  if (Array.isArray(value)) return value;
  // Some third parties omit an empty list.
  if (value === null) return [];
  throw new GatehouseError(
    'upstream_failed',
    `${name} answered with something other than a list of records.`,
  );
}
