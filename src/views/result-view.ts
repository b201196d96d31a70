import { appHeading } from './app-heading.ts';
import { connectCard } from './connect-card.ts';
import { el } from './elements.ts';
import { errorCard } from './error-card.ts';
import { connectToHost, type Host } from './host-bridge.ts';
import { applyContext } from './host-theme.ts';
import { objectOf, textOf, textsOf, type JsonObject } from './json-values.ts';
import { questionCard } from './question-card.ts';
import { recordFields, valueBlock } from './record-fields.ts';
import { isList, sourceOf, storedList, type RecordSource } from './record-source.ts';
import { factsOf } from './shown-facts.ts';
import { tableCard } from './table-card.ts';

/* The document of MCP Apps: it receives the result of a tool from its host and draws the view that fits it. */

/** The parts of a call that the host has reported so far. */
interface Reported {
  /** The context of the host. */
  context: JsonObject;
  /** Arguments of the call. */
  args: JsonObject;
  result: JsonObject | undefined;
}

void start();

async function start(): Promise<void> {
  const main = el('main', {}, el('p', { class: 'soft wait', role: 'status' }, 'Waiting for the result …'));
  document.body.append(main);
  const reported: Reported = { context: {}, args: {}, result: undefined };
  let host: Host | undefined;
  const draw = () => {
    if (host && reported.result) main.replaceChildren(viewOf(host, reported, reported.result));
  };
  host = await connectToHost({
    onContext(changed) {
      reported.context = { ...reported.context, ...changed };
      applyContext(changed);
    },
    onInput: (args) => void (reported.args = args),
    onResult(result) {
      reported.result = result;
      draw();
    },
    onCancelled: () => main.replaceChildren(el('p', { class: 'soft wait' }, 'The call was cancelled.')),
  });
  // The result may arrive before the answer of the host is handled.
  draw();
}

/** Returns the view of a result. */
function viewOf(at: Host, { context, args }: Reported, shown: JsonObject): HTMLElement {
  const facts = factsOf(shown);
  const { app, connect, question, subject } = facts;
  if (app && connect) return connectCard(at, app, connect);
  if (question !== undefined && subject !== undefined) return questionCard(at, app, { question, subject });
  if (facts.failed) return errorCard(app, shown);
  const answer = objectOf(shown['structuredContent']);
  const title = facts.action?.name || toolTitle(context) || 'Result';
  const about = accountOf(answer);
  const canFill = textsOf(context['availableDisplayModes']).includes('fullscreen');
  const tableOf = (source: RecordSource) => tableCard(at, source, { app, title, about, canFill });
  if (isList(answer)) return tableOf(sourceOf(at, { facts, args, answer }));
  const card = el(
    'section',
    { class: 'card' },
    appHeading(app, title, [app?.name, about].filter(Boolean).join(' · ')),
    answer['data'] === undefined ? noteOf(shown, answer) : recordFields(answer['data']),
  );
  const resultId = textOf(objectOf(answer['result'])['resultId']);
  if (answer['data'] === undefined && resultId !== undefined && at.can('serverTools'))
    // The note stays where the result is no list, or cannot be read any more.
    void storedList(at, resultId).then(
      (source) => source && card.replaceWith(tableOf(source)),
      () => undefined,
    );
  return card;
}

function toolTitle({ toolInfo }: JsonObject): string | undefined {
  const tool = objectOf(objectOf(toolInfo)['tool']);
  return textOf(tool['title']) ?? textOf(tool['name']);
}

function accountOf({ account }: JsonObject): string | undefined {
  return textOf(objectOf(account)['name']);
}

/** Draws a result without records: our note on it, its beginning, or its texts. */
function noteOf({ content }: JsonObject, answer: JsonObject): HTMLElement {
  const { note, begins } = objectOf(answer['result']);
  const { next } = answer;
  if (textOf(begins) !== undefined)
    return el('div', {}, el('p', { class: 'soft' }, textOf(note) ?? ''), valueBlock(begins ?? null));
  if (textOf(next) !== undefined) return el('p', {}, textOf(next));
  const texts = (Array.isArray(content) ? content : []).flatMap(
    (block) => textOf(objectOf(block)['text']) ?? [],
  );
  return el('div', {}, ...texts.map((text) => el('p', { class: 'text' }, text)));
}
