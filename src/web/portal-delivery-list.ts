import type { Call, Problem } from './api.ts';
import { h } from './dom.ts';
import { drawDelivery, type DeliveryState, type PortalDelivery } from './portal-delivery.ts';
import { portalTexts } from './portal-texts.ts';
import { drawMore } from './portal-view.ts';

/** How often, and how many times, a delivery that is sent again is read until its attempt ended. */
const WATCH_MS = 1_000;
const WATCHES = 20;

interface DeliveryList {
  call: Call;
  subscriptionId: string;
  /** Shows only deliveries in this state. */
  state: DeliveryState | undefined;
  replayed(): void;
  failed(problem: Problem): void;
}

/** Draws the deliveries of a subscription, newest first, with a button for the next page. */
export async function drawDeliveryList(list: DeliveryList): Promise<HTMLElement> {
  const rows = h('ul', { class: 'delivery-list', 'aria-label': portalTexts.deliveries });
  const end = h('div');
  const readMore = async (cursor?: string): Promise<void> => {
    const answer = await read(list, { status: list.state, cursor });
    if (!answer.ok) return list.failed(answer.problem);
    const { data, pagination } = answer.value;
    rows.append(...data.map((one) => drawRow(list, one)));
    const next = pagination.nextCursor;
    end.replaceChildren(...(next === undefined ? [] : [drawMore(() => readMore(next))]));
    if (rows.childElementCount === 0)
      end.replaceChildren(h('p', { class: 'nothing' }, portalTexts.noDeliveries));
  };
  await readMore();
  return h('div', {}, rows, end);
}

function read(
  { call, subscriptionId }: DeliveryList,
  query: { status?: DeliveryState | undefined; cursor?: string | undefined; deliveryId?: string },
) {
  return call('GET', '/connect/portal/subscriptions/{subscriptionId}/deliveries', {
    path: { subscriptionId },
    query,
  });
}

function drawRow(list: DeliveryList, delivery: PortalDelivery): HTMLElement {
  const row = drawDelivery(delivery, async () => {
    const found = await replay(list, delivery, row);
    if (!row.isConnected) return;
    const next = drawRow(list, found);
    const hadFocus = row.contains(document.activeElement);
    row.replaceWith(next);
    if (hadFocus) next.querySelector('button')?.focus();
  });
  return row;
}

/** Sends a delivery again, and waits a while for its attempt. @returns the delivery as it is then. */
async function replay(
  list: DeliveryList,
  delivery: PortalDelivery,
  row: HTMLElement,
): Promise<PortalDelivery> {
  const { deliveryId, attemptCount } = delivery;
  const { subscriptionId } = list;
  const sent = await list.call(
    'POST',
    '/connect/portal/subscriptions/{subscriptionId}/deliveries/{deliveryId}/replay',
    { path: { subscriptionId, deliveryId } },
  );
  if (!sent.ok) {
    list.failed(sent.problem);
    return delivery;
  }
  list.replayed();
  let latest = delivery;
  for (let left = WATCHES; left > 0 && row.isConnected && latest.attemptCount === attemptCount; left -= 1) {
    await new Promise((next) => setTimeout(next, WATCH_MS));
    const answer = await read(list, { deliveryId });
    latest = (answer.ok && answer.value.data[0]) || latest;
  }
  return latest;
}
