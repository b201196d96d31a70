import { capturedOf } from '../connectors/captured.ts';
import type { Apply, Authentication } from '../connectors/format/format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import { Secret } from '../lib/secret.ts';
import { buildBody } from './body.ts';
import type { OpenCredential } from './open-credential.ts';
import type { UpstreamCall } from './upstream-call.ts';
import { headerValue, setQuery, type Draft } from './request-draft.ts';

/**
 * Puts the credential of a call where its scheme says, and signs the request where the app requires it. Returns the
 * secrets that are now in the request, in every composed form.
 */
export async function applyAuthentication(
  draft: Draft,
  call: UpstreamCall,
  { value, now }: { value: (name: string) => string; now: number },
): Promise<Secret[]> {
  const { credential } = call;
  if (!credential || credential.scheme.type === 'none') return [];
  const { scheme } = credential;
  const secrets = secretValues(call.connector, credential);

  const { headers, query, body, basic } = applyOf(scheme);
  for (const [name, template] of Object.entries(headers)) {
    const header = name.toLowerCase();
    const text = headerValue(name, fillTemplate(template, value));
    // One header holds the cookies of the action and of the credential.
    const others = header === 'cookie' ? draft.headers[header] : undefined;
    draft.headers[header] = others === undefined ? text : `${others}; ${text}`;
  }
  for (const [name, template] of Object.entries(query))
    setQuery(draft.address, name, fillTemplate(template, value));
  if (Object.keys(body).length > 0) draft.body ??= buildBody(call, { evenIfEmpty: true });
  if (draft.body?.members) {
    for (const [name, template] of Object.entries(body))
      draft.body.members[name] = fillTemplate(template, value);
  }
  if (basic) {
    const pair = `${fillTemplate(basic.username, value)}:${fillTemplate(basic.password, value)}`;
    const encoded = Buffer.from(pair, 'utf8').toString('base64');
    draft.headers['authorization'] = `Basic ${encoded}`;
    // A key may be the user name of an empty password. The pair as a whole is then the secret.
    secrets.push(new Secret(encoded));
  }
  if (scheme.type === 'custom' && scheme.sign) {
    const { signRequest } = await import('./sign.ts');
    secrets.push(...(await signRequest(draft, scheme.sign, { value, now })).map((text) => new Secret(text)));
  }
  return secrets;
}

/** Returns the values of a credential that are secret. */
export function secretValues(connector: UpstreamCall['connector'], credential: OpenCredential): Secret[] {
  const { scheme } = credential;
  const fields = 'fields' in scheme ? scheme.fields : {};
  const captured = capturedOf(scheme);
  return Object.entries(credential.values)
    .filter(
      ([name]) =>
        SECRET_BY_NATURE.has(name) ||
        (fields[name]?.secret ??
          !(
            name in connector.definition.variables ||
            captured[name]?.secret === false ||
            name in OPEN_BY_NATURE
          )),
    )
    .map(([, secret]) => secret);
}

/** Secret fields of the schemes. A file may describe such a field again, and need not repeat that it is secret. */
const SECRET_BY_NATURE = new Set([
  'token',
  'apiKey',
  'password',
  'accessToken',
  'refreshToken',
  'clientSecret',
]);
const OPEN_BY_NATURE = { username: true, clientId: true };

const NOTHING: Apply = { headers: {}, query: {}, body: {} };

/** Returns the parts that a scheme adds: its own `apply`, or the default of its type. */
function applyOf(scheme: Exclude<Authentication, { type: 'none' }>): Apply {
  switch (scheme.type) {
    case 'bearer':
      return { ...NOTHING, headers: { authorization: 'Bearer {token}' } };
    case 'basic':
      return { ...NOTHING, basic: scheme.basic ?? { username: '{username}', password: '{password}' } };
    case 'api_key': {
      const template = `${scheme.prefix}{apiKey}`;
      const place = { header: 'headers', query: 'query', body: 'body' }[scheme.in];
      return { ...NOTHING, [place]: { [scheme.name]: template } };
    }
    case 'oauth2':
    case 'oauth2_client_credentials':
    case 'token_exchange':
      return scheme.apply ?? { ...NOTHING, headers: { authorization: 'Bearer {accessToken}' } };
    case 'custom':
      return scheme.apply ?? NOTHING;
  }
}
