import { addressFaults, addressRule } from '../address-faults.ts';
import { capturedOf } from '../captured.ts';
import type { ActionDefinition, Apply, Authentication, ConnectorFile, OAuth } from '../format/format.ts';
import { fileFaults } from './files-semantics.ts';
import { effectsIn } from '../effects.ts';
import { encodeFaults } from './encode-semantics.ts';
import { exchangeFaults } from './exchange-semantics.ts';
import { mcpFaults } from './mcp-semantics.ts';
import { partFaults } from './parts-semantics.ts';
import { checkPatterns } from '../patterns.ts';
import { checkEvents } from './events-semantics.ts';
import { policyFaults } from './policy-semantics.ts';
import { readFaults } from './reads-semantics.ts';
import { remoteFaults } from './remote-semantics.ts';
import { parametersOf } from '../parameters.ts';
import { pagingOf, refsOf, sendsBody } from '../schemas/action-schemas.ts';
import { templateNames } from '../templates.ts';
import { wireFaults } from './wire-semantics.ts';
import { stepFaults } from './steps-semantics.ts';
import { undoFaults } from './undo-semantics.ts';
import { xmlFaults } from './xml-semantics.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { patternFault } from '../../lib/linear-pattern.ts';

/** Names that templates of a scheme may use without a field. */
const IMPLICIT_NAMES: { [type in Authentication['type']]: string[] } = {
  bearer: ['token'],
  api_key: ['apiKey'],
  basic: ['username', 'password'],
  custom: [],
  oauth2: ['accessToken'],
  oauth2_client_credentials: ['accessToken', 'clientId', 'clientSecret'],
  token_exchange: ['accessToken'],
  none: [],
};
const SIGN_NAMES = ['method', 'path', 'body', 'timestamp', 'timestampMs', 'nonce', 'host', 'bodySha256'];

/**
 * Returns the faults that zod cannot see: missing names, and members that exclude each other. This is cheap, so it
 * runs at every start. compile-check.ts checks whether schemas and expressions compile when a file is written.
 */
export function checkSemantics(file: ConnectorFile): SemanticFault[] {
  return [
    ...checkBase(file),
    ...file.authentication.flatMap((scheme, index) => checkScheme(file, scheme, `authentication.${index}`)),
    ...checkTypes(file),
    ...checkPatterns(file),
    ...Object.entries(file.schemas).flatMap(([name, schema]) => checkRefs(file, schema, `schemas.${name}`)),
    ...Object.entries(file.actions).flatMap(([id, action]) => checkAction(file, action, `actions.${id}`)),
    ...checkProbes(file),
    ...mcpFaults(file),
    ...remoteFaults(file),
    ...checkEvents(file),
  ];
}

function checkBase(file: ConnectorFile): SemanticFault[] {
  const faults = addressFaults(file, file.baseUrl, 'baseUrl');
  if (Object.keys(file.actions).length === 0)
    faults.push({ path: 'actions', rule: 'must hold at least one action' });
  return faults;
}

function checkTypes(file: ConnectorFile): SemanticFault[] {
  const types = file.authentication.map((scheme) => scheme.type);
  return types.flatMap((type, index) =>
    types.indexOf(type) === index
      ? []
      : [{ path: `authentication.${index}.type`, rule: `"${type}" appears twice` }],
  );
}

function checkScheme(file: ConnectorFile, scheme: Authentication, path: string): SemanticFault[] {
  if (scheme.type === 'none') return [];
  const faults: SemanticFault[] = [];
  const names = new Set([
    ...IMPLICIT_NAMES[scheme.type],
    ...Object.keys(scheme.fields),
    ...Object.keys(file.variables),
    ...Object.keys(capturedOf(scheme)),
  ]);
  const check = (template: string | undefined, at: string, more: string[] = []) => {
    for (const name of templateNames(template ?? '')) {
      if (!names.has(name) && !more.includes(name)) {
        faults.push({
          path: `${path}.${at}`,
          rule: `{${name}} is no field; fields: ${[...names, ...more].join(', ')}`,
        });
      }
    }
  };
  const checkAll = (templates: Record<string, string>, at: string, more?: string[]) => {
    for (const [key, template] of Object.entries(templates)) check(template, `${at}.${key}`, more);
  };
  const checkApply = (apply: Apply | undefined) => {
    for (const [part, templates] of Object.entries(apply ?? {})) checkAll(templates ?? {}, `apply.${part}`);
  };
  faults.push(...derivedFaults(file, scheme, { path, implicit: IMPLICIT_NAMES[scheme.type] }));
  if (scheme.type === 'basic' && scheme.basic) checkAll(scheme.basic, 'basic');
  if (scheme.type === 'oauth2' || scheme.type === 'oauth2_client_credentials') {
    faults.push(...checkOAuth(file, scheme, path));
    checkApply(scheme.apply);
  }
  if (scheme.type === 'token_exchange') {
    faults.push(...exchangeFaults(file, scheme, path));
    checkApply(scheme.apply);
  }
  if (scheme.type === 'custom') {
    const { apply, sign } = scheme;
    checkApply(apply);
    if (!apply && !sign) faults.push({ path, rule: 'custom needs apply or sign, else nothing is sent' });
    if (Object.keys(scheme.fields).length === 0)
      faults.push({ path: `${path}.fields`, rule: 'must name its fields' });
    if (sign?.type === 'hmac') {
      check(sign.key, 'sign.key');
      check(sign.content, 'sign.content', SIGN_NAMES);
    }
    if (sign?.type === 'hmac' || sign?.type === 'jwt') {
      const more = ['signature', ...SIGN_NAMES];
      checkAll(sign.headers, 'sign.headers', more);
      checkAll(sign.query, 'sign.query', more);
      if (!Object.values({ ...sign.headers, ...sign.query }).some((one) => one.includes('{signature}'))) {
        faults.push({ path: `${path}.sign`, rule: 'must put {signature} into a header or query parameter' });
      }
    }
    if (sign?.type === 'jwt') {
      check(sign.key, 'sign.key');
      check(sign.keyId, 'sign.keyId');
      checkAll(sign.claims, 'sign.claims', SIGN_NAMES);
    }
    if (sign?.type === 'aws_sigv4') {
      for (const [part, text] of Object.entries(sign)) check(text, `sign.${part}`);
    }
    if (sign?.type === 'oauth1') {
      for (const part of ['consumerKey', 'consumerSecret', 'token', 'tokenSecret', 'realm'] as const) {
        check(sign[part], `sign.${part}`);
      }
    }
  }
  const checkHeaders = (headers: Record<string, string>, at: string) => {
    for (const [header, template] of Object.entries(headers)) {
      for (const name of templateNames(template).filter((one) => !names.has(one)))
        faults.push({ path: `${at}.${header}`, rule: `{${name}} is no field or variable` });
    }
  };
  checkHeaders(file.headers, 'headers');
  for (const [id, { fixed }] of Object.entries(file.actions))
    checkHeaders(fixed?.headers ?? {}, `actions.${id}.fixed.headers`);
  return faults;
}

/**
 * Returns the faults of a grant's addresses and parameters. They are filled before there is a token, so only fields,
 * variables and the id of the OAuth app are allowed.
 */
function checkOAuth(file: ConnectorFile, scheme: OAuth, path: string): SemanticFault[] {
  const faults: SemanticFault[] = [];
  const known = [
    'clientId',
    ...Object.keys(scheme.fields),
    ...Object.keys(scheme.derived),
    ...Object.keys(file.variables),
  ];
  const check = (template: string, at: string, names = known) => {
    for (const name of templateNames(template)) {
      if (!names.includes(name))
        faults.push({ path: `${path}.${at}`, rule: `{${name}} is no field; fields: ${names.join(', ')}` });
    }
  };
  const addresses = {
    tokenUrl: scheme.tokenUrl,
    ...(scheme.type === 'oauth2'
      ? {
          authorizeUrl: scheme.authorizeUrl,
          refreshUrl: scheme.refreshUrl,
          'revocation.url': scheme.revocation?.url,
        }
      : {}),
    'lookup.url': scheme.lookup?.url,
  };
  for (const [at, template] of Object.entries(addresses)) {
    if (template === undefined) continue;
    check(template, at, at === 'revocation.url' ? [...known, 'token'] : known);
    const rule = addressRule(template);
    if (rule !== undefined) faults.push({ path: `${path}.${at}`, rule });
  }
  const { tokenParams, tokenHeaders } = scheme;
  const more = scheme.type === 'oauth2' ? scheme : { authorizeParams: {}, refreshParams: {} };
  const { authorizeParams, refreshParams } = more;
  for (const [at, values] of Object.entries({ tokenParams, tokenHeaders, authorizeParams, refreshParams })) {
    for (const [name, template] of Object.entries(values)) check(template, `${at}.${name}`);
  }
  for (const [name, template] of Object.entries(scheme.lookup?.headers ?? {}))
    check(template, `lookup.headers.${name}`, [...known, 'accessToken']);
  for (const [at, place] of Object.entries(lookupPlaces(scheme))) {
    if (!scheme.lookup && place?.startsWith('lookup:'))
      faults.push({ path: `${path}.${at}`, rule: 'needs a lookup' });
  }
  if (scheme.lookup?.choose) faults.push(...chooseFaults(scheme, path));
  if (scheme.type === 'oauth2' && scheme.revocation) {
    const { params, headers } = scheme.revocation;
    const later = [...known, 'clientSecret', ...Object.keys(scheme.capture)];
    for (const [at, values] of Object.entries({ params, headers })) {
      for (const [name, template] of Object.entries(values))
        check(template, `revocation.${at}.${name}`, later);
    }
  }
  return faults;
}

/** Returns the faults of a choice among accounts. It needs a person, and has to change what the credential stores. */
function chooseFaults(scheme: OAuth, path: string): SemanticFault[] {
  const at = `${path}.lookup.choose`;
  if (scheme.type !== 'oauth2')
    return [{ path: at, rule: 'works only with oauth2, because no person chooses with other types' }];
  const captured = Object.values(scheme.capture).some(({ from }) => from.startsWith('lookup:'));
  return captured
    ? []
    : [{ path: at, rule: 'changes nothing: no capture reads a lookup: path of the choice' }];
}

/** Returns the places of a grant's values that may be in the answer of its `lookup`, by their path in the scheme. */
function lookupPlaces({ capture, account }: OAuth): Record<string, string | undefined> {
  const captured = Object.entries(capture).map(([name, { from }]) => [`capture.${name}.from`, from]);
  return { ...Object.fromEntries(captured), 'account.id': account?.id, 'account.name': account?.name };
}

function checkAction(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const faults = action.baseUrl === undefined ? [] : addressFaults(file, action.baseUrl, `${path}.baseUrl`);
  const [method = '', template = ''] = action.request.split(' ');
  const inPath = templateNames(template);
  for (const name of inPath) {
    if (!action.path[name])
      faults.push({ path: `${path}.path`, rule: `{${name}} of the request is not described` });
  }
  for (const name of Object.keys(action.path)) {
    if (!inPath.includes(name)) faults.push({ path: `${path}.path.${name}`, rule: 'is not in the request' });
  }
  if (template.split('/').some((segment) => segment === '.' || segment === '..' || segment.includes('\\'))) {
    faults.push({ path: `${path}.request`, rule: 'must not hold dot segments or backslashes' });
  }
  if (/[?#]/.test(template))
    faults.push({ path: `${path}.request`, rule: 'must not hold a query; use query or fixed' });

  const seen = new Map<string, string>();
  for (const { place, name } of parametersOf(action)) {
    const other = seen.get(name);
    if (other)
      faults.push({
        path: `${path}.${place}.${name}`,
        rule: `is also in ${other}; names must be unique in an action`,
      });
    seen.set(name, place);
  }
  const paging = pagingOf(file, action);
  if (typeof action.paging === 'string' && !file.paging[action.paging]) {
    const known = Object.keys(file.paging).join(', ') || 'none';
    faults.push({
      path: `${path}.paging`,
      rule: `"${action.paging}" is no paging of this file; known: ${known}`,
    });
  }
  if (paging) {
    for (const reserved of ['limit', 'offset']) {
      const place = seen.get(reserved);
      if (place)
        faults.push({ path: `${path}.${place}.${reserved}`, rule: 'is added to list actions; leave it out' });
    }
  }
  faults.push(
    ...partFaults(file, action, path),
    ...policyFaults(file, action, path),
    ...readFaults(file, action, path),
    ...wireFaults(file, action, path),
    ...encodeFaults(file, action, path),
    ...xmlFaults(file, action, path),
    ...stepFaults(file, action, path),
    ...undoFaults(file, action, path),
    ...fileFaults(file, action, path),
  );
  if ((method === 'GET' || method === 'HEAD') && sendsBody(action)) {
    faults.push({ path: `${path}.body`, rule: `a ${method} request has no body` });
  }
  if (action.graphql && method !== 'POST')
    faults.push({ path: `${path}.graphql`, rule: 'needs a POST request' });
  const type = action.bodyType ?? file.bodyType;
  if (action.wrap === '[]' && (type !== 'json' || action.idempotencyParam !== undefined))
    faults.push({ path: `${path}.wrap`, rule: '[] is for JSON bodies without idempotencyParam' });
  if (action.graphql && action.wrap !== undefined)
    faults.push({ path: `${path}.wrap`, rule: 'is not used with graphql' });

  for (const { place, name, parameter } of parametersOf(action)) {
    faults.push(...checkRefs(file, parameter, `${path}.${place}.${name}`));
    if (parameter.spread && (place !== 'body' || parameter['type'] !== 'object'))
      faults.push({ path: `${path}.${place}.${name}.spread`, rule: 'is for an object of the body' });
    if (
      parameter.prefix !== undefined &&
      (place !== 'body' || !['string', 'integer', 'number'].includes(`${parameter['type']}`))
    )
      faults.push({ path: `${path}.${place}.${name}.prefix`, rule: 'is for a text or number of the body' });
  }
  const { schema } = action.response;
  if (schema) faults.push(...checkRefs(file, schema, `${path}.response.schema`));
  return faults;
}

function checkRefs(file: ConnectorFile, schema: unknown, path: string): SemanticFault[] {
  return refsOf(schema).flatMap((ref) => {
    const name = /^#\/schemas\/(\w+)$/.exec(ref)?.[1];
    if (name && file.schemas[name]) return [];
    return [{ path, rule: `$ref "${ref}" leads nowhere; write #/schemas/<name of this file's schemas>` }];
  });
}

function checkProbes(file: ConnectorFile): SemanticFault[] {
  const own = file.authentication.flatMap((scheme, index) => {
    const named = 'probe' in scheme ? scheme.probe : undefined;
    const faults = probeFaults(file, named, `authentication.${index}.probe`);
    // A credential that may not call the probe would count as dead.
    const probe = named ?? file.probe;
    const allowed = probe === undefined ? undefined : file.actions[probe]?.authentication;
    if (scheme.type === 'none' || !allowed || allowed.includes(scheme.type)) return faults;
    const rule = `needs a probe of its own, because "${probe}" is not for ${scheme.type}`;
    return [...faults, { path: `authentication.${index}`, rule }];
  });
  const faults = [...probeFaults(file, file.probe, 'probe'), ...own];
  if (file.account && !file.probe) faults.push({ path: 'account', rule: 'needs a probe' });
  return faults;
}

function probeFaults(file: ConnectorFile, probe: string | undefined, path: string): SemanticFault[] {
  if (probe === undefined) return [];
  const action = file.actions[probe];
  if (!action) return [{ path, rule: `"${probe}" is no action of this file` }];
  if (action.before || action.after)
    return [{ path, rule: 'must be one call; this action has `before` or `after`' }];
  const needed = parametersOf(action).find(({ required }) => required);
  if (needed)
    return [{ path, rule: `must be callable without input, but "${probe}" requires ${needed.name}` }];
  const reads = effectsIn(action, action.request.split(' ')[0] ?? '').every((effect) => effect === 'read');
  return reads ? [] : [{ path, rule: `must be an action that reads; "${probe}" does not` }];
}

/** Returns the faults of `derived`: sources that do not exist, names in use, and patterns without a group. */
function derivedFaults(
  file: ConnectorFile,
  scheme: Exclude<Authentication, { type: 'none' }>,
  { path, implicit }: { path: string; implicit: readonly string[] },
): SemanticFault[] {
  const entered = [...implicit, ...Object.keys(scheme.fields), ...Object.keys(file.variables)];
  return Object.entries(scheme.derived).flatMap(([name, { from, pattern }]) => {
    const at = `${path}.derived.${name}`;
    const faults: SemanticFault[] = [];
    if (entered.includes(name)) faults.push({ path: at, rule: 'is already a field or a variable' });
    if (!entered.includes(from))
      faults.push({ path: `${at}.from`, rule: `"${from}" is no field; fields: ${entered.join(', ')}` });
    const rule = pattern === undefined ? undefined : patternRule(pattern);
    if (rule !== undefined) faults.push({ path: `${at}.pattern`, rule });
    return faults;
  });
}

function patternRule(pattern: string): string | undefined {
  const groups = pattern.replaceAll(/\\.|\[(?:\\.|[^\]])*\]/g, '').match(/\((?!\?)/g) ?? [];
  return (
    patternFault(pattern) ?? (groups.length === 1 ? undefined : 'must have one group, which is the value')
  );
}
