import { isMap, isSeq, parseDocument, stringify } from 'yaml';
import { AuthorError } from './author-error.ts';
import { examplesFile, type ActionExample } from '../connectors/format/examples-format.ts';

/** Returns an example as an entry of the list. */
export function itemText(example: ActionExample): string {
  const { reads, ...rest } = example;
  return stringify([reads.length > 0 ? example : rest], { lineWidth: 110 });
}

/**
 * Returns the text of examples.yaml with one more example. Comments and the form of other entries stay.
 * @throws AuthorError for a file that is not valid.
 */
export function withExample(
  text: string,
  { path, example }: { path: string; example: ActionExample },
): string {
  const item = itemText(example);
  if (text.trim() === '') return `examples:\n${indented(item, 2)}`;
  const document = parseDocument(text);
  const list = isMap(document.contents) ? document.contents.get('examples', true) : undefined;
  const isBlock = isSeq(list) && !list.flow && list.items.length > 0;
  const end = isBlock ? list.range?.[1] : undefined;
  let whole: string;
  if (isBlock && list.range && end !== undefined) {
    const start = list.range[0];
    const column = start - (text.lastIndexOf('\n', start - 1) + 1);
    const head = text.slice(0, end);
    whole = `${head}${head.endsWith('\n') ? '' : '\n'}${indented(item, column)}${text.slice(end).replace(/^\n/, '')}`;
  } else {
    document.set('examples', [example]);
    whole = document.toString({ lineWidth: 110 });
  }
  const parsed = examplesFile.safeParse(parseDocument(whole).toJS());
  if (document.errors.length > 0 || !parsed.success)
    throw new AuthorError(`${path} is not valid, so nothing was added: gatehouse connectors check ${path}`);
  return whole;
}

function indented(text: string, column: number): string {
  return text.replaceAll(/^(?=.)/gm, ' '.repeat(column));
}
