/** The path before `/console` in the address, such as `/gatehouse` behind a proxy; usually empty. */
export const BASE = fact('gatehouse-base');

/** The nonce that the page's policy asks of style elements. */
export const STYLE_NONCE = fact('gatehouse-style-nonce');

function fact(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';
}
