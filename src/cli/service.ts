import { readProfile } from '../config.ts';
import { exactJsonText } from '../lib/exact-numbers.ts';
import { asObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { thrownMessage } from '../lib/errors.ts';
import { callRemote } from '../outbound/outbound-remote.ts';
import { withoutHidden } from '../lib/hidden-characters.ts';
import type { Environment } from '../store/environments.ts';
import { CommandError, RequestRefused, UsageError } from './faults.ts';

/** Which Gatehouse a command works with. */
export interface ServiceTarget {
  /** Address of a remote Gatehouse; GATEHOUSE_URL when left out. Without either, the command uses the store of this machine. */
  url?: string | undefined;
  /** API key of the remote Gatehouse; GATEHOUSE_KEY when left out. */
  key?: string | undefined;
  /** Environment of the local store. A remote Gatehouse knows the environment by the key. */
  environment?: string | undefined;
}

export interface Request {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  query?: Record<string, string | undefined>;
  body?: JsonObject;
  userId?: string | undefined;
}

/** REST of a Gatehouse, remote or over the store of this machine. */
export interface Service extends AsyncDisposable {
  /** Returns the body of a successful answer. @throws RequestRefused with the message of any other answer. */
  request(request: Request): Promise<Json>;
  /** True for the store of this machine. */
  readonly isLocal: boolean;
}

/**
 * Opens the Gatehouse that the options name.
 * @throws CommandError for an address without a key, and where this machine has no store; UsageError for a wrong
 * environment.
 */
export async function openService({ url, key, environment }: ServiceTarget): Promise<Service> {
  const profile = readProfile();
  const address = url ?? profile.url;
  if (address === undefined) {
    const { openLocal } = await import('./service-local.ts');
    const local = await openLocal(environmentOf(environment));
    return { isLocal: true, request: requester(local), [Symbol.asyncDispose]: () => local.close() };
  }
  const bearer = key ?? profile.key;
  if (bearer === undefined)
    throw new CommandError(
      'A remote Gatehouse needs an API key: set GATEHOUSE_KEY. Unlike --key, it is not visible in lists of processes.',
    );
  if (environment !== undefined)
    throw new UsageError(
      '--environment is for the local store. A remote Gatehouse knows the environment by the key.',
    );
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw new CommandError(
      `The address of a Gatehouse must begin with https:// or http://, got "${address}".`,
    );
  const remote = { url: address.replace(/\/+$/, ''), key: bearer };
  return { isLocal: false, request: requester(remote), async [Symbol.asyncDispose]() {} };
}

function environmentOf(text: string | undefined): Environment {
  if (text === undefined || text === 'development') return 'development';
  if (text === 'production') return 'production';
  throw new UsageError(`--environment must be development or production, got "${text}".`);
}

const TIMEOUT_MS = 180_000;

function requester(endpoint: { url: string; key: string }): Service['request'] {
  return async ({ method = 'GET', path, query = {}, body, userId }) => {
    const url = new URL(`${endpoint.url}${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value);
    const answer = await answerFrom(url, {
      method,
      headers: {
        authorization: `Bearer ${endpoint.key}`,
        'x-api-version': '2025-09',
        ...(userId === undefined ? {} : { 'x-svc-userid': userId }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: exactJsonText(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return bodyOf(answer, url);
  };
}

interface AnswerText {
  status: number;
  text: string;
}

/** Sends a request. It does not follow redirects, because the key would go to another host. */
async function answerFrom(url: URL, options: Parameters<typeof callRemote>[1]): Promise<AnswerText> {
  try {
    const { status, body } = await callRemote(url.href, options);
    return { status, text: await body.text() };
  } catch (error) {
    throw new CommandError(
      `${url.origin} cannot be reached (${thrownMessage(error)}). Check the address and that it runs.`,
    );
  }
}

function bodyOf({ status, text }: AnswerText, url: URL): Json {
  const body = parsedBody(text);
  const isOk = status >= 200 && status < 300;
  if (isOk && body !== undefined) return body;
  const { error, details, code } = asObject(body);
  if (isOk || typeof error !== 'string')
    throw new CommandError(
      `${url.origin} answered ${status} without the JSON of a Gatehouse. Check the address.`,
    );
  throw new RequestRefused(sentence(error, asObject(details)), {
    code: String(code),
    details: asObject(details),
  });
}

function parsedBody(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Returns the sentence of a refusal, and the link that resolves it on a line of its own. */
function sentence(error: string, { connectUrl, reconnectUrl }: JsonObject): string {
  const links = [connectUrl, reconnectUrl].filter((link) => typeof link === 'string');
  return [withoutHidden(error), ...links.map((link) => `Open ${link}`)].join('\n');
}
