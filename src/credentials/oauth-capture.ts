import { accountPlaces } from '../connectors/captured.ts';
import type { Connector } from '../connectors/catalog.ts';
import type { OAuth } from '../connectors/format/format.ts';
import { GatehouseError } from '../lib/errors.ts';
import { isJsonObject, parseJson, valueAt, type Json } from '../lib/json.ts';
import type { Account } from './credential.ts';
import { checkFields, storedFields } from './fields.ts';

/** The sources of captured values: the token answer, the redirect, the claims of the ID token, the lookup. */
export interface CaptureSource {
  raw: Json;
  lookup?: Json | undefined;
  callback?: URLSearchParams | undefined;
  clientId: string;
}

const MAX_ACCOUNT_CHARS = 200;

/**
 * Returns the scheme's captured values, checked by their format.
 * A renewal may omit values of the grant; the stored ones then stay.
 * @throws GatehouseError `upstream_failed` naming the value that is missing or breaks its format.
 */
export function captureValues(
  connector: Connector,
  scheme: OAuth,
  { source, complete }: { source: CaptureSource; complete: boolean },
): Record<string, string> {
  const found = Object.entries(scheme.capture).flatMap(([name, { from }]) => {
    const text = textAt(source, from);
    return text === undefined ? [] : [[name, text]];
  });
  const stored = storedFields(connector, scheme);
  const fields = new Map(
    [...stored]
      .filter(([name]) => Object.hasOwn(scheme.capture, name))
      .map(([name, field]) => [name, { ...field, required: complete && field.required }]),
  );
  const { values, faults } = checkFields(fields, Object.fromEntries(found));
  const [fault] = faults;
  // A renewal cannot be repeated, so a faulty value is ignored and the stored one stays.
  if (!fault || !complete) return values;
  const name = fault.field.replace(/^data\./, '');
  throw new GatehouseError(
    'upstream_failed',
    `${connector.name} granted access, but without a usable ${name}: it ${fault.rule}. Look at capture.${name} of its connector file.`,
    { details: { connectorId: connector.connectorId, reason: 'capture', name } },
  );
}

/** Returns the account that the grant itself names. */
export function accountOf(scheme: OAuth, source: CaptureSource): Account | undefined {
  const places = accountPlaces(scheme);
  const id = places && textAt(source, places.id);
  if (!places || id === undefined) return undefined;
  const name = places.name === undefined ? undefined : textAt(source, places.name);
  return {
    id: id.slice(0, MAX_ACCOUNT_CHARS),
    ...(name === undefined ? {} : { name: name.slice(0, MAX_ACCOUNT_CHARS) }),
  };
}

/**
 * Returns the account that captured values identify, for an imported credential of a scheme with a choice among
 * accounts. The probe may report the person, who has several.
 */
export function accountInValues(scheme: OAuth, values: Record<string, string>): Account | undefined {
  if (!scheme.lookup?.choose) return undefined;
  const place = accountPlaces(scheme)?.id;
  const name = Object.keys(scheme.capture).find((one) => scheme.capture[one]?.from === place);
  const id = name === undefined ? undefined : values[name];
  return id === undefined ? undefined : { id: id.slice(0, MAX_ACCOUNT_CHARS) };
}

function textAt(source: CaptureSource, place: string): string | undefined {
  const [kind = ''] = place.split(':', 1);
  const path = place.slice(kind.length + 1);
  if (kind === 'callback') return source.callback?.get(path) ?? undefined;
  const from = kind === 'idToken' ? claimsOf(source) : kind === 'lookup' ? source.lookup : source.raw;
  const found = valueAt(from, path);
  if (typeof found === 'number' || typeof found === 'boolean') return String(found);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/**
 * Returns the claims of the ID token in a token answer.
 * TLS to the token endpoint replaces the check of its signature (OpenID Connect Core section 3.1.3.7, point 6). The
 * audience is checked.
 */
function claimsOf({ raw, clientId }: CaptureSource): Json | undefined {
  const token = valueAt(raw, 'id_token');
  const [, payload] = typeof token === 'string' ? token.split('.') : [];
  if (payload === undefined) return undefined;
  try {
    const claims = parseJson(Buffer.from(payload, 'base64url').toString('utf8'));
    if (!isJsonObject(claims)) return undefined;
    const { aud } = claims;
    return (Array.isArray(aud) ? aud.includes(clientId) : aud === clientId) ? claims : undefined;
  } catch {
    return undefined;
  }
}
