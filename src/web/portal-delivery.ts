import type { Schemas } from './api.ts';
import { h, icon } from './dom.ts';
import { portalTexts, wordOf } from './portal-texts.ts';
import { timeText } from './portal-view.ts';

export const DELIVERY_STATES = ['waiting', 'succeeded', 'dead', 'cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A delivery of the user's, without the answers of its receiver. */
export type PortalDelivery = Schemas['PortalDelivery'];
type Attempt = PortalDelivery['attempts'][number];

/** Draws a delivery, whose attempts open below it. `replay` resolves after the delivery was sent again, or not. */
export function drawDelivery(delivery: PortalDelivery, replay: () => Promise<void>): HTMLElement {
  const { status, event, createdAt, attemptCount, recordId } = delivery;
  const button = h(
    'button',
    { type: 'button', class: 'quiet' },
    h('span', {}, portalTexts.replay),
    h('span', { class: 'hidden' }, ` ${wordOf(portalTexts.events, event)} ${recordId}`),
  );
  button.addEventListener('click', () => {
    if (button.ariaDisabled === 'true') return;
    button.ariaDisabled = 'true';
    button.firstElementChild?.replaceChildren(portalTexts.replaying);
    void replay();
  });
  return h(
    'li',
    { class: 'delivery' },
    h(
      'details',
      {},
      h(
        'summary',
        {},
        drawStatus(status),
        h('strong', {}, wordOf(portalTexts.events, event)),
        h('span', { class: 'soft' }, timeText(createdAt)),
        h('span', { class: 'soft' }, portalTexts.attempts(attemptCount)),
      ),
      drawDetails(delivery),
    ),
    button,
  );
}

function drawStatus(status: DeliveryState): HTMLElement {
  const text = portalTexts.states[status];
  if (status === 'succeeded') return h('span', { class: 'tag good' }, icon('check'), text);
  if (status === 'dead') return h('span', { class: 'tag lost' }, icon('warning'), text);
  return h('span', { class: 'tag' }, text);
}

function drawDetails({ recordId, sequence, attempts, nextAttemptAt }: PortalDelivery): HTMLElement {
  const fact = (name: string, value: string): HTMLElement =>
    h('p', {}, h('span', { class: 'soft' }, `${name} `), h('code', {}, value));
  return h(
    'div',
    { class: 'delivery-details' },
    fact(portalTexts.record, recordId),
    fact(portalTexts.number, String(sequence)),
    attempts.length === 0
      ? h('p', {}, portalTexts.noAttempt)
      : h('ol', { class: 'attempts' }, ...attempts.map(drawAttempt)),
    nextAttemptAt === null ? undefined : h('p', {}, portalTexts.nextAttempt(timeText(nextAttemptAt))),
  );
}

function drawAttempt({ number, at, durationMs, status, error }: Attempt): HTMLElement {
  const outcome = status === null ? wordOf(portalTexts.failures, error ?? '') : portalTexts.answered(status);
  return h('li', { value: String(number) }, `${timeText(at)}: ${outcome} (${durationMs} ms)`);
}
