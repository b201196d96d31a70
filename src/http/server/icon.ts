import type { Connector } from '../../connectors/catalog.ts';
import { escapeHtml } from '../../lib/html.ts';

const SIZE = 64;

/** Returns an SVG tile with the connector's initial on its colour, which needs no trademark and no file. */
export function iconOf({ name, definition }: Connector): string {
  const initial = /[\p{L}\p{N}]/u.exec(name)?.[0]?.toUpperCase() ?? '?';
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE} ${SIZE}" width="${SIZE}" height="${SIZE}">` +
    `<title>${escapeHtml(name)}</title>` +
    `<rect width="${SIZE}" height="${SIZE}" rx="14" fill="${escapeHtml(definition.color)}"/>` +
    `<text x="50%" y="50%" dy=".35em" text-anchor="middle" font-family="system-ui,sans-serif" font-size="34"` +
    ` font-weight="600" fill="${inkOn(definition.color)}">${escapeHtml(initial)}</text></svg>`
  );
}

/** Returns black or white, whichever contrasts more (WCAG 2.2, relative luminance). */
function inkOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#111827' : '#ffffff';
}
