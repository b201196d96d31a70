import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';

/** Members of our own results. In a result of an app they would look like a question or an offer of Gatehouse. */
const OURS = ['error', 'undo', 'confirmation'];
const MAX_BLOCKS = 200;
const MAX_TEXT_CHARS = 64 * 1024;

/**
 * Returns the result of a tool of an app in the usual form of MCP. Servers leave `content` out where they have structured
 * content, write a text in place of a block, null in place of a missing member, and base64 in lines. Results of another
 * kind, such as prompts and questions, stay as they are.
 */
export function usualContent(data: Json): Json {
  if (!isJsonObject(data) || 'messages' in data || 'inputRequests' in data || 'requestState' in data)
    return data;
  const { content: given = null, structuredContent: structured = null, toolResult, isError, ...rest } = data;
  const isEmpty = given === null && structured === null && toolResult === undefined;
  if (isEmpty && Object.keys(rest).some((name) => name !== '_meta')) return data;
  const content = blocksOf(given).map(withoutGaps);
  // A structure of another form than an object, and the result of MCP of 2024-10-07, reach the model as text.
  const further = isJsonObject(structured) ? undefined : (structured ?? toolResult);
  if (content.length === 0 && further !== undefined && further !== null) content.push(asText(further));
  if (content.length === 0 && isJsonObject(structured)) content.push(asText(structured));
  const left = content.length - MAX_BLOCKS;
  return {
    ...rest,
    content:
      left > 0
        ? [...content.slice(0, MAX_BLOCKS - 1), asText(`${left + 1} further blocks were left out.`)]
        : content,
    ...(isJsonObject(structured) ? { structuredContent: withoutOurs(structured) } : {}),
    ...(typeof isError === 'boolean' ? { isError } : {}),
  };
}

/** Returns a block of text for something that is no block of MCP. */
export function asText(given: unknown): { type: 'text'; text: string } {
  const text = typeof given === 'string' ? given : JSON.stringify(given ?? null);
  const isLong = text.length > MAX_TEXT_CHARS;
  return { type: 'text', text: isLong ? `${text.slice(0, MAX_TEXT_CHARS).toWellFormed()}…` : text };
}

function blocksOf(given: Json): Json[] {
  if (Array.isArray(given)) return given;
  if (given === null) return [];
  return [given];
}

/** Returns a block without members that are null, with base64 in one line. */
function withoutGaps(given: Json): Json {
  if (typeof given === 'string') return asText(given);
  if (!isJsonObject(given)) return asText(given);
  const block = Object.fromEntries(Object.entries(given).filter(([, member]) => member !== null));
  if (!isJsonObject(block['annotations'] ?? {})) delete block['annotations'];
  const { data, resource } = block;
  if (typeof data === 'string') block['data'] = base64In(data);
  if (isJsonObject(resource)) block['resource'] = resourceOf(resource);
  return block;
}

function resourceOf(given: JsonObject): JsonObject {
  const resource = Object.fromEntries(Object.entries(given).filter(([, member]) => member !== null));
  const { blob } = resource;
  return typeof blob === 'string' ? { ...resource, blob: base64In(blob) } : resource;
}

function base64In(text: string): string {
  return text.replaceAll(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
}

/**
 * Returns structured content of an app that cannot be taken for ours: an object under a name of ours is moved below
 * `thirdParty` together with the rest.
 */
function withoutOurs(structured: JsonObject): JsonObject {
  return OURS.some((name) => isJsonObject(structured[name])) ? { thirdParty: structured } : structured;
}
