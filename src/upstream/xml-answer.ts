import type { Json } from '../lib/json.ts';
import type { Pause } from '../lib/json-steps.ts';
import { parseXmlInSteps, xmlText, xmlToJson } from '../lib/xml.ts';
import type { UpstreamCall } from './upstream-call.ts';

/** Returns whether the answers of an action are XML. */
export function readsXml({ connector, action: { definition } }: Pick<UpstreamCall, 'connector' | 'action'>) {
  const { body } = definition.response;
  if (body !== 'json') return body === 'xml';
  return (definition.bodyType ?? connector.definition.bodyType) === 'xml';
}

/**
 * Returns an answer of XML as JSON: `{<root>: …}`, see xmlToJson().
 * @throws XmlError
 */
export async function parseXmlAnswer(
  { action }: Pick<UpstreamCall, 'action'>,
  { bytes, contentType, pause }: { bytes: Buffer; contentType: string; pause: Pause },
): Promise<Json> {
  const root = await parseXmlInSteps(xmlText(bytes, contentType), pause);
  const name = root.name.slice(root.name.indexOf(':') + 1);
  return { [name]: xmlToJson(root, new Set(action.definition.response.lists)) };
}
