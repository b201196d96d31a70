import type { Connector } from '../connectors/catalog.ts';
import { isUnifiedScope, type EventScope, type SourceScope } from '../connectors/event-scopes.ts';
import type { EventSourceDefinition, UnifiedModel } from '../connectors/format/events-format.ts';
import { GatehouseError } from '../lib/errors.ts';
import { isJsonObject, valueAt, type Json, type JsonObject } from '../lib/json.ts';
import { withPauses } from '../lib/pauses.ts';
import { storableText } from '../lib/storable-text.ts';
import { mapValue } from '../upstream/expression.ts';
import type { CustomFields } from './field-mappings.ts';
import { notOffered, sourceModelOf, type SourceModel } from '../connectors/source-model.ts';
import { unifiedId, unifiedVariantId } from './unified-ids.ts';
import { UNIFIED_MODELS } from './models.ts';

/** A record of an app in its unified form, or as its event source has it. `createdAt` and `updatedAt` are epoch milliseconds here. */
export interface Unified {
  id: string;
  remoteId: string;
  createdAt: number | undefined;
  updatedAt: number | undefined;
  /** The whole record, as it is returned and delivered. */
  body: JsonObject;
  /** The part in which two states of the record differ. */
  state: Json;
}

/**
 * Returns the unified model of a connector.
 * @throws GatehouseError `invalid_request` when it has none of that scope.
 */
export function modelOf(connector: Connector, scope: EventScope): UnifiedModel {
  const model = connector.definition.unified[scope];
  if (model) return model;
  throw notOffered(connector, scope);
}

interface Account<Scope extends SourceScope = SourceScope> {
  connector: Connector;
  scope: Scope;
  connectionId: string;
}

/**
 * Returns a record of a source as it is delivered: in its unified form, or as it is where the source is the app's own.
 * @throws GatehouseError `upstream_failed` as toUnified().
 */
export async function toDelivered(
  account: Account,
  raw: Json,
  customFields?: CustomFields,
): Promise<Unified> {
  const { connector, scope, connectionId } = account;
  if (isUnifiedScope(scope)) return toUnified({ connector, scope, connectionId }, raw, customFields);
  const model = sourceModelOf(connector, scope);
  const { id, remoteId, createdAt, updatedAt } = factsOf(account, model, raw);
  const state = ('key' in model ? (model.key ?? []) : []).map((path) => valueAt(raw, path) ?? null);
  const body = { id, remoteId, createdAt: iso(createdAt), updatedAt: iso(updatedAt), raw };
  return { id, remoteId, createdAt, updatedAt, body, state };
}

/** Returns the ids and times of a record. @throws GatehouseError `upstream_failed` when it has no id. */
function factsOf({ connector, scope, connectionId }: Account, model: SourceModel, raw: Json) {
  const remoteId = remoteIdIn(raw, model);
  if (remoteId === undefined) {
    const paths = [model.remoteId].flat().join(', ');
    throw doesNotFit(connector, scope, `the record has no id at ${paths}`);
  }
  const createdAt = timeAt(raw, model.createdAt, model.timeFormat);
  const updatedAt = timeAt(raw, model.updatedAt, model.timeFormat) ?? createdAt;
  return { id: unifiedId(scope, connectionId, remoteId), remoteId, createdAt, updatedAt };
}

/**
 * Maps a record of an app by its connector's expression, and adds the operator's own fields.
 * @throws GatehouseError `upstream_failed` when the record has no id, or does not fit the model; the member is named.
 */
export async function toUnified(
  account: Account<EventScope>,
  raw: Json,
  customFields?: CustomFields,
): Promise<Unified> {
  const { connector, scope, connectionId } = account;
  const model = modelOf(connector, scope);
  const { id, remoteId, createdAt, updatedAt } = factsOf(account, model, raw);
  const mapped = UNIFIED_MODELS[scope].safeParse(
    withoutNulls(await mapValue(model.map, raw, { author: connector })),
  );
  if (!mapped.success) {
    const [issue] = mapped.error.issues;
    throw doesNotFit(
      connector,
      scope,
      `${issue?.path.join('.') || 'the record'}: ${issue?.message ?? 'does not fit'}`,
    );
  }
  const custom = await customFields?.(raw);
  const body = {
    id,
    remoteId,
    ...mapped.data,
    ...('variants' in mapped.data
      ? { variants: withIds(mapped.data.variants, { id, remoteId, connectionId }) }
      : {}),
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    ...(custom ? { custom } : {}),
    raw,
  };
  return { id, remoteId, createdAt, updatedAt, body, state: contentOf(body) };
}

/**
 * Returns the part of a unified record that distinguishes two of its states. It omits our ids of variants: hashes of
 * this part are stored, and new members would make all known records count as changed. It omits the raw record,
 * because an app's webhooks and lists show the same state with different members.
 */
export function contentOf({ raw: _raw, custom: _custom, ...content }: JsonObject): JsonObject {
  const { variants } = content;
  return Array.isArray(variants) ? { ...content, variants: variants.map(withoutIds) } : content;
}

/** Returns the app's id of a record, or its ids with `:` between them; undefined where it has none. */
export function remoteIdIn(
  raw: Json,
  { remoteId }: Pick<EventSourceDefinition, 'remoteId'>,
): string | undefined {
  const parts: string[] = [];
  for (const path of [remoteId].flat()) {
    const part = valueAt(raw, path);
    if (typeof part !== 'string' && typeof part !== 'number') return undefined;
    parts.push(storableText(String(part)));
  }
  return parts.join(':');
}

/** Returns whether the app's answer for a record says that it was deleted. */
export function saysGone(raw: Json, { get }: SourceModel): boolean {
  return get?.gone !== undefined && valueAt(raw, get.gone.path) === get.gone.equals;
}

/**
 * Yields many records, each with its unified form, or with the error of a record that does not fit. Mapping waits only
 * for microtasks, so without pauses it would block the whole process until the last record.
 */
export async function* unifiedOf(
  what: Account,
  records: Iterable<Json>,
  customFields?: CustomFields,
): AsyncGenerator<[record: Json, unified: Unified | GatehouseError]> {
  for await (const record of withPauses(records))
    yield [record, await toDelivered(what, record, customFields).catch(mappingError)];
}

function withIds<Variant extends { remoteId: string | null }>(
  variants: Variant[],
  product: { id: string; remoteId: string; connectionId: string },
): (Variant & { id: string | null; productId: string })[] {
  const { connectionId, remoteId: productId } = product;
  return variants.map((variant) => ({
    id: variant.remoteId ? unifiedVariantId(connectionId, { productId, variantId: variant.remoteId }) : null,
    productId: product.id,
    ...variant,
  }));
}

function withoutIds(variant: Json): Json {
  if (!isJsonObject(variant)) return variant;
  const { id: _id, productId: _productId, ...given } = variant;
  return given;
}

const ENDS_WITH_TIME = /[T ]\d{1,2}:\d\d(:\d\d(\.\d+)?)?$/i;

/** A time of .NET's JSON, in milliseconds: `/Date(1538665733010+0000)/`. */
const DOTNET_TIME = /^\/Date\((-?\d{1,16})([+-]\d{4})?\)\/$/;

/** Returns the moment of an app's time, in epoch milliseconds. */
export function parseTime(value: Json | undefined, format: UnifiedModel['timeFormat']): number | undefined {
  if (typeof value === 'string' && format === 'iso') {
    // A time without zone is UTC: no known app means another zone.
    const at = Date.parse(ENDS_WITH_TIME.test(value) ? `${value}Z` : value);
    return Number.isNaN(at) ? undefined : at;
  }
  const text = format === 'dotnet' && typeof value === 'string' ? DOTNET_TIME.exec(value)?.[1] : value;
  const number = typeof text === 'string' ? Number(text) : text;
  if (typeof number !== 'number' || !Number.isFinite(number)) return undefined;
  return format === 'seconds' ? Math.round(number * 1000) : number;
}

function timeAt(raw: Json, path: string | undefined, format: UnifiedModel['timeFormat']): number | undefined {
  return path === undefined ? undefined : parseTime(valueAt(raw, path), format);
}

/** Removes null members, because null and absent are the same to a model. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null ? [] : [[name, withoutNulls(member)]],
    ),
  );
}

function iso(at: number | undefined): string | null {
  return at === undefined || Math.abs(at) > 8.64e15 ? null : new Date(at).toISOString();
}

/**
 * Handles a caught error: returns the error of a record that does not fit its model.
 * @throws every other error.
 */
export function mappingError(error: unknown): GatehouseError {
  if (error instanceof GatehouseError && error.details?.['reason'] === 'mapping') return error;
  throw error;
}

function doesNotFit(connector: Connector, scope: SourceScope, what: string): GatehouseError {
  return new GatehouseError(
    'upstream_failed',
    `A record of ${connector.name} does not fit ${scope}: ${what}.`,
    { details: { reason: 'mapping', connectorId: connector.connectorId } },
  );
}
