import type { Modal } from './account-screen.ts';
import type { Call, Schemas, ValueAt } from './api.ts';
import { h } from './dom.ts';
import { texts } from './page-texts.ts';
import { portalTexts } from './portal-texts.ts';

/* The parts that the sections of the portal share, and the answers of their routes. */

/** The user and the branding, around the lists. */
export type PortalView = ValueAt<'GET', '/connect/portal'>;

export type PortalAccount = Schemas['PortalAccount'];
/** The app of an account; without an icon when its connector was removed. */
export type PortalApp = PortalAccount['app'];
/** A webhook subscription to one of the user's accounts. */
export type PortalSubscription = Schemas['PortalSubscription'];

export interface Page<T> {
  data: T[];
  pagination: { nextCursor?: string };
}

/** The portal around a section. */
export interface Portal {
  modal: Modal;
  call: Call;
  view: PortalView;
  /** Shows a section. */
  open(section: Section): void;
  /** Records a change of the user's accounts for the application. */
  changed(change: 'connected' | 'disconnected', credentialId: string): void;
}

export type Section = 'connections' | 'deliveries';

/** Draws a section: the sections, a heading with a sentence, and the content. */
export function drawSection(
  { view, open }: Portal,
  section: Section,
  ...content: (HTMLElement | undefined)[]
): HTMLElement {
  const { branding } = view;
  const [title, lead] =
    section === 'connections'
      ? [portalTexts.connectionsTitle, portalTexts.connectionsLead(branding.name)]
      : [portalTexts.deliveriesTitle, portalTexts.deliveriesLead];
  return h(
    'section',
    { class: 'screen portal' },
    view.hasSubscriptions ? drawSections(section, open) : undefined,
    h('h1', { tabindex: '-1' }, title),
    h('p', { class: 'lead' }, lead),
    ...content,
  );
}

function drawSections(current: Section, open: (section: Section) => void): HTMLElement {
  const button = (section: Section): HTMLElement =>
    h(
      'button',
      {
        type: 'button',
        class: 'chip',
        'aria-current': section === current ? 'page' : undefined,
        onclick: () => open(section),
      },
      portalTexts[section],
    );
  return h(
    'nav',
    { class: 'sections', 'aria-label': portalTexts.sections },
    button('connections'),
    button('deliveries'),
  );
}

export function drawAppIcon({ name, iconUrl }: PortalApp): HTMLElement {
  if (iconUrl !== null) return h('img', { src: iconUrl, alt: '', width: '40', height: '40' });
  return h('span', { class: 'mark initial', 'aria-hidden': 'true' }, name.slice(0, 1).toUpperCase());
}

/** Draws the button that reads the next page. */
export function drawMore(read: () => Promise<void>): HTMLElement {
  const button = h('button', { type: 'button', class: 'secondary outline more' }, portalTexts.more);
  button.addEventListener('click', () => {
    button.disabled = true;
    void read();
  });
  return button;
}

/** Returns the day of a time, such as `3 Mar 2026`. */
export function dayText(time: string): string {
  return new Date(time).toLocaleDateString(texts.language, { dateStyle: 'medium' });
}

/** Returns a time in the user's own form, such as `3 Mar 2026, 14:05`. */
export function timeText(time: string): string {
  return new Date(time).toLocaleString(texts.language, { dateStyle: 'medium', timeStyle: 'short' });
}
