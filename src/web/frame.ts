import type { Branding, Session } from './api.ts';
import { applyColour } from './colour.ts';
import { h, icon } from './dom.ts';
import { texts } from './page-texts.ts';

/** The frame of every screen: the application's name above, the user below. */
export interface Frame {
  /** Shows the application and the user, when the service has named them. */
  setSession(session: Pick<Session, 'branding' | 'user'>): void;
  /** Replaces the screen. Its heading takes the focus, so that a screen reader continues there. */
  show(screen: HTMLElement, options?: Back): void;
}

interface Back {
  back?: (() => void) | undefined;
  /** Label of the button; default: to the apps. */
  backLabel?: string | undefined;
}

/** Draws the frame into the document. Only the modal passes `close`, because the browser closes a page. */
export function drawFrame(close?: () => void): Frame {
  const brand = h('p', { class: 'brand' });
  let goBack: (() => void) | undefined;
  const back = h(
    'button',
    { type: 'button', class: 'round', hidden: true, 'aria-label': texts.back, onclick: () => goBack?.() },
    icon('back'),
  );
  const header = h(
    'header',
    {},
    back,
    brand,
    close &&
      h(
        'button',
        { type: 'button', class: 'round', 'aria-label': texts.close, onclick: () => close() },
        icon('close'),
      ),
  );
  const main = h('main');
  const footer = h('footer');
  document.documentElement.lang = texts.language;
  document.body.replaceChildren(h('div', { class: 'card' }, header, main, footer));

  return {
    setSession({ branding, user }) {
      applyColour(branding);
      brand.replaceChildren(brandMark(branding), h('span', {}, branding.name));
      footer.replaceChildren(
        h('p', {}, icon('lock'), h('span', {}, texts.storedEncrypted)),
        h(
          'p',
          { title: user.username },
          icon('user'),
          h('span', { class: 'hidden' }, texts.connectAs),
          h('span', {}, user.username),
        ),
      );
    },
    show(screen, options = {}) {
      goBack = options.back;
      back.hidden = goBack === undefined;
      back.ariaLabel = options.backLabel ?? texts.back;
      main.replaceChildren(screen);
      main.scrollTop = 0;
      const heading = screen.querySelector<HTMLElement>('h1');
      document.title = heading?.textContent ?? texts.loading;
      heading?.focus({ preventScroll: true });
    },
  };
}

/** Draws the logo, or the initial of the name on the application's colour. */
export function brandMark({ name, logoUrl }: Branding): HTMLElement {
  if (logoUrl !== undefined) return h('img', { class: 'mark', src: logoUrl, alt: '' });
  const initial = /[\p{L}\p{N}]/u.exec(name)?.[0]?.toUpperCase() ?? '?';
  return h('span', { class: 'mark initial', 'aria-hidden': 'true' }, initial);
}
