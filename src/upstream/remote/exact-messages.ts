import { inUtf8 } from '../../lib/body-text.ts';
import { parseJson } from '../../lib/json.ts';

/** A number that may be longer than a double can hold. */
const MAY_BE_LONG = /\d{16}/;
const DATA = /^data: ?/;

/**
 * Yields an answer of JSON whose numbers beyond 2^53 are the texts of their digits, in UTF-8. The SDK parses messages
 * itself, and would round such numbers.
 */
export async function* exactAnswer(body: AsyncIterable<Buffer>, contentType: string): AsyncGenerator<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const bytes = inUtf8(Buffer.concat(chunks), contentType);
  const text = bytes.toString('utf8');
  const exact = exactText(text);
  yield exact === text ? bytes : Buffer.from(exact);
}

/** Yields an event stream as exactAnswer() does. A line is passed on when it is complete. */
export async function* exactEvents(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder();
  let line: string[] = [];
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf('\n') + 1;
    if (end === 0) {
      line.push(text);
      continue;
    }
    const complete = line.join('') + text.slice(0, end);
    line = [text.slice(end)];
    yield Buffer.from(MAY_BE_LONG.test(complete) ? complete.split('\n').map(exactLine).join('\n') : complete);
  }
  const rest = line.join('') + decoder.decode();
  if (rest !== '') yield Buffer.from(exactLine(rest));
}

function exactLine(line: string): string {
  const [field] = DATA.exec(line) ?? [];
  return field === undefined ? line : field + exactText(line.slice(field.length));
}

/** Returns the text itself where it is no JSON, because its reader reports that. */
function exactText(text: string): string {
  if (!MAY_BE_LONG.test(text)) return text;
  try {
    return JSON.stringify(parseJson(text));
  } catch {
    return text;
  }
}
