import { parseJson, type Json } from '../../src/lib/json.ts';

/** A browser without scripts: cookies, redirects, plain forms. Each one is one person at one machine. */
export interface Browser {
  /** Opens an address and follows redirects, but not to one that begins with `stopAt`: that page is not loaded. */
  open(url: string, options?: VisitOptions): Promise<Page>;
  /** Sends the first form of a page with its values and these; an undefined value is omitted. */
  submit(page: Page, values: Record<string, string | undefined>, options?: VisitOptions): Promise<Page>;
  /** Sends a request as a script of a page does: with JSON, or a GET without. */
  request(url: string, json?: object): Promise<{ status: number; body: Json }>;
  /** Returns the cookies that it would send there. */
  cookies(url: string): string;
}

export interface VisitOptions {
  stopAt?: string | undefined;
  /** Follows no redirect at all. */
  stay?: boolean;
}

export interface Page {
  /** Current address of the browser. */
  url: string;
  /** 0 where it stopped before loading. */
  status: number;
  headers: Headers;
  html: string;
}

interface Cookie {
  host: string;
  path: string;
  name: string;
  value: string;
}

export function createBrowser(): Browser {
  let cookies: Cookie[] = [];

  const keep = (url: URL, headers: Headers): void => {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
      const attribute = (name: string) =>
        attributes.find((one) => one.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      const path = attribute('path') ?? (url.pathname.slice(0, url.pathname.lastIndexOf('/')) || '/');
      const host = url.hostname;
      const expires = attribute('expires');
      const gone =
        attribute('max-age') === '0' || (expires !== undefined && Date.parse(expires) <= Date.now());
      cookies = cookies.filter((one) => one.name !== name || one.path !== path || one.host !== host);
      if (!gone) cookies.push({ host, path, name, value });
    }
  };
  const sent = (url: URL): string =>
    cookies
      .filter(
        ({ host, path }) => host === url.hostname && `${url.pathname}/`.startsWith(path.replace(/\/?$/, '/')),
      )
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');

  const visit = async (start: string, init: RequestInit, { stopAt, stay }: VisitOptions): Promise<Page> => {
    let url = new URL(start);
    let request = init;
    for (let hop = 0; hop < 20; hop++) {
      if (stopAt !== undefined && url.href.startsWith(stopAt)) {
        return { url: url.href, status: 0, headers: new Headers(), html: '' };
      }
      const cookie = sent(url);
      const response = await fetch(url, {
        ...request,
        redirect: 'manual',
        headers: {
          accept: 'text/html',
          ...(cookie ? { cookie } : {}),
          ...(request.body ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        },
      });
      keep(url, response.headers);
      const html = await response.text();
      const location = response.headers.get('location');
      if (location === null || stay) {
        return { url: url.href, status: response.status, headers: response.headers, html };
      }
      url = new URL(location, url);
      request = {};
    }
    throw new Error(`${start} redirects for ever.`);
  };

  return {
    async request(address, json) {
      const url = new URL(address);
      const response = await fetch(url, {
        method: json ? 'POST' : 'GET',
        headers: { cookie: sent(url), ...(json ? { 'content-type': 'application/json' } : {}) },
        ...(json ? { body: JSON.stringify(json) } : {}),
      });
      keep(url, response.headers);
      return { status: response.status, body: parseJson(await response.text()) };
    },
    cookies: (url) => sent(new URL(url)),
    open: (url, options = {}) => visit(url, {}, options),
    submit(page, values, options = {}) {
      const [, attributes = '', content = ''] = /<form\b([^>]*)>(.*?)<\/form>/s.exec(page.html) ?? [];
      if (content === '') throw new Error(`There is no form at ${page.url}: ${page.html.slice(0, 500)}`);
      const fields = { ...valuesOf(content), ...values };
      const body = new URLSearchParams();
      for (const [name, value] of Object.entries(fields)) if (value !== undefined) body.set(name, value);
      const action = new URL(attribute(attributes, 'action') ?? '', page.url);
      return visit(action.href, { method: 'POST', body }, options);
    },
  };
}

function valuesOf(form: string): Record<string, string> {
  const inputs = [...form.matchAll(/<input\b([^>]*)>/g)].map(([, attributes = '']) => attributes);
  return Object.fromEntries(
    inputs.flatMap((attributes) => {
      const name = attribute(attributes, 'name');
      return name === undefined ? [] : [[name, attribute(attributes, 'value') ?? '']];
    }),
  );
}

function attribute(attributes: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`)
    .exec(attributes)?.[1]
    ?.replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
