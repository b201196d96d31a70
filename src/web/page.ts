import { runEnded, runLink } from './link.ts';
import { runModal } from './modal.ts';

/* The entry of the connect page. The shell names its kind, and the address its environment or link. */

const last = location.pathname.split('/').at(-1) ?? '';
const environment = last === 'production' ? last : 'development';

switch (document.body.dataset['page']) {
  case 'modal':
    await runModal(environment);
    break;
  case 'ended':
    await runEnded(new URLSearchParams(location.search));
    break;
  case 'portal':
    await (await import('./portal.ts')).runPortal(environment);
    break;
  default:
    await runLink(last);
}
