import type { Paging } from '../connectors/format/format.ts';
import type { Json } from '../lib/json.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import type { UpstreamPage } from './places.ts';

/** The records of a window, and whether more follow it. A promised page that was refused gives none and `hasMore`. */
export interface ListPage {
  records: Json[];
  hasMore: boolean;
  /** Whether the third party itself says that more follow, by a flag or a total. Otherwise a full page suggests it. */
  isPromised?: boolean;
}

/** A third party's list, read by single calls. */
export interface ListSource {
  /** Name of the app, for messages. */
  readonly name: string;
  readonly paging: Paging;
  /** Makes one upstream call. `page` is the part that paging adds to the request. */
  fetch(page: UpstreamCall['page']): Promise<UpstreamPage>;
  /**
   * Makes a next address absolute.
   * @throws GatehouseError `upstream_failed` when it leaves the origin.
   */
  resolveLink(link: string): string;
}

/** The requested part of a list: `limit` 1 to 50, `offset` from 0. */
export interface Window {
  limit: number;
  offset: number;
  /**
   * Whether the page before promised this one (`ListPage.isPromised`). If it is refused, that is not the end of the
   * list.
   */
  isPromised?: boolean;
  /**
   * Reads only from the stored position on. Records before it may have been deleted, and a caller that counts records
   * would then skip some.
   */
  isExact?: boolean;
}
