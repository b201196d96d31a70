import type { ErrorMeaning, ErrorRule } from '../connectors/format/errors-format.ts';
import { isJsonObject, valueAt, type Json } from '../lib/json.ts';
import type { UpstreamAnswer, UpstreamCall } from './upstream-call.ts';

/** Characters of a body without a message that rules compare with `says`. */
const MAX_WORDS_CHARS = 10_000;
const GRAPHQL_CODES = ['errors.0.extensions.code', 'errors.0.type'];

type Call = Pick<UpstreamCall, 'connector' | 'action'>;
type Answer = Pick<UpstreamAnswer, 'status' | 'headers' | 'body'>;

/**
 * Returns the meaning of a failed answer, or undefined for a success. A rule of the connector file decides first, then
 * the app's code, then the status.
 */
export function failureOf(call: Call, answer: Answer): ErrorMeaning | undefined {
  const { errors } = call.connector.definition;
  const { status, body } = answer;
  const failed =
    status < 400 &&
    (graphqlFailed(call, body) ||
      errors.when.some(({ path, equals }) => anyAt(body, path, (value) => isValue(value, equals))));
  if (status < 300 && !failed) return undefined;
  const rule = errors.rules.find((one) => ruleHolds(one, call, answer));
  if (rule) return rule.means;
  const byCode = codesOf(call, body)
    .map((code) => (Object.hasOwn(errors.codes, code) ? errors.codes[code] : undefined))
    .find((means) => means !== undefined);
  return (
    byCode ?? errors.statuses[String(status)] ?? (failed ? 'upstream_rejected' : meaningOfStatus(status))
  );
}

/** Returns the paths at which an answer may hold the app's message. */
export function messagePaths({ connector, action }: Call): string[] {
  const { message } = connector.definition.errors;
  return isGraphql(action) ? [...message, 'errors.0.message'] : message;
}

function isGraphql({ definition }: Call['action']): boolean {
  return definition.graphql !== undefined;
}

/** Returns whether a GraphQL request failed: the answer is 200 with a list of errors. */
function graphqlFailed({ action }: Call, body: Json): boolean {
  if (!isGraphql(action) || !isTruthy(valueAt(body, 'errors'))) return false;
  return !(action.definition.response.partial && hasData(valueAt(body, 'data')));
}

/** Returns whether a GraphQL answer holds any data: not null, and not only nulls. */
function hasData(data: Json | undefined): boolean {
  if (!isJsonObject(data)) return isTruthy(data);
  return Object.values(data).some((member) => member !== null);
}

function ruleHolds({ status, header, body, says }: ErrorRule, call: Call, answer: Answer): boolean {
  if (status !== undefined && ![status].flat().includes(answer.status)) return false;
  if (header !== undefined) {
    const value = answer.headers[header.name.toLowerCase()];
    if (value === undefined || value === '') return false;
    if (header.equals !== undefined && ![header.equals].flat().includes(value)) return false;
  }
  if (body !== undefined && !anyAt(answer.body, body.path, (value) => isValue(value, body.equals)))
    return false;
  if (says === undefined) return true;
  const words = wordsOf(call, answer);
  return says.some((text) => words.includes(text.toLowerCase()));
}

/** Returns the app's message in lower case. */
function wordsOf(call: Call, { body }: Answer): string {
  const found = messagePaths(call)
    .map((path) => valueAt(body, path))
    .filter(isTruthy)
    .map(textOf);
  const words = found.length > 0 ? found.join('\n') : textOf(body);
  return words.slice(0, MAX_WORDS_CHARS).toLowerCase();
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function codesOf(call: Call, body: Json): string[] {
  const { code } = call.connector.definition.errors;
  const paths = [...(code === undefined ? [] : [code]), ...(isGraphql(call.action) ? GRAPHQL_CODES : [])];
  return paths
    .map((path) => valueAt(body, path))
    .filter((value) => value !== undefined && value !== null)
    .map(String);
}

/** Returns whether a value at the path passes; `*` in it stands for each entry of a list. */
function anyAt(body: Json | undefined, path: string, passes: (value: Json | undefined) => boolean): boolean {
  const [before = '', ...rest] = path.split(/(?:^|\.)\*(?:\.|$)/);
  const value = valueAt(body, before);
  if (rest.length === 0) return passes(value);
  return Array.isArray(value) && value.some((entry) => anyAt(entry, rest.join('.*.'), passes));
}

type Scalar = string | number | boolean;

function isValue(value: Json | undefined, equals: Scalar | Scalar[] | undefined): boolean {
  if (equals === undefined) return isTruthy(value);
  return [equals].flat().some((one) => one === value);
}

function isTruthy(value: Json | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function meaningOfStatus(status: number): ErrorMeaning {
  if (status === 401) return 'credential_invalid';
  if (status === 429) return 'upstream_rate_limited';
  return status >= 400 && status < 500 ? 'upstream_rejected' : 'upstream_failed';
}
