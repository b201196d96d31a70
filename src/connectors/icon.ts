import { escapeHtml } from '../lib/html.ts';
import type { Connector } from './catalog.ts';

/** An icon: a tile of a colour, `#rrggbb`, with a character. */
interface Icon {
  title: string;
  letter: string;
  color: string;
}

const SIZE = 64;

/**
 * Returns the path of a connector's icon. That of a custom connector holds all that the icon shows, because requests
 * for icons carry no key, and must reveal nothing about the connectors of an environment.
 */
export function iconPath(
  connector: Pick<Connector, 'connectorId' | 'custom' | 'name' | 'definition'>,
): string {
  const path = `/connectors/${connector.connectorId}/icon.svg`;
  if (!connector.custom) return path;
  const { letter, color } = iconOf(connector);
  return `${path}?letter=${encodeURIComponent(letter)}&color=${color.slice(1)}`;
}

/** Returns the icon of a connector, which needs no trademark and no file. */
export function iconOf({ name, definition }: Pick<Connector, 'name' | 'definition'>): Icon {
  const letter = /[\p{L}\p{N}]/u.exec(name)?.[0]?.toUpperCase() ?? '?';
  return { title: name, letter, color: definition.color };
}

/** Returns an icon as SVG. */
export function drawIcon({ title, letter, color }: Icon): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE} ${SIZE}" width="${SIZE}" height="${SIZE}">` +
    `<title>${escapeHtml(title)}</title>` +
    `<rect width="${SIZE}" height="${SIZE}" rx="14" fill="${escapeHtml(color)}"/>` +
    `<text x="50%" y="50%" dy=".35em" text-anchor="middle" font-family="system-ui,sans-serif" font-size="34"` +
    ` font-weight="600" fill="${inkOn(color)}">${escapeHtml(letter)}</text></svg>`
  );
}

/** Returns black or white, whichever contrasts more (WCAG 2.2, relative luminance). */
export function inkOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#111827' : '#ffffff';
}
