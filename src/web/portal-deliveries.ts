import type { Problem } from './api.ts';
import { h, icon, newId } from './dom.ts';
import { failureText } from './page-texts.ts';
import { DELIVERY_STATES, type DeliveryState } from './portal-delivery.ts';
import { drawDeliveryList } from './portal-delivery-list.ts';
import { portalTexts, wordOf } from './portal-texts.ts';
import { drawSection, timeText, type Portal, type PortalSubscription } from './portal-view.ts';
import { drawNotice } from './screens.ts';

/** The section of the deliveries of the user's subscriptions. */
export interface Deliveries {
  show(): Promise<void>;
}

export function createDeliveries(portal: Portal): Deliveries {
  const { call, modal, view } = portal;
  const notices = h('div');
  const about = h('div', { class: 'subscription' });
  const place = h('div');
  let shown: PortalSubscription | undefined;
  let state: DeliveryState | undefined;
  return { show };

  async function show(): Promise<void> {
    const subscriptions = await readSubscriptions();
    notices.replaceChildren();
    shown = subscriptions.find((one) => one.subscriptionId === shown?.subscriptionId) ?? subscriptions[0];
    const content = shown
      ? [drawChoice(subscriptions, shown), about, drawFilter(), notices, place]
      : [h('p', { class: 'nothing' }, portalTexts.noDeliveries)];
    modal.frame.show(drawSection(portal, 'deliveries', ...content));
    await showDeliveries();
  }

  /** Reads all pages of the list. A failure is shown above the list, which then has less. */
  async function readSubscriptions(cursor?: string): Promise<PortalSubscription[]> {
    const answer = await call('GET', '/connect/portal/subscriptions', { query: { cursor } });
    if (!answer.ok) {
      fail(answer.problem);
      return [];
    }
    const { data, pagination } = answer.value;
    return pagination.nextCursor === undefined
      ? data
      : [...data, ...(await readSubscriptions(pagination.nextCursor))];
  }

  function drawChoice(subscriptions: PortalSubscription[], current: PortalSubscription): HTMLElement {
    const id = newId();
    const options = subscriptions.map((one) =>
      h('option', { value: one.subscriptionId, selected: one === current }, nameOf(one)),
    );
    const select = h('select', { id }, ...options);
    select.addEventListener('change', () => {
      shown = subscriptions[select.selectedIndex];
      notices.replaceChildren();
      void showDeliveries();
    });
    return h(
      'div',
      { class: 'subscription-choice' },
      h('label', { for: id }, portalTexts.subscription),
      select,
    );
  }

  function drawFilter(): HTMLElement {
    const chips = [undefined, ...DELIVERY_STATES].map((value) =>
      h(
        'button',
        {
          type: 'button',
          class: 'chip',
          'aria-pressed': String(state === value),
          onclick: ({ currentTarget }) => {
            state = value;
            for (const chip of chips) chip.ariaPressed = String(chip === currentTarget);
            void showDeliveries();
          },
        },
        value === undefined ? portalTexts.all : portalTexts.states[value],
      ),
    );
    return h(
      'div',
      { class: 'delivery-filter' },
      h('div', { class: 'chips', role: 'group', 'aria-label': portalTexts.filter }, ...chips),
      h(
        'button',
        { type: 'button', class: 'quiet', onclick: () => void showDeliveries() },
        portalTexts.refresh,
      ),
    );
  }

  async function showDeliveries(): Promise<void> {
    const [on, only] = [shown, state];
    if (!on) return;
    const list = await drawDeliveryList({
      call,
      subscriptionId: on.subscriptionId,
      state: only,
      replayed: () => notices.replaceChildren(drawNotice({ text: portalTexts.replayed })),
      failed: fail,
    });
    // The user may have chosen something else before the answer.
    if (shown !== on || state !== only) return;
    about.replaceChildren(...drawAbout(on));
    place.replaceChildren(list);
  }

  function fail(problem: Problem): void {
    notices.replaceChildren(drawNotice({ text: failureText(problem, view.branding.name), bad: true }));
  }
}

function nameOf({ app, account, scope, receiver }: PortalSubscription): string {
  return portalTexts.subscriptionName([app.name, account, scope, receiver]);
}

/** Draws the state of a subscription, and why deliveries may be missing. */
function drawAbout(subscription: PortalSubscription): HTMLElement[] {
  const { status, reason, receiver, events, failingSince, sourceReason } = subscription;
  const words = events.map((event) => wordOf(portalTexts.events, event)).join(', ');
  const isActive = status === 'active';
  const troubles = [
    isActive ? undefined : reason,
    failingSince === null ? undefined : portalTexts.failingSince(timeText(failingSince)),
    sourceReason === undefined ? undefined : portalTexts.sourceFailing,
  ];
  return [
    h(
      'p',
      {},
      isActive
        ? h('span', { class: 'tag good' }, icon('check'), portalTexts.active)
        : h('span', { class: 'tag lost' }, icon('warning'), portalTexts.disabled),
      h('span', { class: 'soft' }, `${portalTexts.receiver(receiver)} · ${words}`),
    ),
    ...troubles.filter((one) => one !== undefined).map((one) => h('p', { class: 'fault' }, one)),
  ];
}
