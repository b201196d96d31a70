import { appHeading } from './app-heading.ts';
import { button, el } from './elements.ts';
import type { Host } from './host-bridge.ts';
import type { AppFacts } from './shown-facts.ts';

/*
 * The view of a call that needs the agreement of the user. It has no power to agree: its buttons write the user's answer
 * into the conversation, as the user could. See docs/decisions/321-views-of-results.md.
 */

/** Draws a question, whole and in the words of the server. `subject`: the action or tool by its ids. */
export function questionCard(
  host: Host,
  app: AppFacts | undefined,
  { question, subject }: { question: string; subject: string },
): HTMLElement {
  const [first = '', ...rest] = question.split('\n');
  const state = el('p', { class: 'state', role: 'status' });
  const answer = async (words: string, done: string) => {
    for (const one of buttons) one.disabled = true;
    const isSent = await host.sendMessage(words);
    state.replaceChildren(isSent ? done : 'The message could not be sent. Answer in the conversation.');
    if (isSent) acts.remove();
    for (const one of buttons) one.disabled = false;
  };
  const buttons = [
    button(
      { class: 'primary' },
      ['Agree'],
      () =>
        void answer(
          `I agree to ${subject}, once, with exactly the parameters of the question that I was shown.`,
          'You agreed. Your answer is in the conversation.',
        ),
    ),
    button(
      { class: 'secondary' },
      ['Decline'],
      () => void answer(`I do not agree to ${subject}. Do not run it.`, 'You declined. Nothing was done.'),
    ),
  ];
  const canAnswer = host.can('message');
  const acts = el('div', { class: 'acts' }, ...(canAnswer ? buttons : []));
  if (!canAnswer) state.append('Answer in the conversation whether you agree.');
  return el(
    'section',
    { class: 'card' },
    appHeading(app, first, 'Nothing runs before you agree.'),
    el('pre', { tabindex: '0', 'aria-label': 'The call' }, rest.join('\n')),
    acts,
    state,
    el('p', { class: 'soft' }, `An agreement holds for this one call of ${subject}, with these parameters.`),
  );
}
